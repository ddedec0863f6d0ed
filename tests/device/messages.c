/*
 * Messages of random datatypes around a ring, between host and device memory in all combinations,
 * by all kinds of calls. What arrives is compared with what MPI_Pack and MPI_Unpack make of the
 * same data in host memory, gaps included.
 *
 *     messages ROUNDS SEED
 */
#include "random_types.h"

/* The calls around the ring, and a message to the rank itself. */
enum { TO_ITSELF = 6, CALLS };

typedef struct {
    MPI_Datatype send_type, receive_type;
    int send_count, receive_count;
    size_t span;
} Layouts;

/* The receiver has the sender's layout or contiguous bytes. */
static Layouts layouts(unsigned *random)
{
    Layouts made = {.send_count = between(random, 1, 3)};
    int bytes;
    made.send_type = random_type(random);
    MPI_Type_size(made.send_type, &bytes);
    if (between(random, 0, 2)) {
        MPI_Type_dup(made.send_type, &made.receive_type);
        made.receive_count = made.send_count;
    } else {
        MPI_Type_contiguous(bytes * made.send_count, MPI_BYTE, &made.receive_type);
        MPI_Type_commit(&made.receive_type);
        made.receive_count = 1;
    }
    size_t one = reach(made.send_type, made.send_count);
    size_t other = reach(made.receive_type, made.receive_count);
    made.span = one > other ? one : other;
    return made;
}

/* What must be in the receiver's buffer, which holds `expected` before. */
static void expect(const Layouts *made, unsigned char *source, unsigned char *expected)
{
    int bytes, position = 0;
    MPI_Pack_size(made->send_count, made->send_type, MPI_COMM_SELF, &bytes);
    unsigned char *packed = malloc(bytes + 1);
    MPI_Pack(source, made->send_count, made->send_type, packed, bytes, &position, MPI_COMM_SELF);
    bytes = position;
    position = 0;
    MPI_Unpack(packed, bytes, &position, expected, made->receive_count, made->receive_type,
               MPI_COMM_SELF);
    free(packed);
}

static void isend_irecv(const Layouts *made, void *from, void *to, int next, int last)
{
    MPI_Request requests[2];
    MPI_Irecv(to, made->receive_count, made->receive_type, last, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, made->send_count, made->send_type, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void unexpected(const Layouts *made, void *from, void *to, int next, int last)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Issend(from, made->send_count, made->send_type, next, 1, MPI_COMM_WORLD, &request);
    MPI_Mprobe(last, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(to, made->receive_count, made->receive_type, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void sendrecv(const Layouts *made, void *from, void *to, int next, int last)
{
    MPI_Sendrecv(from, made->send_count, made->send_type, next, 1, to, made->receive_count,
                 made->receive_type, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void blocking(const Layouts *made, void *from, void *to, int next, int last)
{
    if (check_size == 1)
        return isend_irecv(made, from, to, next, last);
    for (int turn = 0; turn < 2; turn++) {
        if ((check_rank % 2 == turn) != (check_rank == check_size - 1 && check_size % 2))
            MPI_Send(from, made->send_count, made->send_type, next, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(to, made->receive_count, made->receive_type, last, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

static void persistent(const Layouts *made, void *from, void *to, int next, int last)
{
    MPI_Request requests[2];
    MPI_Recv_init(to, made->receive_count, made->receive_type, last, 1, MPI_COMM_WORLD,
                  &requests[0]);
    MPI_Send_init(from, made->send_count, made->send_type, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void buffered(const Layouts *made, void *from, void *to, int next, int last)
{
    int bytes;
    MPI_Pack_size(made->send_count, made->send_type, MPI_COMM_WORLD, &bytes);
    bytes += MPI_BSEND_OVERHEAD;
    void *buffer = malloc(bytes);
    MPI_Buffer_attach(buffer, bytes);
    MPI_Bsend(from, made->send_count, made->send_type, next, 1, MPI_COMM_WORLD);
    MPI_Recv(to, made->receive_count, made->receive_type, last, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
}

typedef void Call(const Layouts *made, void *from, void *to, int next, int last);

static void one_call(int call, const Layouts *made, void *from, void *to)
{
    static Call *const around[] = {isend_irecv, unexpected, sendrecv,
                                   blocking,    persistent, buffered};
    int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    if (call == TO_ITSELF)
        isend_irecv(made, from, to, check_rank, check_rank);
    else
        around[call](made, from, to, next, last);
}

static bool round_is_wrong(unsigned *random, int round)
{
    Layouts made = layouts(random);
    int call = between(random, 0, CALLS - 1), spaces = between(random, 0, 3);
    /* Ranks differ in the memory of their buffers. */
    bool from_device = spaces & 1, to_device = spaces & 2;
    if (between(random, 0, 1) && check_rank % 2)
        from_device = !from_device;
    int sender = call == TO_ITSELF ? check_rank : (check_rank + check_size - 1) % check_size;
    unsigned seed = (unsigned)round * 1000, before = seed + 500;
    Memory from = pattern_in(from_device, made.span, seed + check_rank);
    Memory to = pattern_in(to_device, made.span, before);
    unsigned char *bytes = malloc(made.span), *expected = malloc(made.span);
    one_call(call, &made, from.bytes, to.bytes);
    pattern_fill(bytes, made.span, seed + sender);
    pattern_fill(expected, made.span, before);
    expect(&made, bytes, expected);
    read_memory(to, bytes);
    size_t wrong = 0;
    while (wrong < made.span && bytes[wrong] == expected[wrong])
        wrong++;
    if (wrong < made.span)
        printf("rank %d, round %d, call %d, from %s to %s memory: byte %zu of %zu is %d, not %d\n",
               check_rank, round, call, from_device ? "device" : "host",
               to_device ? "device" : "host", wrong, made.span, bytes[wrong], expected[wrong]);
    free(bytes);
    free(expected);
    free_memory(from);
    free_memory(to);
    MPI_Type_free(&made.send_type);
    MPI_Type_free(&made.receive_type);
    return wrong < made.span;
}

int main(int count, char **words)
{
    return run_rounds(count, words, round_is_wrong);
}
