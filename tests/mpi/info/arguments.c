/*
 * Arguments that are no UTF-8, which a launcher's file or a shell may well give, do not end a program that asks for its
 * environment. MPI 5.0, 11.2.1. The program starts itself once more with such an argument.
 */
#include "check.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc == 1) {
        char *again[] = {argv[0], "\xff\xfe latin", NULL};
        execv("/proc/self/exe", again);
        return 1;
    }
    start(&argc, &argv);
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag;
    MPI_Info made;
    CALL(MPI_Info_get(MPI_INFO_ENV, "argv", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag || strstr(value, " latin"), "argv is '%s'", value);
    CALL(MPI_Info_create_env(argc, argv, &made));
    CALL(MPI_Info_get(made, "argv", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag || strstr(value, " latin"), "argv is '%s'", value);
    CALL(MPI_Info_free(&made));
    return finish();
}
