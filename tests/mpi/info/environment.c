/* What MPI_Info_create_env gives before and after MPI_Init is what MPI_INFO_ENV holds, in the standard's keys. MPI 5.0, 11.2.1 */
#include "check.h"

#include <unistd.h>

static void same(MPI_Info one, MPI_Info other, const char *when)
{
    int number = -1, others = -1, flag;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1], found[MPI_MAX_INFO_VAL + 1];
    CALL(MPI_Info_get_nkeys(one, &number));
    CALL(MPI_Info_get_nkeys(other, &others));
    CHECK(number == others, "%s: %d keys, but %d in MPI_INFO_ENV", when, number, others);
    for (int i = 0; i < number; i++) {
        CALL(MPI_Info_get_nthkey(one, i, key));
        CALL(MPI_Info_get(one, key, MPI_MAX_INFO_VAL, value, &flag));
        CALL(MPI_Info_get(other, key, MPI_MAX_INFO_VAL, found, &flag));
        CHECK(flag && strcmp(value, found) == 0, "%s: %s is '%s', but '%s' in MPI_INFO_ENV", when, key, value, found);
    }
}

int main(int argc, char **argv)
{
    MPI_Info before, after;
    char directory[1024], value[MPI_MAX_INFO_VAL + 1];
    int flag;
    CALL(MPI_Info_create_env(argc, argv, &before));
    start(&argc, &argv);
    CALL(MPI_Info_create_env(argc, argv, &after));
    same(before, MPI_INFO_ENV, "before MPI_Init");
    same(after, MPI_INFO_ENV, "after MPI_Init");
    CALL(MPI_Info_get(MPI_INFO_ENV, "wdir", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag || (getcwd(directory, sizeof directory) && strcmp(value, directory) == 0), "wdir is '%s'", value);
    CALL(MPI_Info_get(MPI_INFO_ENV, "wd", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag, "the key wd is none of the standard");
    if (argc > 1) {
        CALL(MPI_Info_get(MPI_INFO_ENV, "wdir", MPI_MAX_INFO_VAL, value, &flag));
        CHECK(flag, "no key wdir");
        CALL(MPI_Info_get(MPI_INFO_ENV, "maxprocs", MPI_MAX_INFO_VAL, value, &flag));
        CHECK(flag && atoi(value) == check_size, "maxprocs is '%s'", value);
        CALL(MPI_Info_get(MPI_INFO_ENV, "argv", MPI_MAX_INFO_VAL, value, &flag));
        CHECK(flag && strcmp(value, argv[1]) == 0, "argv is '%s'", value);
    }
    CALL(MPI_Info_free(&before));
    CALL(MPI_Info_free(&after));
    return finish();
}
