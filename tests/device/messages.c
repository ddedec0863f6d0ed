/*
 * Messages of random datatypes around a ring, between host and device memory in all combinations,
 * by all kinds of calls. What arrives is compared with what MPI_Pack and MPI_Unpack make of the
 * same data in host memory, gaps included.
 *
 *     messages ROUNDS SEED
 */
#include "memory.h"
#include "random_types.h"

enum { CALLS = 7 };

static int rank, size;

static void fill(unsigned char *bytes, size_t length, uint64_t seed)
{
    Random random = {seed};
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(draw(&random) >> 24);
}

typedef struct {
    MPI_Datatype send_type, receive_type;
    int send_count, receive_count;
    size_t span;
} Layouts;

/* The bytes that `count` elements reach over. */
static size_t reach(MPI_Datatype type, int count)
{
    MPI_Aint lower, extent, true_lower, true_extent;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    return (size_t)(true_lower + true_extent + extent * (count - 1)) + 16;
}

/* The receiver has the sender's layout or contiguous bytes. */
static Layouts layouts(Random *random)
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

static void blocking(const Layouts *made, void *from, void *to, int next, int last)
{
    if (size == 1)
        return isend_irecv(made, from, to, next, last);
    for (int turn = 0; turn < 2; turn++) {
        if ((rank % 2 == turn) != (rank == size - 1 && size % 2))
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

static void one_call(int call, const Layouts *made, Memory from, Memory to)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    switch (call) {
    case 0:
        isend_irecv(made, from.bytes, to.bytes, next, last);
        break;
    case 1:
        unexpected(made, from.bytes, to.bytes, next, last);
        break;
    case 2:
        MPI_Sendrecv(from.bytes, made->send_count, made->send_type, next, 1, to.bytes,
                     made->receive_count, made->receive_type, last, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        break;
    case 3:
        blocking(made, from.bytes, to.bytes, next, last);
        break;
    case 4:
        persistent(made, from.bytes, to.bytes, next, last);
        break;
    case 5:
        buffered(made, from.bytes, to.bytes, next, last);
        break;
    default:
        isend_irecv(made, from.bytes, to.bytes, rank, rank);
    }
}

static int round_differs(Random *random, int number)
{
    Layouts made = layouts(random);
    int call = between(random, 0, CALLS - 1), spaces = between(random, 0, 3);
    /* Ranks differ in the memory of their buffers. */
    bool from_device = spaces & 1, to_device = spaces & 2;
    if (between(random, 0, 1) && rank % 2)
        from_device = !from_device;
    int sender = call == CALLS - 1 ? rank : (rank + size - 1) % size;
    Memory from = memory_of(from_device, made.span), to = memory_of(to_device, made.span);
    unsigned char *bytes = malloc(made.span), *expected = malloc(made.span);
    fill(bytes, made.span, (uint64_t)number * 1000 + rank);
    write_memory(from, bytes);
    fill(expected, made.span, (uint64_t)number * 1000 + 500);
    write_memory(to, expected);
    one_call(call, &made, from, to);
    fill(bytes, made.span, (uint64_t)number * 1000 + sender);
    expect(&made, bytes, expected);
    read_memory(to, bytes);
    size_t wrong = 0;
    while (wrong < made.span && bytes[wrong] == expected[wrong])
        wrong++;
    if (wrong < made.span)
        printf("rank %d, round %d, call %d, from %s to %s memory: byte %zu of %zu is %d, not %d\n",
               rank, number, call, from_device ? "device" : "host", to_device ? "device" : "host",
               wrong, made.span, bytes[wrong], expected[wrong]);
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
    start(&count, &words);
    rank = check_rank;
    size = check_size;
    int rounds = count > 1 ? atoi(words[1]) : 100;
    Random random = {count > 2 ? strtoull(words[2], NULL, 10) : 1};
    start_device(rank);
    for (int number = 0; number < rounds; number++)
        REQUIRE(!round_differs(&random, number), "round %d", number);
    return finish();
}
