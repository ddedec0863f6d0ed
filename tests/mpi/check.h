/*
 * What every C test needs: checks that say what went wrong, a common start and a common end.
 *
 * A test includes this file, calls start(), checks with CHECK (goes on after a failure) or REQUIRE (ends the job: use it where
 * going on would hang), and returns finish(). A rank whose checks all held prints "ok" on a line of its own and exits with 0.
 * Nothing here knows which MPI library is used: a test must pass on any library that follows the standard.
 */
#ifndef TOWPATH_TESTS_CHECK_H
#define TOWPATH_TESTS_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MESSAGES_SHOWN 8

static int check_failures;
static int check_rank = -1;
static int check_size = -1;

__attribute__((format(printf, 4, 5), unused)) static int check_failed(const char *file, int line, const char *condition,
                                                                        const char *format, ...)
{
    if (__atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED) <= CHECK_MESSAGES_SHOWN) {
        char text[512];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        fprintf(stderr, "%s:%d: rank %d: (%s) is false: %s\n", file, line, check_rank, condition, text);
        fflush(stderr);
    }
    return 0;
}

__attribute__((unused)) static int check_held(int held)
{
    return held;
}

/* Notes a failure and goes on; says whether the condition held. The further arguments are a printf format and its values. */
#define CHECK(condition, ...) check_held((condition) ? 1 : check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__))

/* Notes a failure and ends the whole job: for conditions without which the test would hang or crash. */
#define REQUIRE(condition, ...)                                                                                               \
    do {                                                                                                                      \
        if (!CHECK(condition, __VA_ARGS__))                                                                                   \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                                     \
    } while (0)

/* Checks that a call succeeds; says the text of the error otherwise. */
#define CALL(call) check_call((call), __FILE__, __LINE__, #call)

__attribute__((unused)) static int check_call(int code, const char *file, int line, const char *call)
{
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(code, text, &length);
        check_failed(file, line, call, "%s", text);
    }
    return code;
}

/* The error class of a code. */
__attribute__((unused)) static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

/* Checks that a call fails with one of two classes (give the same class twice when the standard leaves no choice). */
#define FAILS_EITHER(call, first, second) check_fails((call), first, second, __FILE__, __LINE__, #call, #first)
#define FAILS(call, class) check_fails((call), class, class, __FILE__, __LINE__, #call, #class)

__attribute__((unused)) static void check_fails(int code, int first, int second, const char *file, int line, const char *call,
                                                const char *expected)
{
    int class = class_of(code);
    if (class != first && class != second) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(code, text, &length);
        check_failed(file, line, call, "class %d (%s), expected %s (%d)", class, text, expected, first);
    }
}

__attribute__((unused)) static void check_started(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
}

/* Initialises MPI and learns rank and size of MPI_COMM_WORLD (check_rank, check_size). */
__attribute__((unused)) static void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    check_started();
}

/* The same for tests with threads: MPI_THREAD_MULTIPLE or the end of the test. */
__attribute__((unused)) static void start_threads(int *argc, char ***argv)
{
    int provided = -1;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    check_started();
    REQUIRE(provided == MPI_THREAD_MULTIPLE, "thread level %d instead of MPI_THREAD_MULTIPLE", provided);
}

/* Says how the checks went: the exit status of the program. Call it after MPI_Finalize where that is under test. */
__attribute__((unused)) static int verdict(void)
{
    if (check_failures) {
        fprintf(stderr, "rank %d: %d checks failed\n", check_rank, check_failures);
        return 1;
    }
    printf("ok\n");
    fflush(stdout);
    return 0;
}

/* Finalizes MPI and says how the checks went. */
__attribute__((unused)) static int finish(void)
{
    MPI_Finalize();
    return verdict();
}

#endif
