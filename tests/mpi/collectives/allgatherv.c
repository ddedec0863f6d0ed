/* MPI_Allgatherv: every form, size, layout (the same on all ranks) and MPI_IN_PLACE against a local reference. MPI 5.0, chapter 6 */
#include "movements.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    layouts_make();
    movement_families(MPI_COMM_WORLD, ALLGATHERV, 1, 0, FAMILIES - 1);
    movement_families(MPI_COMM_SELF, ALLGATHERV, 1, 0, FAMILIES - 1);
    layouts_free();
    return finish();
}
