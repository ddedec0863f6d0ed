/* MPI_Gather: every form, root, size, layout of one basic type and MPI_IN_PLACE against a local reference. MPI 5.0, chapter 6 */
#include "movements.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    layouts_make();
    movement_families(MPI_COMM_WORLD, GATHER, 0, 0, STRUCTURES - 1);
    movement_families(MPI_COMM_SELF, GATHER, 0, 0, STRUCTURES - 1);
    layouts_free();
    return finish();
}
