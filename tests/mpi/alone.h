/*
 * Tests that start themselves again as a process without a launcher, which would end it before its
 * handlers of atexit are through.
 */
#ifndef TOWPATH_TESTS_ALONE_H
#define TOWPATH_TESTS_ALONE_H

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* How a process without a launcher ended: its status, -1 where it was not started, and what it said. */
struct ended {
    int status;
    char said[4096];
};

/* Seconds after which a process that hangs is ended by SIGALRM. */
enum { ALONE_SECONDS = 20 };

/* Runs this program with one argument and waits for its end. Call it before MPI_Init. */
__attribute__((unused)) static struct ended run_alone(char *argument)
{
    struct ended ended = { .status = -1 };
    char name[] = "alone", *nothing[] = { NULL }, *arguments[] = { name, argument, NULL };
    int ends[2] = { -1, -1 };
    size_t length = 0;
    ssize_t more;

    if (pipe(ends))
        return ended;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(ALONE_SECONDS);
        execve("/proc/self/exe", arguments, nothing);
        _exit(1);
    }
    close(ends[1]);
    while ((more = read(ends[0], ended.said + length, sizeof ended.said - 1 - length)) > 0)
        length += (size_t)more;
    close(ends[0]);
    if (child < 0 || waitpid(child, &ended.status, 0) != child)
        ended.status = -1;
    return ended;
}

/* Whether the process ended by itself with this code. */
__attribute__((unused)) static int ended_with(const struct ended *ended, int code)
{
    return ended->status != -1 && WIFEXITED(ended->status) && WEXITSTATUS(ended->status) == code;
}

#endif
