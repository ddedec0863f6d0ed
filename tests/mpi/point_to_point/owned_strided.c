/* Large strided messages from and to memory of MPI_Alloc_mem, which a library may copy from strides to strides: columns, blocks
 * of other lengths, faces of a cube, backwards, irregular, cut, to oneself; the gaps stay as they were. MPI 5.0, 3.2, 5.1, 9.2 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 7, WORDS = 96 * 1024 };

/* Word `index` of a message, by who sends it. */
static int word(int from, int kind, int index)
{
    return index * 31 + from * 1000003 + kind * 77;
}

/* One of the layouts of WORDS ints: `count` elements of the type, whose memory is `span` ints, with displacement 0 at `origin`. */
typedef struct {
    MPI_Datatype type;
    int count, span, origin;
    /* Where word `index` is, from the origin. */
    int (*place)(int index);
} Layout;

static int row(int i)
{
    return i;
}

static int column(int i)
{
    return i * 5;
}

static int in_blocks(int i)
{
    return i / 12 * 17 + i % 12;
}

static int in_eights(int i)
{
    return i / 8 * 16 + i % 8;
}

/* Of 64 x 64 x 64 ints, 32 x 64 x 48. */
static int cube(int i)
{
    return (i / (64 * 48) * 64 + i / 48 % 64) * 64 + i % 48;
}

static int backwards(int i)
{
    return -(i / 3 * 7) + i % 3;
}

static int irregular(int i)
{
    static const int at[4] = {0, 1, 7, 4};
    return i / 4 * 11 + at[i % 4];
}

static Layout make(int kind)
{
    static const int displacements[4] = {0, 1, 7, 4};
    static const int sizes[3] = {32, 64, 64}, parts[3] = {32, 64, 48}, starts[3] = {0, 0, 0};
    Layout layout = {MPI_DATATYPE_NULL, 1, WORDS * 6, 0, row};
    MPI_Datatype inner;
    switch (kind) {
    case 0:
        layout.count = WORDS;
        CALL(MPI_Type_dup(MPI_INT, &layout.type));
        break;
    case 1: /* Elements of one word each, five apart. */
        CALL(MPI_Type_create_resized(MPI_INT, 0, 5 * sizeof(int), &layout.type));
        layout.count = WORDS;
        layout.place = column;
        break;
    case 2:
        CALL(MPI_Type_vector(WORDS / 12, 12, 17, MPI_INT, &layout.type));
        layout.place = in_blocks;
        break;
    case 3:
        CALL(MPI_Type_vector(WORDS / 8, 8, 16, MPI_INT, &layout.type));
        layout.place = in_eights;
        break;
    case 4:
        CALL(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &layout.type));
        layout.place = cube;
        break;
    case 5:
        CALL(MPI_Type_vector(WORDS / 3, 3, -7, MPI_INT, &layout.type));
        layout.origin = WORDS / 3 * 7;
        layout.place = backwards;
        break;
    default:
        CALL(MPI_Type_create_indexed_block(4, 1, displacements, MPI_INT, &inner));
        CALL(MPI_Type_create_resized(inner, 0, 11 * sizeof(int), &layout.type));
        CALL(MPI_Type_free(&inner));
        layout.count = WORDS / 4;
        layout.place = irregular;
    }
    CALL(MPI_Type_commit(&layout.type));
    return layout;
}

static int *memory(Layout layout, int owned)
{
    int *block;
    if (owned)
        CALL(MPI_Alloc_mem(layout.span * (MPI_Aint)sizeof(int), MPI_INFO_NULL, &block));
    else
        block = malloc((size_t)layout.span * sizeof(int));
    memset(block, 0x11, (size_t)layout.span * sizeof(int));
    return block;
}

static void drop(int *block, int owned)
{
    if (owned)
        CALL(MPI_Free_mem(block));
    else
        free(block);
}

/* The message is there. */
static void verify(Layout layout, int *block, int from, int kind)
{
    for (int i = 0; i < WORDS; i++) {
        int at = block[layout.origin + layout.place(i)];
        if (!CHECK(at == word(from, kind, i), "word %d of kind %d is %d", i, kind, at))
            return;
    }
}

/* Every int but the first `words` words of the message is as it was; those are then as they were too. */
static void verify_others(Layout layout, int *block, int kind, int words)
{
    int before;
    memset(&before, 0x11, sizeof before);
    for (int i = 0; i < words; i++)
        block[layout.origin + layout.place(i)] = before;
    for (int i = 0; i < layout.span; i++)
        if (!CHECK(block[i] == before, "int %d beside the words of kind %d was written", i, kind))
            return;
}

static void exchange(int kind, int other_kind, int owned, int other_owned)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    Layout from = make(kind), to = make(other_kind);
    int *out = memory(from, owned), *in = memory(to, other_owned), got = 0;
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < WORDS; i++)
        out[from.origin + from.place(i)] = word(check_rank, other_kind, i);
    CALL(MPI_Irecv(in + to.origin, to.count, to.type, left, 1, MPI_COMM_WORLD, &request));
    CALL(MPI_Send(out + from.origin, from.count, from.type, right, 1, MPI_COMM_WORLD));
    /* The buffer is the sender's again, whatever the receiver has done. */
    memset(out, 0x55, (size_t)from.span * sizeof(int));
    CALL(MPI_Wait(&request, &status));
    CALL(MPI_Get_elements(&status, to.type, &got));
    CHECK(got == WORDS, "%d words", got);
    verify(to, in, left, other_kind);
    verify_others(to, in, other_kind, WORDS);
    drop(out, owned);
    drop(in, other_owned);
    CALL(MPI_Type_free(&from.type));
    CALL(MPI_Type_free(&to.type));
}

/* More comes than there is room for, and then less. */
static void cut(int kind, int owned)
{
    Layout layout = make(2), whole = make(kind);
    int *block = memory(whole, owned), half = WORDS / 2;
    if (check_rank == 0) {
        for (int i = 0; i < WORDS; i++)
            block[whole.origin + whole.place(i)] = word(0, kind, i);
        CALL(MPI_Send(block + whole.origin, whole.count, whole.type, 1, 1, MPI_COMM_WORLD));
        CALL(MPI_Send(block + whole.origin, whole.count, whole.type, 1, 1, MPI_COMM_WORLD));
    } else {
        int *room = memory(layout, owned), got = 0;
        MPI_Datatype short_type;
        MPI_Status status;
        CALL(MPI_Type_vector(WORDS / 24, 12, 17, MPI_INT, &short_type));
        CALL(MPI_Type_commit(&short_type));
        FAILS(MPI_Recv(room, 1, short_type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        verify_others(layout, room, kind, half);
        CALL(MPI_Recv(room, 2, layout.type, 0, 1, MPI_COMM_WORLD, &status));
        CALL(MPI_Get_elements(&status, layout.type, &got));
        CHECK(got == WORDS, "%d words of a message that is shorter than its room", got);
        verify(layout, room, 0, kind);
        verify_others(layout, room, kind, WORDS);
        CALL(MPI_Type_free(&short_type));
        drop(room, owned);
    }
    drop(block, owned);
    CALL(MPI_Type_free(&layout.type));
    CALL(MPI_Type_free(&whole.type));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int kind = 0; kind < KINDS; kind++)
        for (int other = 0; other < KINDS; other++)
            for (int owned = 0; owned < 4; owned++)
                exchange(kind, other, owned & 1, owned >> 1);
    if (check_rank < 2 && check_size > 1)
        for (int kind = 0; kind < KINDS; kind++)
            for (int owned = 0; owned < 2; owned++)
                cut(kind, owned);
    return finish();
}
