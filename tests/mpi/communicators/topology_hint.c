/*
 * The hint towpath_topology describes the links between hosts to the collectives of a communicator:
 * MPI_Comm_get_info shows it where it is in effect, and what is wrong or late is ignored. MPI 5.0,
 * 7.4.2 and 7.4.4. tests/hosts/leaf.c shows what it does.
 */
#include "check.h"

#define KEY "towpath_topology"
#define VALID "default={rate=\"1Gbit\"}\nlink=[{hosts=\"n[0-3]\",rate=\"1Mbit\"}]"

static void set(MPI_Comm comm, const char *value)
{
    MPI_Info info;
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, KEY, value));
    CALL(MPI_Comm_set_info(comm, info));
    CALL(MPI_Info_free(&info));
}

/* Expects a value of the hint; NULL for none. */
static void shows(MPI_Comm comm, const char *expected, const char *which)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = -1, length = sizeof value;
    MPI_Info used;
    CALL(MPI_Comm_get_info(comm, &used));
    CALL(MPI_Info_get_string(used, KEY, &length, value, &flag));
    CALL(MPI_Info_free(&used));
    if (expected)
        CHECK(flag && strcmp(value, expected) == 0, "%s shows '%s'", which, flag ? value : "nothing");
    else
        CHECK(!flag, "%s shows '%s'", which, value);
}

static void adds_up(MPI_Comm comm)
{
    enum { COUNT = 100000 };
    static int values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = check_rank + i;
    CALL(MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == check_size * (check_size - 1) / 2 + i * check_size, "sum %d is %d", i, values[i]);
}

int main(int argc, char **argv)
{
    MPI_Comm copy, next;
    start(&argc, &argv);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    set(copy, "link=[{host=\"n0\"}]");
    shows(copy, NULL, "a communicator with an unknown key");
    set(copy, "not TOML");
    shows(copy, NULL, "a communicator with a wrong text");
    set(copy, VALID);
    shows(copy, VALID, "a communicator with the hint");
    adds_up(copy);
    set(copy, "");
    shows(copy, VALID, "a communicator that has been used");
    CALL(MPI_Comm_dup(copy, &next));
    shows(next, NULL, "its copy");
    adds_up(next);
    set(next, VALID);
    shows(next, NULL, "a used communicator");
    CALL(MPI_Comm_free(&next));
    CALL(MPI_Comm_free(&copy));
    return finish();
}
