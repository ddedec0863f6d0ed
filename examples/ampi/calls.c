/* An ordinary program of MPI that uses each call of ampi.h, for two ranks and more. What it prints
 * depends on the number of ranks only. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG (256 * 1024)
#define MESSAGES 40

/* The sum of all ranks. Nobody goes on before all are here. */
static void say(const char *what, long long value) {
    int rank;
    long long sum = 0;
    MPI_Reduce(&value, &sum, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%s: %lld\n", what, sum);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A number passes all ranks. */
static void ring(int rank, int size) {
    int number = 1;
    MPI_Status status;
    if (rank > 0) {
        MPI_Recv(&number, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, &status);
        number = 2 * number + status.MPI_SOURCE + status.MPI_TAG;
    }
    MPI_Send(&number, 1, MPI_INT, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 5, MPI_COMM_WORLD);
    say("ring", number);
}

/* Rank 0 hears of all others in any order. */
static void wildcards(int rank, int size) {
    long long sum = 0;
    if (rank > 0)
        MPI_Send(&rank, 1, MPI_INT, 0, 100 + rank, MPI_COMM_WORLD);
    for (int other = 1; rank == 0 && other < size; ++other) {
        int number;
        MPI_Status status;
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        sum += number == status.MPI_SOURCE && status.MPI_TAG == 100 + number ? number : 1000;
    }
    say("wildcards", sum);
}

/* Messages of different lengths, also long ones, arrive in order. */
static void order(int rank, int size) {
    int right = 0;
    double *sent = calloc(LONG * 2, sizeof *sent), *got = calloc(LONG, sizeof *got);
    for (int at = 0; at < MESSAGES; ++at) {
        MPI_Request request;
        MPI_Status status;
        int count = at % 4 == 0 ? LONG : at % 4 == 1 ? 1 : 1000 * at, received;
        double *from = sent + (at % 2) * LONG;
        for (int each = 0; each < count; ++each)
            from[each] = at + rank;
        MPI_Isend(from, count, MPI_DOUBLE, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
        MPI_Probe((rank + size - 1) % size, 7, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &received);
        MPI_Recv(got, LONG, MPI_DOUBLE, status.MPI_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right += received == count && got[count - 1] == at + (rank + size - 1) % size;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(sent);
    free(got);
    say("order", right);
}

/* Many messages of one sender before any is received. */
static void early(int rank, int size) {
    MPI_Request requests[MESSAGES];
    char *sent = malloc(MESSAGES * 100000), *got = malloc(100000);
    int right = 0, others = size - 1;
    memset(sent, 'a' + rank % 26, MESSAGES * 100000);
    for (int at = 0; rank > 0 && at < MESSAGES; ++at) {
        sent[at * 100000] = (char)at;
        MPI_Isend(sent + at * 100000, at % 3 == 0 ? 100000 : 10, MPI_CHAR, 0, 9, MPI_COMM_WORLD,
                  &requests[at]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; rank == 0 && at < MESSAGES * others; ++at) {
        int length = at / others % 3 == 0 ? 100000 : 10;
        MPI_Recv(got, 100000, MPI_CHAR, 1 + at % others, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right += got[0] == at / others && got[length - 1] == 'a' + (1 + at % others) % 26;
    }
    if (rank > 0)
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    free(sent);
    free(got);
    say("early", right);
}

static void requests(int rank, int size) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size, flag = 0, index, got[4] = {0};
    int number = rank;
    MPI_Request all[4], sent[4];
    MPI_Status status;
    for (int at = 0; at < 4; ++at)
        MPI_Irecv(&got[at], 1, MPI_INT, left, at, MPI_COMM_WORLD, &all[at]);
    for (int at = 3; at >= 0; --at)
        MPI_Isend(&number, 1, MPI_INT, right, at, MPI_COMM_WORLD, &sent[at]);
    MPI_Waitany(4, all, &index, &status);
    int sum = status.MPI_TAG == index && got[index] == left;
    MPI_Request other = all[(index + 1) % 4];
    while (!flag)
        MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
    all[(index + 1) % 4] = other;
    for (flag = 0; !flag;)
        MPI_Testall(4, all, &flag, MPI_STATUSES_IGNORE);
    MPI_Waitall(4, sent, MPI_STATUSES_IGNORE);
    MPI_Waitany(4, sent, &index, &status);
    say("requests", sum + got[0] + got[1] + got[2] + got[3] + (index == MPI_UNDEFINED));
    MPI_Sendrecv(&number, 1, MPI_INT, right, 3, got, 4, MPI_INT, left, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &index);
    say("sendrecv", got[0] + index);
    MPI_Isend(&number, 1, MPI_INT, left, 4, MPI_COMM_WORLD, sent);
    for (flag = 0; !flag;)
        MPI_Iprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &flag, &status);
    MPI_Recv(got, 1, MPI_INT, status.MPI_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(sent, MPI_STATUS_IGNORE);
    say("iprobe", got[0]);
}

/* A column of a matrix becomes a row. */
static void datatypes(int rank, int size) {
    int matrix[6][5], row[6];
    MPI_Datatype column;
    for (int at = 0; at < 30; ++at)
        matrix[at / 5][at % 5] = 100 * rank + at;
    MPI_Type_vector(6, 1, 5, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Sendrecv(&matrix[0][2], 1, column, (rank + 1) % size, 0, row, 6, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&matrix[0][4], 1, column, size - 1, MPI_COMM_WORLD);
    MPI_Type_free(&column);
    /* Less than two columns arrive, and an element without anything. */
    MPI_Datatype part, nothing;
    int parts[9] = {0}, received;
    MPI_Status status;
    MPI_Type_create_indexed_block(2, 1, (int[]){2, 0}, MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_Sendrecv(row, 5, MPI_INT, (rank + 1) % size, 0, parts, 3, part, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, part, &received);
    int is_part = received == MPI_UNDEFINED;
    say("part of an element", is_part ? parts[2] + 2 * parts[0] + 3 * parts[8] : 0);
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    MPI_Sendrecv(NULL, 0, MPI_INT, (rank + 1) % size, 0, parts, 1, nothing,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, &status);
    MPI_Bcast(parts, 1, nothing, 0, MPI_COMM_WORLD);
    MPI_Gather(row, 1, nothing, parts, 1, nothing, 0, MPI_COMM_WORLD);
    MPI_Get_count(&status, MPI_INT, &received);
    say("nothing", received + parts[2]);
    MPI_Type_free(&part);
    MPI_Type_free(&nothing);
    long long sum = 0;
    for (int at = 0; at < 6; ++at)
        sum += (at + 1) * row[at] + matrix[at][4] + matrix[at][3];
    say("datatypes", sum);
}

/* First one function of a line, then another: not commutative. */
static void compose(void *first, void *second, int *count, MPI_Datatype *type) {
    int *a = first, *b = second;
    (void)type;
    for (int at = 0; at < *count; ++at, a += 2, b += 2) {
        b[1] = (a[1] * b[0] + b[1]) % 10007;
        b[0] = a[0] * b[0] % 10007;
    }
}

static void reductions(int rank, int size) {
    int line[2] = {2 + rank, 3 * rank + 1}, result[2] = {0, 0};
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    for (int root = 0; root < size; ++root) {
        MPI_Reduce(line, result, 1, pair, op, root, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    say("reduce", result[0] + result[1]);
    MPI_Scan(line, result, 1, pair, op, MPI_COMM_WORLD);
    say("scan", result[0] + 3 * result[1]);
    MPI_Allreduce(MPI_IN_PLACE, line, 1, pair, op, MPI_COMM_WORLD);
    say("allreduce", line[0] + 3 * line[1]);
    struct { double value; int place; } mine = {(rank * 7) % size, rank}, most;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    say("maxloc", (long long)most.value * 100 + most.place);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}

static void collectives(int rank, int size) {
    int *from = malloc(sizeof *from * (size_t)size * LONG), *into = calloc((size_t)size * LONG, 4);
    long long sum = 0;
    for (int root = 0; root < size; ++root) {
        int number = root == rank ? 1000 + root : 0;
        MPI_Bcast(&number, 1, MPI_INT, root, MPI_COMM_WORLD);
        for (int at = 0; at < size; ++at)
            from[at] = number + at * (rank + 1);
        MPI_Scatter(from, 1, MPI_INT, into, 1, MPI_INT, root, MPI_COMM_WORLD);
        into[0] += rank;
        MPI_Gather(into, 1, MPI_INT, from, 1, MPI_INT, root, MPI_COMM_WORLD);
        for (int at = 0; root == rank && at < size; ++at)
            sum += (at + 1) * from[at];
    }
    say("scatter and gather", sum);
    MPI_Allgather(&rank, 1, MPI_INT, into, 1, MPI_INT, MPI_COMM_WORLD);
    for (int at = sum = 0; at < size; ++at)
        sum += (at + 1) * into[at];
    into[rank] = rank * rank;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, into, 1, MPI_INT, MPI_COMM_WORLD);
    say("allgather", sum + into[size - 1]);
    for (int at = 0; at < size * LONG; ++at)
        from[at] = rank * size + at / LONG;
    MPI_Alltoall(from, LONG, MPI_INT, into, LONG, MPI_INT, MPI_COMM_WORLD);
    for (int at = sum = 0; at < size; ++at)
        sum += (at + 1) * into[at * LONG + LONG - 1];
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, into, 2, MPI_INT, MPI_COMM_WORLD);
    say("alltoall", sum + into[2 * size - 1]);
    int counts[64], places[64], total = 0;
    for (int at = 0; at < size && at < 64; total += counts[at++])
        counts[at] = at, places[at] = total;
    MPI_Gatherv(from, rank, MPI_INT, into, counts, places, MPI_INT, 1, MPI_COMM_WORLD);
    for (int at = sum = 0; rank == 1 && at < total; ++at)
        sum += (at + 1) * into[at];
    say("gatherv", sum);
    free(from);
    free(into);
}

static void communicators(int rank, int size) {
    MPI_Comm again, half, pair, none;
    int number = rank, other = -rank, got, halves, place;
    MPI_Comm_dup(MPI_COMM_WORLD, &again);
    /* The same rank and tag, but another communicator. */
    MPI_Request sent[2];
    MPI_Isend(&number, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &sent[0]);
    MPI_Isend(&other, 1, MPI_INT, (rank + 1) % size, 0, again, &sent[1]);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, again, MPI_STATUS_IGNORE);
    MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
    say("dup", number * 10 - got);
    MPI_Comm_split(again, rank % 2, -rank, &half);
    MPI_Comm_free(&again);
    MPI_Comm_rank(half, &place);
    MPI_Comm_size(half, &halves);
    MPI_Allreduce(&rank, &number, 1, MPI_INT, MPI_SUM, half);
    MPI_Bcast(&rank, 1, MPI_INT, 0, half);
    say("split", place * 100 + halves * 10 + number + rank);
    MPI_Comm_split(half, place < 2 ? 0 : MPI_UNDEFINED, 0, &pair);
    if (pair != MPI_COMM_NULL) {
        MPI_Comm_size(pair, &number);
        MPI_Comm_free(&pair);
    }
    say("split again", number);
    MPI_Comm_split(MPI_COMM_SELF, 3, 0, &none);
    MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, none, MPI_STATUS_IGNORE);
    say("self", got);
    MPI_Comm_free(&none);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    int rank, size, before, after, last;
    MPI_Initialized(&before);
    MPI_Init(&argc, &argv);
    MPI_Initialized(&after);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "calls needs two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    say("start", after - before + argc);
    ring(rank, size);
    wildcards(rank, size);
    order(rank, size);
    early(rank, size);
    requests(rank, size);
    datatypes(rank, size);
    reductions(rank, size);
    collectives(rank, size);
    communicators(rank, size);
    MPI_Finalize();
    MPI_Finalized(&last);
    return last ? 0 : 1;
}
