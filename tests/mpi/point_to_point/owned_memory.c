/* Large messages from and to memory of MPI_Alloc_mem, which a library may copy without a copy in between: typed, cut, probed, called back,
 * to oneself, in blocks that are freed and taken again, with neighbours written meanwhile. MPI 5.0, 3.2, 3.8, 4.1.5 and 9.2 */
#include "pattern.h"

enum { LARGEST = 3000000, ROUNDS = 40, COUNT = 5 };

static const int sizes[COUNT] = {70000, 131072, 262145, 1000003, LARGEST};

/* A buffer of `bytes`, out of MPI_Alloc_mem or not, and 64 bytes of guard on both sides. */
typedef struct {
    char *block, *data;
    int bytes, owned;
} Buffer;

static Buffer make(int bytes, int owned)
{
    Buffer buffer = {.bytes = bytes, .owned = owned};
    if (owned)
        CALL(MPI_Alloc_mem(bytes + 128, MPI_INFO_NULL, &buffer.block));
    else
        buffer.block = malloc((size_t)bytes + 128);
    memset(buffer.block, 0x11, (size_t)bytes + 128);
    buffer.data = buffer.block + 64;
    return buffer;
}

static void drop(Buffer *buffer)
{
    for (int i = 0; i < 64; i++)
        CHECK(buffer->block[i] == 0x11 && buffer->data[buffer->bytes + i] == 0x11, "byte %d beside the buffer was written", i);
    if (buffer->owned)
        CALL(MPI_Free_mem(buffer->block));
    else
        free(buffer->block);
}

/* Every pair of neighbours in a ring, all kinds of memory on both sides; blocks are new each time. */
static void ring(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < COUNT * 4; i++) {
        int bytes = sizes[i / 4];
        Buffer out = make(bytes, i & 1), in = make(bytes, i >> 1 & 1);
        MPI_Request requests[2];
        pattern_fill(out.data, (size_t)bytes, (unsigned)(check_rank + i));
        CALL(MPI_Irecv(in.data, bytes, MPI_BYTE, left, i, MPI_COMM_WORLD, &requests[0]));
        CALL(MPI_Isend(out.data, bytes, MPI_BYTE, right, i, MPI_COMM_WORLD, &requests[1]));
        CALL(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        /* The buffer is the sender's again, whatever the receiver has done. */
        memset(out.data, 0x55, (size_t)bytes);
        CALL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        CHECK_PATTERN(in.data, (size_t)bytes, (unsigned)(left + i));
        drop(&out);
        drop(&in);
    }
}

/* Many at once, more than any table of a library has places, some synchronous, received in another order. */
static void flood(void)
{
    enum { MANY = 90, BYTES = 150000 };
    MPI_Request requests[MANY];
    Buffer all = make(MANY * BYTES, 1);
    for (int i = 0; i < MANY; i++) {
        char *data = all.data + (size_t)i * BYTES;
        int place = i % 2 ? i : MANY - 2 - i;
        if (check_rank == 0) {
            pattern_fill(data, BYTES, (unsigned)i);
            if (i % 3)
                CALL(MPI_Isend(data, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
            else
                CALL(MPI_Issend(data, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
        } else
            CALL(MPI_Irecv(all.data + (size_t)place * BYTES, BYTES, MPI_BYTE, 0, place, MPI_COMM_WORLD, &requests[i]));
    }
    CALL(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY && check_rank == 1; i++)
        CHECK_PATTERN(all.data + (size_t)i * BYTES, BYTES, (unsigned)i);
    drop(&all);
}

/* A row sent and a vector received, and the other way; the gaps stay as they were. */
static void typed(void)
{
    enum { BLOCKS = 20000, LONG = 20, STRIDE = 25 };
    MPI_Datatype vector;
    CALL(MPI_Type_vector(BLOCKS, LONG, STRIDE, MPI_BYTE, &vector));
    CALL(MPI_Type_commit(&vector));
    for (int way = 0; way < 3; way++) {
        Buffer row = make(BLOCKS * LONG, 1), gaps = make(BLOCKS * STRIDE, way > 0);
        if (check_rank == 0) {
            pattern_fill(row.data, BLOCKS * LONG, 5);
            for (int i = 0; i < BLOCKS; i++)
                memcpy(gaps.data + i * STRIDE, row.data + i * LONG, LONG);
            CALL(MPI_Send(row.data, BLOCKS * LONG, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
            CALL(MPI_Send(gaps.data, 1, vector, 1, 2, MPI_COMM_WORLD));
        } else {
            CALL(MPI_Recv(gaps.data, 1, vector, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CALL(MPI_Recv(row.data, BLOCKS * LONG, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_PATTERN(row.data, BLOCKS * LONG, 5);
            for (int i = 0; i < BLOCKS; i++) {
                int same = !memcmp(gaps.data + i * STRIDE, row.data + i * LONG, LONG);
                int gap = i == BLOCKS - 1 || gaps.data[i * STRIDE + LONG] == 0x11;
                if (!CHECK(same && gap, "block %d of the vector (way %d)", i, way))
                    break;
            }
        }
        drop(&row);
        drop(&gaps);
    }
    CALL(MPI_Type_free(&vector));
}

/* A receive that is too short, in all kinds of memory. */
static void cut(void)
{
    for (int way = 0; way < 8; way++) {
        int room = way & 4 ? 1 : 200001, bytes = 1000000;
        Buffer buffer = make(check_rank == 0 ? bytes : room, way >> check_rank & 1);
        if (check_rank == 0) {
            pattern_fill(buffer.data, (size_t)bytes, 9);
            CALL(MPI_Send(buffer.data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        } else {
            FAILS(MPI_Recv(buffer.data, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
            CHECK_PATTERN(buffer.data, (size_t)room, 9);
        }
        drop(&buffer);
    }
}

/* Probed, taken out by a matched probe, and received by nobody because its sender calls it back. */
static void probed_and_cancelled(void)
{
    Buffer buffer = make(500000, 1);
    if (check_rank == 0) {
        MPI_Request request;
        MPI_Status status;
        int cancelled;
        pattern_fill(buffer.data, 500000, 2);
        CALL(MPI_Send(buffer.data, 500000, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        CALL(MPI_Isend(buffer.data, 500000, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request));
        CALL(MPI_Cancel(&request));
        CALL(MPI_Wait(&request, &status));
        CALL(MPI_Test_cancelled(&status, &cancelled));
        CALL(MPI_Send(&cancelled, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
    } else {
        MPI_Status status;
        MPI_Message message;
        int count = 0, cancelled = 0;
        CALL(MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, &status));
        CALL(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == 500000, "%d bytes", count);
        CALL(MPI_Mrecv(buffer.data, count, MPI_BYTE, &message, MPI_STATUS_IGNORE));
        CHECK_PATTERN(buffer.data, 500000, 2);
        /* A library may let the wait last until the message is received: it is taken if it is there, else it was called back. */
        MPI_Request answer;
        int answered = 0, there = 0;
        CALL(MPI_Irecv(&cancelled, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &answer));
        while (!answered && !there) {
            CALL(MPI_Improbe(0, 2, MPI_COMM_WORLD, &there, &message, &status));
            if (!there)
                CALL(MPI_Test(&answer, &answered, MPI_STATUS_IGNORE));
        }
        if (there) {
            memset(buffer.data, 0, 500000);
            CALL(MPI_Mrecv(buffer.data, 500000, MPI_BYTE, &message, MPI_STATUS_IGNORE));
            CHECK_PATTERN(buffer.data, 500000, 2);
            CALL(MPI_Wait(&answer, MPI_STATUS_IGNORE));
        }
        CHECK(cancelled == !there, "cancelled %d, there %d", cancelled, there);
    }
    drop(&buffer);
}

static void to_oneself(void)
{
    Buffer out = make(LARGEST, 1), in = make(LARGEST, 1);
    pattern_fill(out.data, LARGEST, 4);
    CALL(MPI_Sendrecv(out.data, LARGEST, MPI_BYTE, check_rank, 1, in.data, LARGEST, MPI_BYTE, check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_PATTERN(in.data, LARGEST, 4);
    drop(&out);
    drop(&in);
}

/* The sender computes between start and wait, for longer or shorter than the transfer takes. */
static void computing(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int bytes = sizes[i % COUNT];
        Buffer buffer = make(bytes, i & 8);
        if (check_rank == 0) {
            MPI_Request request;
            pattern_fill(buffer.data, (size_t)bytes, (unsigned)i);
            CALL(MPI_Isend(buffer.data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
            for (double begun = MPI_Wtime(); MPI_Wtime() - begun < (i % 4) * 1e-4;)
                ;
            CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
            memset(buffer.data, 0x55, (size_t)bytes);
        } else {
            CALL(MPI_Recv(buffer.data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_PATTERN(buffer.data, (size_t)bytes, (unsigned)i);
        }
        drop(&buffer);
    }
}

/* Blocks are aligned as the info key says, and no two overlap. */
static void blocks(void)
{
    MPI_Info info;
    char *block[12];
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096"));
    for (int i = 0; i < 12; i++) {
        CALL(MPI_Alloc_mem(40000 * i, i % 2 ? info : MPI_INFO_NULL, &block[i]));
        CHECK(i % 2 == 0 || (size_t)block[i] % 4096 == 0, "block %d lies at %p", i, (void *)block[i]);
        memset(block[i], i, 40000 * (size_t)i);
    }
    for (int i = 11; i > 0; i -= 1) {
        CHECK(block[i][0] == i && block[i][40000 * i - 1] == i, "block %d was written by another", i);
        CALL(MPI_Free_mem(block[i]));
    }
    CALL(MPI_Free_mem(block[0]));
    CALL(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    blocks();
    to_oneself();
    ring();
    if (check_rank < 2 && check_size > 1) {
        flood();
        typed();
        cut();
        probed_and_cancelled();
        computing();
    }
    return finish();
}
