/*
 * A child that is forked after MPI_Init cannot use MPI and does its parent no harm (no rule of the standard). In it MPI_Initialized,
 * MPI_Finalized and MPI_Finalize succeed; other calls fail with MPI_ERR_OTHER, or end the child where errors are fatal.
 */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 200, COUNT = 3000 };

static int left, right;
static int out[COUNT], in[COUNT];

static int is_refused(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = MPI_SUCCESS, length;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    return class == MPI_ERR_OTHER && strstr(text, "forked") != NULL;
}

/* What the child sees: 0, or the number of the first check that failed. */
static int in_child(void)
{
    int flag = 0, value = 1, sum;
    MPI_Comm made;
    MPI_Request request;
    if (MPI_Initialized(&flag) != MPI_SUCCESS || !flag)
        return 1;
    if (MPI_Finalized(&flag) != MPI_SUCCESS || flag)
        return 2;
    if (!is_refused(MPI_Send(out, 1, MPI_INT, right, 0, MPI_COMM_WORLD)))
        return 3;
    if (!is_refused(MPI_Irecv(in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &request)))
        return 4;
    if (!is_refused(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)))
        return 5;
    if (!is_refused(MPI_Comm_dup(MPI_COMM_WORLD, &made)) || !is_refused(MPI_Init(NULL, NULL)))
        return 6;
    return MPI_Finalize() == MPI_SUCCESS && MPI_Finalize() == MPI_SUCCESS ? 0 : 7;
}

/* Exit status of a child; 128 and more for a signal. */
static int status_of(pid_t child)
{
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child, "no child");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void exchange(int first)
{
    int sum;
    for (int round = first; round < first + ROUNDS; round++) {
        int count = round % 2 ? 1 : COUNT;
        out[0] = round;
        CALL(MPI_Sendrecv(out, count, MPI_INT, right, 0, in, count, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(in[0] == round, "round %d brought %d", round, in[0]);
        CALL(MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == round * check_size, "round %d has the sum %d", round, sum);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    exchange(0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    pid_t child = fork();
    if (child == 0)
        _exit(in_child());
    int status = status_of(child);
    CHECK(status == 0, "check %d failed in the child", status);
    exchange(ROUNDS);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    child = fork();
    if (child == 0) {
        /* The sentence is expected, but not here. */
        close(2);
        MPI_Barrier(MPI_COMM_WORLD);
        _exit(0);
    }
    status = status_of(child);
    CHECK(status > 0 && status < 128, "the child ended with %d", status);
    exchange(2 * ROUNDS);

    child = fork();
    if (child == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(9);
    }
    status = status_of(child);
    CHECK(status == 0, "true ended with %d", status);
    exchange(3 * ROUNDS);
    return finish();
}
