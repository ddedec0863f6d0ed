/*
 * Runs a program to which the kernel refuses some system calls, as some containers and service managers do.
 *
 * Arguments: the error number's name (EPERM, ENOSYS), the calls' names separated by commas, the program, its arguments. A seccomp
 * filter answers the calls; it holds for all that the program starts.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; unsigned number; } calls[] = {
    {"memfd_create", SYS_memfd_create}, {"ppoll", SYS_ppoll}, {"epoll_pwait", SYS_epoll_pwait}, {"wait4", SYS_wait4},
    {"write", SYS_write}, {"kill", SYS_kill}, {"epoll_ctl", SYS_epoll_ctl},
#ifdef SYS_poll
    {"poll", SYS_poll}, {"epoll_wait", SYS_epoll_wait},
#endif
#ifdef SYS_epoll_pwait2
    {"epoll_pwait2", SYS_epoll_pwait2},
#endif
};
enum { KNOWN = sizeof calls / sizeof *calls };

/* Adds the calls of a list to a filter; returns how many instructions it has, 0 where a name is unknown. */
static unsigned fill(struct sock_filter *filter, char *list, unsigned error)
{
    unsigned used = 0;
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        unsigned call = 0;
        while (call < KNOWN && strcmp(calls[call].name, name)) call++;
        if (call == KNOWN || used + 3 > 3 * KNOWN) return 0;
        filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[call].number, 0, 1);
        filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return used;
}

int main(int argc, char **argv)
{
    struct sock_filter filter[3 * KNOWN];
    unsigned length = argc < 4 ? 0 : fill(filter, argv[2], strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM);
    if (!length) {
        fprintf(stderr, "usage: refuse EPERM|ENOSYS call[,call]... program [argument]...\n");
        return 2;
    }
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("refuse: no seccomp filter can be set");
        return 77;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 127;
}
