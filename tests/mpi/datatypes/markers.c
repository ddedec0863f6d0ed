/* MPI_LB and MPI_UB of MPI-1, which programs of that time use for the extent of a structure. MPI 1.1, 3.12.3 */
#include "check.h"

static void bounds(const char *name, int number, MPI_Aint *places, MPI_Datatype *types, MPI_Aint lower, MPI_Aint wanted)
{
    int ones[4] = {1, 1, 1, 1};
    MPI_Aint lb = -1, extent = -1;
    MPI_Datatype made, old;
    CALL(MPI_Type_create_struct(number, ones, places, types, &made));
    CALL(MPI_Type_get_extent(made, &lb, &extent));
    CHECK(lb == lower && extent == wanted, "%s: lower bound %ld, extent %ld", name, (long)lb, (long)extent);
    CALL(MPI_Type_struct(number, ones, places, types, &old));
    CALL(MPI_Type_lb(old, &lb));
    CALL(MPI_Type_extent(old, &extent));
    CHECK(lb == lower && extent == wanted, "%s by MPI_Type_struct: lower bound %ld, extent %ld", name, (long)lb, (long)extent);
    CALL(MPI_Type_free(&made));
    CALL(MPI_Type_free(&old));
}

static void named(MPI_Datatype type, const char *expected)
{
    char name[MPI_MAX_OBJECT_NAME];
    int size = -1, length, integers, addresses, datatypes, combiner;
    CALL(MPI_Type_size(type, &size));
    CALL(MPI_Type_get_name(type, name, &length));
    CALL(MPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner));
    CHECK(size == 0 && combiner == MPI_COMBINER_NAMED && strcmp(name, expected) == 0, "%s has %d bytes", name, size);
}

/* Every second integer of an array, by a structure of an integer and an upper bound. */
static void messages(void)
{
    int ones[2] = {1, 1}, from[8], to[8] = {0}, integers[3];
    MPI_Aint places[2] = {0, 2 * sizeof(int)}, addresses[2];
    MPI_Datatype types[2] = {MPI_INT, MPI_UB}, second, parts[2];
    for (int i = 0; i < 8; i++)
        from[i] = 10 + i;
    CALL(MPI_Type_struct(2, ones, places, types, &second));
    CALL(MPI_Type_commit(&second));
    CALL(MPI_Sendrecv(from, 4, second, check_rank, 1, to, 4, MPI_INT, check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 4; i++)
        CHECK(to[i] == 10 + 2 * i, "element %d is %d", i, to[i]);
    CALL(MPI_Type_get_contents(second, 3, 2, 2, integers, addresses, parts));
    CHECK(parts[0] == MPI_INT && parts[1] == MPI_UB, "the parts come back as others");
    CALL(MPI_Type_free(&second));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    bounds("both", 3, (MPI_Aint[]){-4, 0, 12}, (MPI_Datatype[]){MPI_LB, MPI_INT, MPI_UB}, -4, 16);
    bounds("lower", 2, (MPI_Aint[]){-3, 0}, (MPI_Datatype[]){MPI_LB, MPI_INT}, -3, 7);
    bounds("upper", 2, (MPI_Aint[]){0, 16}, (MPI_Datatype[]){MPI_INT, MPI_UB}, 0, 16);
    bounds("below", 2, (MPI_Aint[]){4, 2}, (MPI_Datatype[]){MPI_INT, MPI_UB}, 4, -2);
    bounds("inside", 3, (MPI_Aint[]){0, 3, 8}, (MPI_Datatype[]){MPI_CHAR, MPI_LB, MPI_DOUBLE}, 3, 13);
    named(MPI_LB, "MPI_LB");
    named(MPI_UB, "MPI_UB");
    messages();
    return finish();
}
