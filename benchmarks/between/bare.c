/*
 * One TCP connection without any library, as fast as it goes: cubic, no delay, both ends spin on a socket that does not block.
 *
 *     bare listen PORT          | bare SECONDS ADDRESS PORT FIGURE...
 *
 * The listener takes one connection and does what the other end asks for. Figures as in measure.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

static int connection, rank;
static char *buffer;

static void all(int writing, char *place, size_t bytes)
{
    while (bytes) {
        ssize_t moved = writing ? send(connection, place, bytes, MSG_NOSIGNAL) : recv(connection, place, bytes, 0);
        if (moved > 0) {
            place += moved;
            bytes -= (size_t)moved;
        } else if (moved == 0 || (errno != EAGAIN && errno != EINTR)) {
            exit(moved == 0 && !writing && rank == 1 ? 0 : 1);
        }
    }
}

static void send_one(int bytes)
{
    all(1, buffer, (size_t)bytes);
}

static void receive_one(int bytes)
{
    all(0, buffer, (size_t)bytes);
}

static void stream(int bytes)
{
    for (int i = 0; i < WINDOW; i++)
        all(rank == 0, buffer, (size_t)bytes);
    all(rank == 1, buffer, 1);
}

static int agreed(int rounds)
{
    all(rank == 0, (char *)&rounds, sizeof rounds);
    return rounds;
}

static void set(int to, int level, int option, const void *value, socklen_t length)
{
    if (setsockopt(to, level, option, value, length)) {
        perror("setsockopt");
        exit(1);
    }
}

static void connected(int to)
{
    int one = 1;
    connection = to;
    set(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(to, F_SETFL, O_NONBLOCK);
}

static int opened(void)
{
    int to = socket(AF_INET, SOCK_STREAM, 0);
    set(to, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
    return to;
}

static void listen_at(int port)
{
    int at = opened(), one = 1;
    set(at, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    if (bind(at, (struct sockaddr *)&any, sizeof any) || listen(at, 1)) {
        perror("listen");
        exit(1);
    }
    connected(accept(at, NULL, NULL));
}

static void connect_to(const char *address, int port)
{
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    inet_pton(AF_INET, address, &there.sin_addr);
    for (int tries = 0; tries < 500; tries++) {
        int to = opened();
        if (!connect(to, (struct sockaddr *)&there, sizeof there)) {
            connected(to);
            return;
        }
        close(to);
        usleep(10000);
    }
    perror("connect");
    exit(1);
}

int main(int argc, char **argv)
{
    static const struct carrier by = {send_one, receive_one, stream};
    char figure[64] = "";
    double batch_seconds = 0;
    buffer = malloc(LARGEST);
    memset(buffer, 1, LARGEST);
    if (argc == 3 && !strcmp(argv[1], "listen")) {
        rank = 1;
        listen_at(atoi(argv[2]));
        for (;;) {
            all(0, figure, sizeof figure);
            measure(&by, rank, figure, 1, agreed);
        }
    }
    if (argc < 5)
        return 2;
    batch_seconds = atof(argv[1]);
    connect_to(argv[2], atoi(argv[3]));
    for (int i = 4; i < argc; i++) {
        memset(figure, 0, sizeof figure);
        strncpy(figure, argv[i], sizeof figure - 1);
        all(1, figure, sizeof figure);
        measure(&by, rank, figure, batch_seconds, agreed);
    }
    return 0;
}
