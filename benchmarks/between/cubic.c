/* Preloaded into other makers' libraries: every TCP socket gets the congestion control cubic, which a network namespace cannot make its
 * default. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

int socket(int family, int kind, int protocol)
{
    static int (*real)(int, int, int);
    if (!real)
        real = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    int made = real(family, kind, protocol);
    if (made >= 0 && (family == AF_INET || family == AF_INET6) && (kind & 0xf) == SOCK_STREAM)
        setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
    return made;
}
