/*
 * A program that calls MPI_Finalize in a handler of atexit, as destructors of static objects do: when
 * MPI_Abort ends it, the call does nothing and the handler runs to its end. The program is a child
 * without a launcher, which would end it before its handlers are through.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { CODE = 7 };

static void at_exit(void)
{
    int finalized = 0;
    MPI_Finalized(&finalized);
    MPI_Finalize();
    fprintf(stderr, "the handler is through, finalized %d\n", finalized);
}

static void abort_alone(void)
{
    MPI_Init(NULL, NULL);
    atexit(at_exit);
    MPI_Abort(MPI_COMM_WORLD, CODE);
}

int main(int argc, char **argv)
{
    char said[4096] = "";
    char *nothing[] = { NULL }, *again[] = { argv[0], "alone", NULL };
    int ends[2], status = 0;
    size_t length = 0;
    ssize_t more;

    if (argc == 2)
        abort_alone();
    int has_pipe = pipe(ends) == 0;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execve("/proc/self/exe", again, nothing);
        _exit(1);
    }
    close(ends[1]);
    while ((more = read(ends[0], said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)more;
    pid_t ended = waitpid(child, &status, 0);
    start(&argc, &argv);
    REQUIRE(has_pipe && child > 0 && ended == child, "no child");
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == CODE, "the child ended with status %#x: %s", status, said);
    REQUIRE(strstr(said, "the handler is through, finalized 1"), "the child said: %s", said);
    return finish();
}
