/* Communicators are made without opening a file again: what the kernel says about the machine is asked once (not of the standard). */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { BYTES = 16384 };

static volatile sig_atomic_t opens;
static char out[BYTES], in[BYTES];

/* An open that the filter has stopped: counted, and refused. */
static void stopped(int number, siginfo_t *information, void *context)
{
    (void)number, (void)information;
    opens++;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

static void stop_opens(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    struct sigaction action = {.sa_sigaction = stopped, .sa_flags = SA_SIGINFO};
    REQUIRE(sigaction(SIGSYS, &action, NULL) == 0, "sigaction: errno %d", errno);
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "errno %d", errno);
    REQUIRE(fopen("/proc/self/cgroup", "r") == NULL && opens == 1, "%d opens were stopped, not one", (int)opens);
    opens = 0;
}

/* The first collective and the first long message on a communicator, which is freed then. */
static void use(MPI_Comm comm)
{
    int me, number, one = 1, sum;
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &number);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == number, "the sum is %d", sum);
    MPI_Sendrecv(out, BYTES, MPI_BYTE, (me + 1) % number, 0, in, BYTES, MPI_BYTE, (me + number - 1) % number, 0, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

static void make_all(void)
{
    int rank, size, dims[1] = {0}, periods[1] = {1};
    MPI_Comm made;
    MPI_Group group;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dims[0] = size;
    int left = (rank + size - 1) % size, right = (rank + 1) % size, both[2] = {left, right}, degree = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    use(made);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made);
    use(made);
    int types[] = {MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_UNGUIDED};
    for (int i = 0; i < 2; i++) {
        MPI_Comm_split_type(MPI_COMM_WORLD, types[i], 0, MPI_INFO_NULL, &made);
        use(made);
    }
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &made);
    use(made);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &made);
    use(made);
    MPI_Group_free(&group);
    for (int reorder = 0; reorder < 2; reorder++) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, reorder, &made);
        use(made);
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, both, MPI_UNWEIGHTED, 2, both, MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &made);
        use(made);
        MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &made);
        use(made);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    make_all();
    stop_opens();
    make_all();
    CHECK(opens == 0, "%d files were opened", (int)opens);
    return finish();
}
