/* MPI_Gather of structures, laid out differently on each rank. MPI 5.0, 6.5 */
#include "movements.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    layouts_make();
    movement_families(MPI_COMM_WORLD, GATHER, 0, STRUCTURES, STRUCTURES);
    layouts_free();
    return finish();
}
