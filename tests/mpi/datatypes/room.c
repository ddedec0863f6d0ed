/* What does not fit is an error, and nothing is written: packing, unpacking, a subarray beyond its array, an unknown representation. MPI 5.0, 5.1.3 and 5.2 */
#include "../check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static char packed[400];
    int position = 0, numbers[10] = {0};
    MPI_Datatype type;
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    memset(packed, 1, sizeof packed);
    CHECK(MPI_Pack(numbers, 10, MPI_INT, packed, 39, &position, MPI_COMM_SELF) != MPI_SUCCESS, "40 bytes were packed into 39");
    CHECK(position == 0 && packed[39] == 1, "the position moved to %d", position);
    position = 10;
    CHECK(MPI_Pack(numbers, 10, MPI_INT, packed, 49, &position, MPI_COMM_SELF) != MPI_SUCCESS, "40 bytes were packed into 39 from position 10");
    position = 0;
    CHECK(MPI_Unpack(packed, 39, &position, numbers, 10, MPI_INT, MPI_COMM_SELF) != MPI_SUCCESS, "40 bytes were unpacked from 39");
    CHECK(MPI_Type_create_subarray(1, (int[]){4}, (int[]){3}, (int[]){2}, MPI_ORDER_C, MPI_INT, &type) != MPI_SUCCESS, "a subarray beyond its array");
    MPI_Aint place = 0;
    CHECK(MPI_Pack_external("unheard-of", numbers, 1, MPI_INT, packed, 10, &place) != MPI_SUCCESS, "an unknown representation is accepted");
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    return finish();
}
