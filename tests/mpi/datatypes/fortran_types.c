/* Fortran's types by size and by precision, as C sees them. MPI 5.0, 19.1.5 and 19.1.9 */
#include "../check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Datatype type, again;
    int size, integers, addresses, types, combiner, numbers[2];
    MPI_Datatype inner[1];
    MPI_Aint none[1];
    CALL(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
    CALL(MPI_Type_size(type, &size));
    CHECK(size == 8, "REAL of 8 bytes has %d", size);
    CALL(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type));
    CALL(MPI_Type_size(type, &size));
    CHECK(size == 2, "INTEGER of 2 bytes has %d", size);
    CALL(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type));
    CALL(MPI_Type_size(type, &size));
    CHECK(size == 16, "COMPLEX of 16 bytes has %d", size);
    CALL(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &type));
    CALL(MPI_Type_size(type, &size));
    CHECK(size == 8, "a real of 12 digits has %d bytes", size);
    CALL(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &again));
    CHECK(type == again, "the same precision gives two types");
    CALL(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
    CHECK(combiner == MPI_COMBINER_F90_REAL && integers == 2 && addresses == 0 && types == 0, "envelope %d: %d %d %d", combiner, integers, addresses, types);
    CALL(MPI_Type_get_contents(type, 2, 0, 0, numbers, none, inner));
    CHECK(numbers[0] == 12 && numbers[1] == MPI_UNDEFINED, "contents %d %d", numbers[0], numbers[1]);
    CALL(MPI_Type_create_f90_integer(9, &type));
    CALL(MPI_Type_size(type, &size));
    CHECK(size == 4, "an integer of 9 digits has %d bytes", size);
    CALL(MPI_Type_create_f90_integer(10, &type));
    CALL(MPI_Type_size(type, &size));
    CHECK(size == 8, "an integer of 10 digits has %d bytes", size);
    CALL(MPI_Type_create_f90_complex(6, 30, &type));
    CALL(MPI_Type_size(type, &size));
    CHECK(size == 8, "a complex number of 6 digits has %d bytes", size);
    return finish();
}
