/* MPI_Alltoall: every form, size, layout and MPI_IN_PLACE against a local reference. MPI 5.0, chapter 6 */
#include "movements.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    layouts_make();
    movement_everything(MPI_COMM_WORLD, ALLTOALL);
    movement_everything(MPI_COMM_SELF, ALLTOALL);
    layouts_free();
    return finish();
}
