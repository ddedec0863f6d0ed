/* MPI_Allgatherv where each rank describes the same blocks by a datatype of its own. MPI 5.0, 6.7 */
#include "movements.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    layouts_make();
    movement_everything(MPI_COMM_WORLD, ALLGATHERV);
    layouts_free();
    return finish();
}
