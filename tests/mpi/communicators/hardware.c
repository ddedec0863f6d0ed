/*
 * MPI_Comm_split_type by hardware, guided and unguided, and MPI_Get_hw_resource_info; every rank binds itself to one processor.
 * With an argument the types of Towpath must be there. MPI 5.0, 7.4.2
 */
#define _GNU_SOURCE
#include "check.h"
#include <sched.h>

static int processor; /* where this rank is */

static void bind(void)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&allowed);
    REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "no affinity mask");
    int wanted = check_rank % CPU_COUNT(&allowed);
    for (processor = 0; !CPU_ISSET(processor, &allowed) || wanted-- > 0; processor++)
        ;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0, "cannot bind to processor %d", processor);
}

static MPI_Comm split(MPI_Comm comm, int how, const char *type)
{
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Info info;
    CALL(MPI_Info_create(&info));
    if (type)
        CALL(MPI_Info_set(info, "mpi_hw_resource_type", type));
    CALL(MPI_Comm_split_type(comm, how, 0, info, &part));
    CALL(MPI_Info_free(&info));
    return part;
}

/* How many ranks are on my processor. */
static int neighbours(void)
{
    int all[64], count = 0;
    CALL(MPI_Allgather(&processor, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < check_size; i++)
        count += all[i] == processor;
    return count;
}

/* A rank is in a communicator exactly where it is restricted to an instance of the type. Says how many types there are. */
static int guided(int here)
{
    MPI_Info info;
    int types = 0, size;
    CALL(MPI_Get_hw_resource_info(&info));
    CALL(MPI_Info_get_nkeys(info, &types));
    for (int i = 0; i < types; i++) {
        char type[MPI_MAX_INFO_KEY], value[16] = "";
        int flag = 0, length = sizeof value;
        CALL(MPI_Info_get_nthkey(info, i, type));
        CALL(MPI_Info_get_string(info, type, &length, value, &flag));
        CHECK(flag && (!strcmp(value, "true") || !strcmp(value, "false")), "%s is '%s'", type, value);
        MPI_Comm part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, type);
        CHECK((part != MPI_COMM_NULL) == !strcmp(value, "true"), "%s is %s, but the communicator is another", type, value);
        if (part == MPI_COMM_NULL)
            continue;
        CALL(MPI_Comm_size(part, &size));
        CHECK(size >= here, "%d ranks share %s, but %d share a processor", size, type, here);
        if (strstr(type, "hwthread"))
            CHECK(size == here, "%d ranks share %s, but %d share a processor", size, type, here);
        CALL(MPI_Comm_free(&part));
    }
    CALL(MPI_Info_free(&info));
    CHECK(split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "no such type") == MPI_COMM_NULL, "a communicator for an unknown type");
    CHECK(split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, NULL) == MPI_COMM_NULL, "a communicator for no type");
    return types;
}

/* Every step makes the communicator smaller and names its type, until no type parts it. Says how many ranks are left. */
static int unguided(void)
{
    MPI_Comm comm, part;
    int before, after;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (;;) {
        MPI_Info info;
        char type[64] = "";
        int flag = 0, length = sizeof type;
        CALL(MPI_Info_create(&info));
        CALL(MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part));
        CALL(MPI_Comm_size(comm, &before));
        CALL(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, type, &flag));
        CALL(MPI_Info_free(&info));
        CALL(MPI_Comm_free(&comm));
        if (part == MPI_COMM_NULL)
            return before;
        CALL(MPI_Comm_size(part, &after));
        REQUIRE(after < before, "%d ranks of %d after a split", after, before);
        CHECK(flag && type[0], "the split does not name its type");
        comm = part;
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    bind();
    int here = neighbours(), types = guided(here), left = unguided();
    CHECK(left >= here, "%d ranks of one processor were parted: %d are left", here, left);
    if (argc > 1) {
        CHECK(types == 7, "%d types", types);
        CHECK(left == here, "%d ranks are left of %d on one processor", left, here);
        MPI_Comm thread = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "hwthread");
        REQUIRE(thread != MPI_COMM_NULL, "a rank with one processor is not restricted to it");
        CALL(MPI_Comm_free(&thread));
    }
    /* Who takes no part says MPI_UNDEFINED. */
    MPI_Comm part = split(MPI_COMM_WORLD, check_rank ? MPI_COMM_TYPE_HW_UNGUIDED : MPI_UNDEFINED, NULL);
    CHECK(check_rank || part == MPI_COMM_NULL, "MPI_UNDEFINED and a communicator");
    if (part != MPI_COMM_NULL)
        CALL(MPI_Comm_free(&part));
    return finish();
}
