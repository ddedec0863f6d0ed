/*
 * Every collective between two groups of different sizes: each side gets what the other has. MPI 5.0, 6.2.3 and chapter 6
 *
 * Nonblocking broadcasts are left out without the argument "all", because MPICH loses them.
 */
#include "movements.h"

enum { MOST = 2000 };

static struct movement call, *const m = &call; /* the names that ISSUE expects */
static int group, rank, local, remote; /* my group (0 or 1), my rank in it, its size, size of the other */
static MPI_Comm comm;
static MPI_Datatype strided;           /* one int every two */
static int all;

/* Number i of the block from `sender` of a group to `receiver` of the other. */
static int value(int of_group, int sender, int receiver, int i)
{
    return of_group * 100000000 + sender * 1000000 + receiver * 10000 + i % 9973;
}

static int *filled(size_t count)
{
    int *numbers = malloc((count + 1) * sizeof *numbers);
    for (size_t i = 0; i <= count; i++)
        numbers[i] = -1;
    return numbers;
}

static void complete(void)
{
    if (m->plan.form != BLOCKING)
        CALL(MPI_Wait(&m->request, MPI_STATUS_IGNORE));
    if (m->plan.form == PERSISTENT)
        CALL(MPI_Request_free(&m->request));
}

static void begin(void)
{
    if (m->plan.form == PERSISTENT)
        CALL(MPI_Start(&m->request));
}

#define RUN(...)                                                                                                                       \
    do {                                                                                                                               \
        ISSUE_EITHER(__VA_ARGS__);                                                                                                     \
        begin();                                                                                                                       \
        complete();                                                                                                                    \
    } while (0)

#define EXPECT(found, expected, what)                                                                                                  \
    do {                                                                                                                               \
        if (!CHECK((found) == (expected), "%s %s, groups of %d and %d: %d instead of %d", form_names[m->plan.form], what, local, remote, \
                   (int)(found), (int)(expected)))                                                                                     \
            return;                                                                                                                    \
    } while (0)

/* The root argument: the root's own group says MPI_ROOT or MPI_PROC_NULL, the other names the root. */
static int root_argument(int root_group, int root)
{
    return group != root_group ? root : rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void broadcast(int root_group, int root, int count)
{
    int *data = filled((size_t)count * 2);
    for (int i = 0; group == root_group && i < count; i++)
        data[i] = rank == root ? value(group, root, 0, i) : -5;
    /* The root sends dense, the others receive with gaps. */
    RUN(Bcast, bcast, data, count, group == root_group ? MPI_INT : strided, root_argument(root_group, root), comm);
    for (int i = 0; i < count; i++) {
        if (group == root_group)
            EXPECT(data[i], rank == root ? value(group, root, 0, i) : -5, "bcast");
        else {
            EXPECT(data[2 * i], value(root_group, root, 0, i), "bcast");
            EXPECT(data[2 * i + 1], -1, "bcast, gap");
        }
    }
    free(data);
}

static void gather_and_scatter(int root_group, int root, int count)
{
    int is_root = group == root_group && rank == root, argument = root_argument(root_group, root);
    int *many = filled((size_t)count * (size_t)(local + remote)), *one = filled((size_t)count);
    for (int i = 0; i < count; i++)
        one[i] = value(group, rank, root, i);
    RUN(Gather, gather, one, count, MPI_INT, many, count, MPI_INT, argument, comm);
    for (int i = 0; i < count * remote; i++)
        EXPECT(many[i], is_root ? value(!group, i / count, root, i % count) : -1, "gather");
    for (int i = 0; i < count * remote; i++)
        many[i] = value(group, root, i / count, i % count);
    for (int i = 0; i < count; i++)
        one[i] = -2;
    RUN(Scatter, scatter, many, count, MPI_INT, one, count, MPI_INT, argument, comm);
    for (int i = 0; i < count; i++)
        EXPECT(one[i], group == root_group ? -2 : value(root_group, root, rank, i), "scatter");
    free(many);
    free(one);
}

static void varied_gather_and_scatter(int root_group, int root)
{
    int is_root = group == root_group && rank == root, argument = root_argument(root_group, root), mine = 3 + rank * 2;
    int counts[64], places[64], total = 0;
    for (int i = 0; i < remote; i++)
        counts[i] = 3 + i * 2, places[i] = total, total += counts[i] + 1;
    int *many = filled((size_t)total), *one = filled((size_t)mine);
    for (int i = 0; i < mine; i++)
        one[i] = value(group, rank, root, i);
    ISSUE(Gatherv, gatherv, one, mine, MPI_INT, many, counts, places, MPI_INT, argument, comm);
    begin(), complete();
    for (int from = 0; from < remote; from++) {
        for (int i = 0; i < counts[from]; i++)
            EXPECT(many[places[from] + i], is_root ? value(!group, from, root, i) : -1, "gatherv");
        EXPECT(many[places[from] + counts[from]], -1, "gatherv, gap");
    }
    for (int to = 0; to < remote; to++)
        for (int i = 0; i < counts[to]; i++)
            many[places[to] + i] = value(group, root, to, i);
    ISSUE(Scatterv, scatterv, many, counts, places, MPI_INT, one, mine, MPI_INT, argument, comm);
    begin(), complete();
    for (int i = 0; i < mine; i++)
        EXPECT(one[i], group == root_group ? value(group, rank, root, i) : value(root_group, root, rank, i), "scatterv");
    free(many);
    free(one);
}

/* The two directions may have different lengths, even none. */
static void allgather(int count_of_zero, int count_of_one)
{
    int out = group ? count_of_one : count_of_zero, in = group ? count_of_zero : count_of_one;
    int *one = filled((size_t)out), *many = filled((size_t)(in * remote));
    int counts[64], places[64];
    for (int i = 0; i < out; i++)
        one[i] = value(group, rank, 0, i);
    RUN(Allgather, allgather, one, out, MPI_INT, many, in, MPI_INT, comm);
    for (int i = 0; i < in * remote; i++)
        EXPECT(many[i], value(!group, i / in, 0, i % in), "allgather");
    EXPECT(many[in * remote], -1, "allgather, end");
    for (int i = 0; i < remote; i++)
        counts[i] = i % 2 ? 0 : in, places[i] = (remote - 1 - i) * in;
    for (int i = 0; i < in * remote; i++)
        many[i] = -1;
    ISSUE(Allgatherv, allgatherv, one, rank % 2 ? 0 : out, MPI_INT, many, counts, places, MPI_INT, comm);
    begin(), complete();
    for (int i = 0; i < in * remote; i++) {
        int from = remote - 1 - i / in;
        EXPECT(many[i], from % 2 ? -1 : value(!group, from, 0, i % in), "allgatherv");
    }
    free(one);
    free(many);
}

static void alltoall(int count)
{
    int *out = filled((size_t)(count * remote)), *in = filled((size_t)(count * remote));
    int counts[64], places[64], in_counts[64], byte_places[64];
    MPI_Datatype types[64];
    for (int i = 0; i < count * remote; i++)
        out[i] = value(group, rank, i / count, i % count);
    RUN(Alltoall, alltoall, out, count, MPI_INT, in, count, MPI_INT, comm);
    for (int i = 0; i < count * remote; i++)
        EXPECT(in[i], value(!group, i / count, rank, i % count), "alltoall");
    for (int peer = 0; peer < remote; peer++) {
        int none = (rank + peer) % 3 == 0;
        counts[peer] = none ? 0 : count, in_counts[peer] = counts[peer];
        places[peer] = peer * count, byte_places[peer] = places[peer] * (int)sizeof(int), types[peer] = MPI_INT;
    }
    for (int wide = 0; wide < 2; wide++) {
        for (int i = 0; i < count * remote; i++)
            in[i] = -1;
        if (wide)
            ISSUE(Alltoallw, alltoallw, out, counts, byte_places, types, in, in_counts, byte_places, types, comm);
        else
            ISSUE(Alltoallv, alltoallv, out, counts, places, MPI_INT, in, in_counts, places, MPI_INT, comm);
        begin(), complete();
        for (int i = 0; i < count * remote; i++)
            EXPECT(in[i], (rank + i / count) % 3 == 0 ? -1 : value(!group, i / count, rank, i % count), wide ? "alltoallw" : "alltoallv");
    }
    free(out);
    free(in);
}

static void reductions(int count)
{
    int *out = filled((size_t)(count * 64)), *in = filled((size_t)(count * 64));
    int sum_of_ranks = remote * (remote - 1) / 2, other = !group;
    for (int i = 0; i < count; i++)
        out[i] = rank * 100 + group * 7 + i;
    RUN(Allreduce, allreduce, out, in, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++)
        EXPECT(in[i], sum_of_ranks * 100 + remote * (other * 7 + i), "allreduce");
    for (int root_group = 0; root_group < 2; root_group++) {
        int root = (group == root_group ? local : remote) - 1, is_root = group == root_group && rank == root;
        for (int i = 0; i < count; i++)
            in[i] = -1;
        RUN(Reduce, reduce, out, in, count, MPI_INT, MPI_MAX, root_argument(root_group, root), comm);
        for (int i = 0; i < count; i++)
            EXPECT(in[i], is_root ? (remote - 1) * 100 + other * 7 + i : -1, "reduce");
    }
    /* Both groups contribute the same total, which the receiving group divides. */
    int block = count * remote, counts[64];
    for (int i = 0; i < local; i++)
        counts[i] = i == 0 ? block * local - (local - 1) * (block / 2) : block / 2;
    int total = block * local, first = 0;
    free(out);
    free(in);
    out = filled((size_t)total), in = filled((size_t)total);
    for (int i = 0; i < total; i++)
        out[i] = rank * 100 + group * 7 + i % 1000;
    RUN(Reduce_scatter_block, reduce_scatter_block, out, in, block, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < block; i++)
        EXPECT(in[i], sum_of_ranks * 100 + remote * (other * 7 + (rank * block + i) % 1000), "reduce_scatter_block");
    ISSUE(Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, MPI_SUM, comm);
    begin(), complete();
    for (int i = 0; i < rank; i++)
        first += counts[i];
    for (int i = 0; i < counts[rank]; i++)
        EXPECT(in[i], sum_of_ranks * 100 + remote * (other * 7 + (first + i) % 1000), "reduce_scatter");
    free(out);
    free(in);
}

static void everything(void)
{
    static const int counts[] = {1, 7, MOST};
    for (int form = 0; form < FORMS; form++)
        for (int i = 0; i < 3; i++) {
            m->plan.form = (enum form)form;
            m->plan.large = i % 2;
            m->request = MPI_REQUEST_NULL;
            ISSUE(Barrier, barrier, comm);
            begin(), complete();
            for (int root_group = 0; root_group < 2; root_group++)
                for (int root = 0; root < (group == root_group ? local : remote); root++) {
                    if (all || form == BLOCKING)
                        broadcast(root_group, root, counts[i]);
                    gather_and_scatter(root_group, root, counts[i]);
                    varied_gather_and_scatter(root_group, root);
                }
            allgather(counts[i], counts[i]);
            allgather(counts[i], 0);
            allgather(3, counts[i]);
            alltoall(counts[i]);
            reductions(counts[i]);
        }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    all = argc > 1 && strcmp(argv[1], "all") == 0;
    CALL(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided));
    CALL(MPI_Type_commit(&strided));
    for (int way = 0; way < 2; way++) {
        /* Even and odd ranks, then the last rank alone. */
        int last = check_size - 1, leader;
        MPI_Comm half;
        group = way ? check_rank == last : check_rank % 2;
        leader = way ? (group ? 0 : last) : (group ? 0 : 1);
        CALL(MPI_Comm_split(MPI_COMM_WORLD, group, check_rank, &half));
        CALL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader, 5, &comm));
        CALL(MPI_Comm_rank(comm, &rank));
        CALL(MPI_Comm_size(comm, &local));
        CALL(MPI_Comm_remote_size(comm, &remote));
        everything();
        CALL(MPI_Comm_free(&comm));
        CALL(MPI_Comm_free(&half));
    }
    CALL(MPI_Type_free(&strided));
    return finish();
}
