/* MPI_Bcast: every form, root, size, layout against a local reference. MPI 5.0, chapter 6 */
#include "movements.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    layouts_make();
    movement_everything(MPI_COMM_WORLD, BCAST);
    movement_everything(MPI_COMM_SELF, BCAST);
    layouts_free();
    return finish();
}
