/*
 * Operations that table 6.3 of MPI 5.0 leaves out and that other libraries compute nevertheless: everything on MPI_CHAR, which is
 * a signed number then, and the logical operations on MPI_AINT, MPI_OFFSET and MPI_COUNT. With an argument also those that not all
 * libraries have: everything on MPI_CHARACTER, the logical operations on some Fortran integers.
 */
#include "check.h"

enum { MAX, MIN, SUM, PROD, LAND, LOR, LXOR, BAND, BOR, BXOR, OPERATIONS };

static long combined(int operation, long a, long b)
{
    switch (operation) {
    case MAX: return a > b ? a : b;
    case MIN: return a < b ? a : b;
    case SUM: return a + b;
    case PROD: return a * b;
    case LAND: return a && b;
    case LOR: return a || b;
    case LXOR: return !a != !b;
    case BAND: return a & b;
    case BOR: return a | b;
    default: return a ^ b;
    }
}

/* What rank r gives as element i. */
static long given(int r, int i)
{
    static const long values[] = {-3, 6, 0, 1, -128, 0, 65};
    return values[(r * 3 + i) % 7];
}

static void check_operation(MPI_Datatype type, int size, MPI_Op op, int operation)
{
    char in[7 * 8], out[7 * 8], name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Type_get_name(type, name, &length);
    for (int i = 0; i < 7; i++) {
        long value = given(check_rank, i);
        memcpy(in + i * size, &value, size);
    }
    CALL(MPI_Allreduce(in, out, 7, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < 7; i++) {
        long expected = given(0, i), got = 0;
        for (int r = 1; r < check_size; r++)
            expected = combined(operation, given(r, i), expected);
        memcpy(&got, out + i * size, size);
        long unused = 64 - 8 * size;
        CHECK((long)((unsigned long)expected << unused) == (long)((unsigned long)got << unused), "operation %d on %s, element %d: %lx instead of %lx",
              operation, name, i, got, expected);
    }
}

static void check_type(MPI_Datatype type, int size, int first, int last)
{
    MPI_Op ops[OPERATIONS] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    for (int operation = first; operation <= last; operation++)
        check_operation(type, size, ops[operation], operation);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (argc == 1) {
        check_type(MPI_CHAR, 1, MAX, BXOR);
        check_type(MPI_AINT, 8, LAND, LXOR);
        check_type(MPI_OFFSET, 8, LAND, LXOR);
        check_type(MPI_COUNT, 8, LAND, LXOR);
    } else {
        check_type(MPI_CHARACTER, 1, MAX, BXOR);
        check_type(MPI_INTEGER1, 1, LAND, LXOR);
        check_type(MPI_INTEGER2, 2, LAND, LXOR);
        check_type(MPI_INTEGER8, 8, LAND, LXOR);
    }
    return finish();
}
