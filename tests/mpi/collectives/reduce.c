/* MPI_Reduce: every form, size, root and MPI_IN_PLACE, every predefined operation on every type. MPI 5.0, chapter 6 */
#include "reductions.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    numbers_make();
    reduction_all_shapes(MPI_COMM_WORLD, REDUCE);
    reduction_all_types(MPI_COMM_WORLD, REDUCE);
    reduction_all_types(MPI_COMM_SELF, REDUCE);
    return finish();
}
