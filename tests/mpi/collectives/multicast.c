/*
 * What a broadcast to all hosts at once must keep right: broadcasts that follow each other without a pause, of changing roots and
 * lengths and on several communicators, ranks that come late, messages between two ranks in between, data with gaps, barriers that
 * nobody leaves early, the same sum everywhere, and communicators that are freed while the last broadcast is under way.
 * Arguments: "short": ranks expect less than the root sends (an error there, and the next call is right again). "once": on four hosts and
 * more, what a root broadcasts is sent about once by all hosts together, and not once for each of the others; "each": it is; "any": what
 * was sent does not matter, and the next argument is a command that rank 0 has executed in the middle.
 */
#include "../check.h"

#include <unistd.h>

enum { LONGEST = 300000 };

static unsigned char *buffer;

static unsigned char byte_of(int call, int index)
{
    return (unsigned char)(call * 31 + index * 7 + index / 251);
}

static void one(MPI_Comm comm, int root, int call, int length)
{
    int rank;
    CALL(MPI_Comm_rank(comm, &rank));
    for (int i = 0; i < length; i++)
        buffer[i] = rank == root ? byte_of(call, i) : 0xee;
    buffer[length] = 0x55;
    CALL(MPI_Bcast(buffer, length, MPI_BYTE, root, comm));
    int wrong = 0;
    for (int i = 0; i < length; i++)
        wrong += buffer[i] != byte_of(call, i);
    CHECK(wrong == 0, "call %d of %d bytes from %d: %d bytes are wrong", call, length, root, wrong);
    CHECK(buffer[length] == 0x55, "call %d wrote behind its end", call);
}

static void in_a_row(MPI_Comm comm)
{
    static const int lengths[] = { 1, 0, 4, 100, 1400, 1441, 9000, 65536, 69632, 69633, 139264, LONGEST };
    const int count = (int)(sizeof lengths / sizeof *lengths);
    int size;
    CALL(MPI_Comm_size(comm, &size));
    for (int call = 0; call < 60; call++)
        one(comm, 0, call, call % 7 + 1);
    for (int root = 0; root < size; root++)
        for (int i = 0; i < count; i++)
            one(comm, (root + i) % size, root * count + i, lengths[i]);
}

/* The last rank waits for a message and takes part in everything late; the root goes on meanwhile. */
static void late(MPI_Comm comm)
{
    int rank, size, token = 0;
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Comm_size(comm, &size));
    for (int round = 0; round < 5; round++) {
        if (rank == size - 1 && size > 2)
            CALL(MPI_Recv(&token, 1, MPI_INT, 1, 5, comm, MPI_STATUS_IGNORE));
        if (rank == 1 && size > 2) {
            usleep(20000);
            CALL(MPI_Send(&round, 1, MPI_INT, size - 1, 5, comm));
        }
        for (int call = 0; call < 10; call++)
            one(comm, 0, call, 2000 * (round + 1));
    }
}

static void between_two(MPI_Comm comm)
{
    int rank, size, got = -1;
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Comm_size(comm, &size));
    for (int call = 0; call < 50; call++) {
        if (rank == 0)
            CALL(MPI_Send(&call, 1, MPI_INT, size - 1, 9, comm));
        one(comm, 0, call, 5000);
        if (rank == size - 1) {
            CALL(MPI_Recv(&got, 1, MPI_INT, 0, 9, comm, MPI_STATUS_IGNORE));
            CHECK(got == call, "message %d came in place of %d", got, call);
        }
    }
}

static void gaps(MPI_Comm comm)
{
    static int data[40000];
    MPI_Datatype column;
    int rank;
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Type_vector(20000, 1, 2, MPI_INT, &column));
    CALL(MPI_Type_commit(&column));
    for (int i = 0; i < 40000; i++)
        data[i] = rank == 1 ? i : -1;
    CALL(MPI_Bcast(data, 1, column, 1, comm));
    for (int i = 0; i < 40000; i += 2)
        if (!CHECK(data[i] == i && data[i + 1] == (rank == 1 ? i + 1 : -1), "element %d is %d", i, data[i]))
            break;
    CALL(MPI_Type_free(&column));
}

/* A barrier ends after all have come to it, and sums are the same everywhere. */
static void together(MPI_Comm comm)
{
    int rank, size;
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Comm_size(comm, &size));
    for (int call = 0; call < 30; call++) {
        double begin, entered, left, last;
        if (rank == call % size)
            usleep(2000);
        begin = call;
        CALL(MPI_Barrier(comm));
        CALL(MPI_Allreduce(&begin, &entered, 1, MPI_DOUBLE, MPI_SUM, comm));
        CHECK(entered == (double)call * size, "a sum of %d is %f", call, entered);
        left = rank + call;
        last = -1;
        CALL(MPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_DOUBLE, MPI_SUM, comm));
        CALL(MPI_Allreduce(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, comm));
        CHECK(left == size * (size - 1) / 2.0 + (double)call * size, "a sum in place is %f", left);
        CHECK(last == entered, "a maximum is %f", last);
    }
}

static void freed(void)
{
    for (int round = 0; round < 8; round++) {
        MPI_Comm other;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &other));
        one(MPI_COMM_WORLD, 0, round, 3000);
        one(other, 1, round, 70000);
        one(MPI_COMM_WORLD, 1, round, 10);
        one(other, 1, round + 1, 20);
        CALL(MPI_Comm_free(&other));
    }
}

static void shorter(MPI_Comm comm)
{
    int rank, code, class = MPI_SUCCESS, failed, failures;
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int call = 0; call < 3; call++) {
        code = MPI_Bcast(buffer, rank == 0 ? 1000 : 999, MPI_BYTE, 0, comm);
        CALL(MPI_Error_class(code, &class));
        /* Who gets it from a rank that has cut it off sees nothing wrong. */
        failed = class == MPI_ERR_TRUNCATE;
        CHECK(failed || class == MPI_SUCCESS, "the error is of class %d", class);
        CALL(MPI_Allreduce(&failed, &failures, 1, MPI_INT, MPI_SUM, comm));
        CHECK(failures > 0, "nobody noticed");
        CHECK(rank != 0 || !failed, "the root has an error");
        one(comm, 0, call, 500);
    }
}

static double bytes_sent(void)
{
    char line[512], name[64];
    double sent, sum = 0;
    FILE *file = fopen("/proc/net/dev", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, " %63[^:]: %*f %*f %*f %*f %*f %*f %*f %*f %lf", name, &sent) == 2 && strcmp(name, "lo") != 0)
            sum += sent;
    if (file != NULL)
        fclose(file);
    return sum;
}

/* What is broadcast goes by frames to a group, or by messages, or it does not matter. */
static void counted(MPI_Comm comm, const char *how, const char *command)
{
    enum { CALLS = 100, BYTES = 60000 };
    MPI_Comm host;
    int rank, mate, first, hosts;
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    CALL(MPI_Comm_rank(host, &mate));
    CALL(MPI_Comm_free(&host));
    first = mate == 0;
    CALL(MPI_Allreduce(&first, &hosts, 1, MPI_INT, MPI_SUM, comm));
    if (hosts < 4)
        return;
    /* The first calls of a communicator go by messages. */
    for (int call = 0; call < 10; call++)
        one(comm, 0, call, BYTES);
    CALL(MPI_Barrier(comm));
    double before = bytes_sent(), sent, all;
    for (int call = 0; call < CALLS; call++) {
        if (call == CALLS / 2 && rank == 0 && command != NULL)
            CHECK(system(command) == 0, "this does not work: %s", command);
        one(comm, 0, call, BYTES);
    }
    CALL(MPI_Barrier(comm));
    /* All ranks of a host see the same interfaces. */
    sent = first ? (bytes_sent() - before) / ((double)CALLS * BYTES) : 0;
    CALL(MPI_Allreduce(&sent, &all, 1, MPI_DOUBLE, MPI_SUM, comm));
    if (strcmp(how, "once") == 0)
        CHECK(all > 0.9 && all < 0.7 * (hosts - 1), "what is broadcast was sent %.2f times by all hosts together", all);
    else if (strcmp(how, "each") == 0)
        CHECK(all > 0.9 * (hosts - 1), "what is broadcast by messages was sent %.2f times only", all);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    buffer = malloc(LONGEST + 1);
    REQUIRE(buffer != NULL, "no memory");
    if (argc > 1 && strcmp(argv[1], "short") == 0) {
        shorter(MPI_COMM_WORLD);
    } else if (argc > 1) {
        counted(MPI_COMM_WORLD, argv[1], argc > 2 ? argv[2] : NULL);
    } else {
        in_a_row(MPI_COMM_WORLD);
        late(MPI_COMM_WORLD);
        between_two(MPI_COMM_WORLD);
        gaps(MPI_COMM_WORLD);
        together(MPI_COMM_WORLD);
        freed();
        one(MPI_COMM_WORLD, 0, 7, 100);
    }
    free(buffer);
    return finish();
}
