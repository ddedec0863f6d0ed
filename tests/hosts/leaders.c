/*
 * Collectives in random order, whose results are checked, while something is done to a rank or a
 * network; only those whose names contain CALLS:
 *
 *     leaders CALLS stopped RANKS TIMES SECONDS SEED    each of these ranks is stopped so many
 *                                                       times, for so many seconds; at the end all
 *                                                       ranks say "ok"
 *     leaders CALLS killed RANK SEED                    this rank is killed
 *     leaders CALLS done COMMAND SEED                   a shell does this on the host of rank 0
 *
 * That happens at random moments, by a process beside the rank, which says "done" after the last
 * two. With these each rank says which of its calls ends with an error, and ends when the others
 * have had time for that, too.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BCAST, ALLREDUCE, GATHER, BARRIER, KINDS, MOST = 1 << 16 };

static const char *const names[] = {"MPI_Bcast", "MPI_Allreduce", "MPI_Gather", "MPI_Barrier"};
static int rank, size, *in, *out;

/* Begins a process that does what is to be done, and says so, to this one or for it. */
static pid_t begin_trouble(char **argv, int times, unsigned seed)
{
    pid_t self = getpid(), child = fork();
    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    srandom(seed);
    for (int i = 0; i < times; i++) {
        usleep(100000 + random() % 400000);
        if (strcmp(argv[2], "stopped") == 0) {
            int failed = kill(self, SIGSTOP);
            usleep((useconds_t)(atof(argv[5]) * 1e6));
            if (failed || kill(self, SIGCONT))
                _exit(1);
            continue;
        }
        int is_killed = strcmp(argv[2], "killed") == 0, failed = is_killed ? 0 : system(argv[3]);
        puts(failed ? "not done" : "done");
        fflush(stdout);
        if (is_killed)
            kill(self, SIGKILL);
    }
    _exit(0);
}

/* True while the process that stops this one runs. It must end well. */
static int is_running(pid_t child)
{
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == 0)
        return 1;
    if (status) {
        fprintf(stderr, "rank %d was not stopped as often as asked for\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    return 0;
}

static int is_named(const char *list)
{
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (atoi(list) == rank)
            return 1;
    return 0;
}

static int given(int round, int from, int index)
{
    return round * 31 + from * 7 + index;
}

/* Makes one call; its error code. */
static int call(int round, int kind, int root, int length)
{
    for (int i = 0; i < length; i++)
        in[i] = given(round, kind == BCAST ? root : rank, i);
    switch (kind) {
    case BCAST:
        memset(out, 0xff, sizeof(int) * (size_t)length);
        return MPI_Bcast(rank == root ? in : out, length, MPI_INT, root, MPI_COMM_WORLD);
    case ALLREDUCE: return MPI_Allreduce(in, out, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    case GATHER: return MPI_Gather(in, length, MPI_INT, out, length, MPI_INT, root, MPI_COMM_WORLD);
    default: return MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void check(int round, int kind, int root, int length)
{
    int of_all = kind == GATHER && rank == root ? size : 1;
    const int *found = kind == BCAST && rank == root ? in : out;
    if (kind == BARRIER || (kind == GATHER && rank != root))
        return;
    for (int i = 0; i < length * of_all; i++) {
        int from = kind == BCAST ? root : i / length, expected = given(round, from, i % length);
        if (kind == ALLREDUCE)
            expected = size * given(round, 0, i) + 7 * size * (size - 1) / 2;
        if (found[i] == expected)
            continue;
        fprintf(stderr, "rank %d: %s, round %d: number %d of %d is %d, not %d\n", rank, names[kind],
                round, i, length, found[i], expected);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* Tells of a call that has failed, and ends the process when the others have told of theirs. */
static void fail(int code, int kind)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    printf("rank %d, %s fails: %s\n", rank, names[kind], text);
    fflush(stdout);
    sleep(2);
    _exit(1);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 200, 3000, MOST};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    in = malloc(sizeof(int) * MOST);
    out = malloc(sizeof(int) * MOST * (size_t)size);
    if (argc < 5)
        MPI_Abort(MPI_COMM_WORLD, 2);
    unsigned seed = (unsigned)atoi(argv[argc - 1]);
    int stopped = strcmp(argv[2], "stopped") == 0;
    int troubled = strcmp(argv[2], "done") == 0 ? rank == 0 : is_named(argv[3]), more = 1;
    srandom(seed);
    pid_t child =
        troubled ? begin_trouble(argv, stopped ? atoi(argv[4]) : 1, seed + (unsigned)rank) : 0;
    for (int round = 0; more; round++) {
        int kind = (int)(random() % KINDS), root = (int)(random() % size);
        int length = lengths[random() % 4];
        if (!strstr(names[kind], argv[1]))
            continue;
        int code = call(round, kind, root, length);
        if (code)
            fail(code, kind);
        check(round, kind, root, length);
        if (round % 20)
            continue;
        /* All go on while there is something to come. */
        int mine = !stopped || (child && is_running(child));
        if (!mine)
            child = 0;
        code = MPI_Allreduce(&mine, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (code)
            fail(code, ALLREDUCE);
    }
    puts("ok");
    MPI_Finalize();
    return 0;
}
