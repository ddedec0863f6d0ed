/* All operations on groups: membership, order, ranges, translation, comparison. MPI 5.0, 7.3 */
#include "check.h"

static void holds(MPI_Group group, int size, const int *ranks, const char *what)
{
    MPI_Group world;
    int got = -1;
    CALL(MPI_Group_size(group, &got));
    CHECK(got == size, "%s has %d members, expected %d", what, got, size);
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < size && got == size; i++) {
        int rank = -1;
        CALL(MPI_Group_translate_ranks(group, 1, &i, world, &rank));
        CHECK(rank == ranks[i], "member %d of %s is %d, expected %d", i, what, rank, ranks[i]);
    }
    CALL(MPI_Group_free(&world));
}

static void compare(MPI_Group first, MPI_Group second, int expected)
{
    int result;
    CALL(MPI_Group_compare(first, second, &result));
    CHECK(result == expected, "compare gives %d, expected %d", result, expected);
}

int main(int argc, char **argv)
{
    start(&argc, &argv); /* four ranks */
    MPI_Group world, low, high, backwards, result, none;
    int rank, size, ranks[4];
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CALL(MPI_Group_rank(world, &rank));
    CALL(MPI_Group_size(world, &size));
    CHECK(rank == check_rank && size == check_size, "rank %d of %d", rank, size);
    CALL(MPI_Group_incl(world, 3, (int[]){0, 1, 2}, &low));
    CALL(MPI_Group_incl(world, 2, (int[]){3, 2}, &high));
    CALL(MPI_Group_incl(world, 4, (int[]){3, 2, 1, 0}, &backwards));
    holds(low, 3, (int[]){0, 1, 2}, "low");
    CALL(MPI_Group_rank(high, &rank));
    CHECK(rank == (check_rank == 3 ? 0 : check_rank == 2 ? 1 : MPI_UNDEFINED), "rank %d in high", rank);
    CALL(MPI_Group_union(low, high, &result));
    holds(result, 4, (int[]){0, 1, 2, 3}, "union");
    compare(result, world, MPI_IDENT);
    CALL(MPI_Group_free(&result));
    CALL(MPI_Group_union(high, low, &result));
    holds(result, 4, (int[]){3, 2, 0, 1}, "union the other way");
    compare(result, world, MPI_SIMILAR);
    CALL(MPI_Group_free(&result));
    CALL(MPI_Group_intersection(backwards, low, &result));
    holds(result, 3, (int[]){2, 1, 0}, "intersection");
    CALL(MPI_Group_free(&result));
    CALL(MPI_Group_difference(backwards, high, &result));
    holds(result, 2, (int[]){1, 0}, "difference");
    compare(result, low, MPI_UNEQUAL);
    CALL(MPI_Group_free(&result));
    CALL(MPI_Group_excl(world, 2, (int[]){2, 0}, &result));
    holds(result, 2, (int[]){1, 3}, "excluded");
    CALL(MPI_Group_free(&result));
    CALL(MPI_Group_range_incl(world, 2, (int[][3]){{3, 1, -2}, {0, 2, 2}}, &result));
    holds(result, 4, (int[]){3, 1, 0, 2}, "ranges");
    CALL(MPI_Group_free(&result));
    CALL(MPI_Group_range_excl(world, 1, (int[][3]){{0, 3, 2}}, &result));
    holds(result, 2, (int[]){1, 3}, "excluded range");
    CALL(MPI_Group_free(&result));
    CALL(MPI_Group_difference(low, world, &none));
    CHECK(none == MPI_GROUP_EMPTY, "an empty difference is not MPI_GROUP_EMPTY");
    CALL(MPI_Group_incl(world, 0, NULL, &none));
    CHECK(none == MPI_GROUP_EMPTY, "a group of nobody is not MPI_GROUP_EMPTY");
    CALL(MPI_Group_size(MPI_GROUP_EMPTY, &size));
    CALL(MPI_Group_rank(MPI_GROUP_EMPTY, &rank));
    CHECK(size == 0 && rank == MPI_UNDEFINED, "the empty group: rank %d of %d", rank, size);
    CALL(MPI_Group_translate_ranks(backwards, 4, (int[]){0, 3, MPI_PROC_NULL, 1}, high, ranks));
    CHECK(ranks[0] == 0 && ranks[1] == MPI_UNDEFINED && ranks[2] == MPI_PROC_NULL && ranks[3] == 1, "translated to %d %d %d %d", ranks[0],
          ranks[1], ranks[2], ranks[3]);
    /* A group outlives the communicator it came from. */
    MPI_Comm comm;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_group(comm, &result));
    CALL(MPI_Comm_free(&comm));
    compare(result, world, MPI_IDENT);
    CALL(MPI_Group_free(&result));
    CHECK(result == MPI_GROUP_NULL, "not null after MPI_Group_free");
    CALL(MPI_Group_free(&low));
    CALL(MPI_Group_free(&high));
    CALL(MPI_Group_free(&backwards));
    CALL(MPI_Group_free(&world));
    return finish();
}
