/*
 * The memory allocation kinds of all communicators are those of MPI_COMM_WORLD, with mpi and
 * system, and stay so. MPI 5.0, 11.4.3
 */
#include "check.h"

#define KINDS "mpi_memory_alloc_kinds"
#define ASSERTED "mpi_assert_memory_alloc_kinds"

static int hint(MPI_Comm comm, const char *key, char *value)
{
    MPI_Info info;
    int flag = -1, length = MPI_MAX_INFO_VAL;
    CALL(MPI_Comm_get_info(comm, &info));
    CALL(MPI_Info_get_string(info, key, &length, value, &flag));
    CALL(MPI_Info_free(&info));
    return flag;
}

static void has_kinds(MPI_Comm comm, const char *expected, const char *which)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    CHECK(hint(comm, KINDS, value), "%s has no key %s", which, KINDS);
    CHECK(strcmp(value, expected) == 0, "the kinds of %s are '%s'", which, value);
}

static void set_hint(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info;
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, key, value));
    CALL(MPI_Comm_set_info(comm, info));
    CALL(MPI_Info_free(&info));
}

static int has_kind(const char *list, const char *kind)
{
    size_t length = strlen(kind);
    for (const char *word = list; *word; word += strcspn(word, ","), word += *word == ',')
        if (strcspn(word, ",") == length && strncmp(word, kind, length) == 0) return 1;
    return 0;
}

int main(int argc, char **argv)
{
    char world[MPI_MAX_INFO_VAL + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Comm copy, half;
    start(&argc, &argv);
    CHECK(hint(MPI_COMM_WORLD, KINDS, world), "MPI_COMM_WORLD has no key %s", KINDS);
    CHECK(has_kind(world, "mpi") && has_kind(world, "system"), "the kinds are '%s'", world);
    set_hint(MPI_COMM_WORLD, KINDS, "system");
    has_kinds(MPI_COMM_WORLD, world, "MPI_COMM_WORLD after a change");
    has_kinds(MPI_COMM_SELF, world, "MPI_COMM_SELF");
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    has_kinds(copy, world, "a copy");
    CALL(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &half));
    has_kinds(half, world, "a part");
    CHECK(!hint(half, ASSERTED, value), "%s is set by default", ASSERTED);
    set_hint(half, ASSERTED, "system");
    int kept = hint(half, ASSERTED, value);
    CHECK(!kept || strcmp(value, "system") == 0, "the assertion is '%s'", value);
    if (argc > 1) CHECK(kept, "the assertion is not kept");
    CALL(MPI_Comm_free(&half));
    CALL(MPI_Comm_free(&copy));
    return finish();
}
