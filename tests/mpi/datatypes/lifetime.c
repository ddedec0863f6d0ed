/* Freeing a type leaves what was built from it and what is under way with it; duplicates are equal; names. MPI 5.0, 5.1.9 and 7.8 */
#include "../check.h"

enum { COUNT = 50000 };

static int out[2 * COUNT], in[2 * COUNT];

/* The type is freed while the message is under way. */
static void freed_under_way(void)
{
    int peer = check_size - 1 - check_rank;
    MPI_Datatype inner, type;
    MPI_Request requests[2];
    CALL(MPI_Type_create_resized(MPI_INT, 0, 8, &inner));
    CALL(MPI_Type_contiguous(COUNT, inner, &type));
    CALL(MPI_Type_free(&inner));
    CHECK(inner == MPI_DATATYPE_NULL, "MPI_Type_free leaves a handle");
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Type_commit(&type));
    for (int i = 0; i < 2 * COUNT; i++)
        out[i] = check_rank * 1000000 + i, in[i] = -1;
    CALL(MPI_Irecv(in, 1, type, peer, 1, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Isend(out, 1, type, peer, 1, MPI_COMM_WORLD, &requests[1]));
    CALL(MPI_Type_free(&type));
    /* Others take its place. */
    for (int i = 0; i < 20; i++) {
        CALL(MPI_Type_vector(3, 1, 1 + i, MPI_CHAR, &type));
        CALL(MPI_Type_commit(&type));
        CALL(MPI_Type_free(&type));
    }
    CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2 * COUNT; i++)
        if (!CHECK(in[i] == (i % 2 ? -1 : peer * 1000000 + i), "number %d is %d", i, in[i]))
            break;
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Datatype type, copy;
    CALL(MPI_Type_get_name(MPI_DOUBLE, name, &length));
    CHECK(!strcmp(name, "MPI_DOUBLE") && length == 10, "MPI_DOUBLE is called %s", name);
    CALL(MPI_Type_contiguous(2, MPI_INT, &type));
    CALL(MPI_Type_get_name(type, name, &length));
    CHECK(length == 0 && name[0] == 0, "a new type is called %s", name);
    CALL(MPI_Type_set_name(type, "pair of ints"));
    CALL(MPI_Type_get_name(type, name, &length));
    CHECK(!strcmp(name, "pair of ints") && length == 12, "the type is called %s", name);
    CALL(MPI_Type_commit(&type));
    /* A duplicate of a committed type is committed. */
    CALL(MPI_Type_dup(type, &copy));
    CALL(MPI_Type_free(&type));
    int two[2] = {3, 4}, got[2] = {0, 0};
    CALL(MPI_Sendrecv(two, 1, copy, 0, 1, got, 1, copy, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(got[1] == 4, "a duplicate sends %d", got[1]);
    CALL(MPI_Type_free(&copy));
}

/* Programs make, commit, use and free types in loops: nothing must run out. */
static void many(void)
{
    for (int i = 0; i < 100000; i++) {
        MPI_Datatype type;
        MPI_Type_vector(2, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&type);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    freed_under_way();
    names();
    many();
    return finish();
}
