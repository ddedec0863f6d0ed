/*
 * A thread that ends the job while another does so already waits for it: the handlers of atexit run
 * to their end, and the exit code is that of the first. A handler that ends the job again, and a
 * child that was forked meanwhile, end their process.
 */
#include <pthread.h>
#include <semaphore.h>

#include "alone.h"

enum { FIRST = 7, SECOND = 8, HANDLER_MICROSECONDS = 200 * 1000 };

static const char *mode;
static pthread_t other;
static sem_t handler_runs;

static void fork_and_abort(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(ALONE_SECONDS / 2);
        MPI_Abort(MPI_COMM_WORLD, SECOND);
    }
    waitpid(child, &status, 0);
    fprintf(stderr, "the forked process %s\n", WIFEXITED(status) ? "has ended" : "was killed");
}

static void *end_too(void *unused)
{
    sem_wait(&handler_runs);
    if (strcmp(mode, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, SECOND);
    if (strcmp(mode, "error") == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (strcmp(mode, "fork") == 0)
        fork_and_abort();
    return unused;
}

static void at_exit(void)
{
    sem_post(&handler_runs);
    if (strcmp(mode, "fork") == 0)
        pthread_join(other, NULL);
    else
        usleep(HANDLER_MICROSECONDS);
    if (strcmp(mode, "again") == 0)
        MPI_Abort(MPI_COMM_WORLD, SECOND);
    fprintf(stderr, "the handler is through\n");
}

static void abort_alone(void)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    sem_init(&handler_runs, 0, 0);
    pthread_create(&other, NULL, end_too, NULL);
    atexit(at_exit);
    MPI_Abort(MPI_COMM_WORLD, FIRST);
}

/* Runs one case; its process ends by itself, with the code where one is given, and says the words. */
static void check(char *argument, int code, const char *says)
{
    struct ended ended = run_alone(argument);
    int exited = ended.status != -1 && WIFEXITED(ended.status);
    CHECK(code ? ended_with(&ended, code) : exited, "%s ended with status %#x: %s", argument, ended.status, ended.said);
    CHECK(strstr(ended.said, says), "%s said: %s", argument, ended.said);
}

int main(int argc, char **argv)
{
    char abort[] = "abort", error[] = "error", again[] = "again", forks[] = "fork";

    if (argc == 2) {
        mode = argv[1];
        abort_alone();
    }
    check(abort, FIRST, "the handler is through");
    check(error, FIRST, "the handler is through");
    check(again, 0, "the job is being ended");
    check(forks, FIRST, "the forked process has ended");
    start(&argc, &argv);
    return finish();
}
