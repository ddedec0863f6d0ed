/*
 * Prints what a program is told about memory that it may pass, as lines NAME=VALUE. With an
 * argument, it loads this driver first, as a program with device memory does.
 */
#include <mpi-ext.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define KINDS "mpi_memory_alloc_kinds"
#define ASSERTED "mpi_assert_memory_alloc_kinds"

static void show(const char *name, MPI_Info info, const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int length = sizeof value, found;
    MPI_Info_get_string(info, key, &length, value, &found);
    printf("%s=%s\n", name, found ? value : "(none)");
}

static void show_hint(const char *name, MPI_Comm comm, const char *key)
{
    MPI_Info info;
    MPI_Comm_get_info(comm, &info);
    show(name, info, key);
    MPI_Info_free(&info);
}

static void set_hint(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
}

static void show_kind(const char *name, int kind)
{
    int supported = -1, class = MPI_SUCCESS;
    int code = MPIX_GPU_query_support(kind, &supported);
    if (code) MPI_Error_class(code, &class);
    printf("%s=%d%s\n", name, supported, class == MPI_ERR_ARG ? " refused" : "");
}

/* Large host memory, which is neither on the stack nor in the heap. */
static void exchange_with_itself(void)
{
    static char from[1 << 20], to[1 << 20];
    from[sizeof from - 1] = 7;
    int code = MPI_Sendrecv(from, sizeof from, MPI_CHAR, 0, 0, to, sizeof to, MPI_CHAR, 0, 0,
                            MPI_COMM_SELF, MPI_STATUS_IGNORE);
    printf("exchange=%s\n", !code && to[sizeof to - 1] == 7 ? "right" : "wrong");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !dlopen(argv[1], RTLD_NOW)) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    printf("built=%d %d\n", MPIX_CUDA_AWARE_SUPPORT, MPIX_ROCM_AWARE_SUPPORT);
    printf("cuda=%d\nhip=%d\n", MPIX_Query_cuda_support(), MPIX_Query_hip_support());
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    show_kind("gpu cuda", MPIX_GPU_SUPPORT_CUDA);
    show_kind("gpu ze", MPIX_GPU_SUPPORT_ZE);
    show_kind("gpu hip", MPIX_GPU_SUPPORT_HIP);
    show_kind("gpu other", 9);
    show("requested", MPI_INFO_ENV, KINDS);
    set_hint(MPI_COMM_SELF, KINDS, "system");
    show_hint("world", MPI_COMM_WORLD, KINDS);
    show_hint("self", MPI_COMM_SELF, KINDS);
    MPI_Comm asserted, copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &asserted);
    show_hint("before", asserted, ASSERTED);
    set_hint(asserted, ASSERTED, "rocm:device");
    show_hint("refused", asserted, ASSERTED);
    set_hint(asserted, ASSERTED, "system,cuda:device");
    show_hint("asserted cuda", asserted, ASSERTED);
    set_hint(asserted, ASSERTED, "system");
    show_hint("asserted", asserted, ASSERTED);
    MPI_Comm_dup(asserted, &copy);
    show_hint("inherited", copy, ASSERTED);
    show_hint("copy", copy, KINDS);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&asserted);
    exchange_with_itself();
    MPI_Finalize();
    return 0;
}
