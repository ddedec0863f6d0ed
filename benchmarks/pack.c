/*
 * Data with gaps: 70 layouts of 4 KiB to 16 MiB, packed by MPI_Pack and sent with their datatype, beside loops written by hand.
 *
 *     pack memory [NAME_PART [INDEX/PARTS]] [pin=CORE,CORE]      one rank: "pack/NAME", "unpack/NAME", "hand-pack/NAME",
 *                                  "hand-unpack/NAME", "memcpy/NAME" in GB (10^9 bytes of payload) a second
 *     pack messages [NAME_PART [INDEX/PARTS]] [pin=CORE,CORE]    two ranks: half of a round trip in microseconds: "typed/NAME"
 *                                  (datatype on both sides), "packed/NAME" (MPI_Pack, contiguous message, MPI_Unpack),
 *                                  "by-hand/NAME" (the same with hand loops), "row/NAME" (the message alone)
 *     pack typed ...               of these, "typed/NAME" alone
 *
 * INDEX/PARTS: only every PARTS-th layout, from INDEX on, so that a run is short.
 *
 * Prints "kind/NAME bytes value". Layouts: vec_bB_xS = blocks of B doubles, S x B doubles apart; col = a column of a matrix; faceN =
 * a face of a cube of N^3 doubles with the slowest axis (contig), the middle one (rows) or the fastest (single) fixed; idxblk_bB =
 * blocks of B doubles with random gaps of 0 to 3 blocks; indexed_1to8 = 1 to 8 doubles with gaps of 1 to 8; struct_di = a double and
 * an int, 16 bytes apart; hvec_of_vec = 32 blocks of 2 doubles of 4, repeated with a gap.
 *
 * Compile it with -O3 -march=native: the hand loops are then what a compiler makes of them on this machine, with block lengths and
 * strides as constants where a program would know them. Each figure is the best of several short batches; the kinds take turns.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include "measure.h"

enum { BATCHES = 7, LENGTH_OF_NAME = 32 };

static const double BATCH_SECONDS = 3e-4;
/* No further batches of a layout after so long. */
static const double ENOUGH_SECONDS = 0.1;

typedef struct layout layout;
typedef void mover(const layout *l, double *restrict user, char *restrict packed);

struct layout {
    char name[LENGTH_OF_NAME];
    size_t bytes;      /* payload */
    size_t span;       /* doubles of memory */
    size_t count;      /* iterations of the hand loop */
    size_t stride;     /* doubles, where the loop does not know it */
    size_t length;     /* doubles */
    int *at, *lengths; /* lists */
    MPI_Datatype type;
    int elements; /* of the type */
    mover *pack, *unpack;
};

static int rank;
static double *user;
static char *packed, *scratch;

/* A hand loop in both directions: for each block, an offset among the user's doubles, an offset in the packed ones and a length. */
#define HAND(name, iterations, from, to, doubles)                                                                             \
    static void pack_##name(const layout *l, double *restrict user_, char *restrict packed_)                                 \
    {                                                                                                                         \
        double *restrict out = (double *)packed_;                                                                             \
        for (size_t i = 0; i < (iterations); i++)                                                                             \
            for (size_t j = 0; j < (doubles); j++)                                                                            \
                out[(to) + j] = user_[(from) + j];                                                                            \
    }                                                                                                                         \
    static void unpack_##name(const layout *l, double *restrict user_, char *restrict packed_)                               \
    {                                                                                                                         \
        const double *restrict in = (const double *)packed_;                                                                  \
        for (size_t i = 0; i < (iterations); i++)                                                                             \
            for (size_t j = 0; j < (doubles); j++)                                                                            \
                user_[(from) + j] = in[(to) + j];                                                                             \
    }
#define VECTOR(B, S) HAND(b##B##_x##S, l->count, i *(B) * (S), i *(B), B)

VECTOR(1, 2) VECTOR(2, 2) VECTOR(4, 2) VECTOR(8, 2) VECTOR(64, 2)
VECTOR(1, 16) VECTOR(2, 16) VECTOR(4, 16) VECTOR(8, 16) VECTOR(64, 16)
HAND(single, l->count, i *l->stride, i, 1)
HAND(rows, l->count, i *l->stride, i *l->length, l->length)
HAND(list_b1, l->count, (size_t)l->at[i], i, 1)
HAND(list_b8, l->count, (size_t)l->at[i], i * 8, 8)
HAND(nested, l->count * 32, i / 32 * l->stride + i % 32 * 4, i * 2, 2)

static void pack_lengths(const layout *l, double *restrict user_, char *restrict packed_)
{
    double *restrict out = (double *)packed_;
    for (size_t i = 0; i < l->count; i++)
        for (int j = 0; j < l->lengths[i]; j++)
            *out++ = user_[l->at[i] + j];
}

static void unpack_lengths(const layout *l, double *restrict user_, char *restrict packed_)
{
    const double *restrict in = (const double *)packed_;
    for (size_t i = 0; i < l->count; i++)
        for (int j = 0; j < l->lengths[i]; j++)
            user_[l->at[i] + j] = *in++;
}

static void pack_struct(const layout *l, double *restrict user_, char *restrict packed_)
{
    for (size_t i = 0; i < l->count; i++) {
        memcpy(packed_ + 12 * i, user_ + 2 * i, 8);
        memcpy(packed_ + 12 * i + 8, user_ + 2 * i + 1, 4);
    }
}

static void unpack_struct(const layout *l, double *restrict user_, char *restrict packed_)
{
    for (size_t i = 0; i < l->count; i++) {
        memcpy(user_ + 2 * i, packed_ + 12 * i, 8);
        memcpy(user_ + 2 * i + 1, packed_ + 12 * i + 8, 4);
    }
}

/* A generator of our own, so that every library gets the same lists. */
static unsigned below(unsigned limit)
{
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % limit;
}

static layout vector(size_t block, size_t gap, size_t bytes, mover *pack, mover *unpack)
{
    layout l = {.bytes = bytes, .count = bytes / 8 / block, .elements = 1, .pack = pack, .unpack = unpack};
    l.span = l.count * block * gap;
    snprintf(l.name, sizeof l.name, "vec_b%zu_x%zu", block, gap);
    MPI_Type_vector((int)l.count, (int)block, (int)(block * gap), MPI_DOUBLE, &l.type);
    return l;
}

static layout column(size_t side)
{
    layout l = {.bytes = side * 8, .span = side * side, .count = side, .stride = side, .elements = 1, .pack = pack_single, .unpack = unpack_single};
    snprintf(l.name, sizeof l.name, "col_%zusq", side);
    MPI_Type_vector((int)side, 1, (int)side, MPI_DOUBLE, &l.type);
    return l;
}

static layout face(size_t side, int axis)
{
    static const char *const names[] = {"contig", "rows", "single"};
    layout l = {.bytes = side * side * 8, .span = side * side * side, .elements = 1, .pack = pack_rows, .unpack = unpack_rows};
    int n = (int)side, sizes[] = {n, n, n}, parts[] = {n, n, n}, starts[] = {0, 0, 0};
    parts[axis] = 1;
    l.count = axis == 0 ? 1 : axis == 1 ? side : side * side;
    l.length = side * side / l.count;
    l.stride = axis == 1 ? side * side : side;
    if (axis == 0)
        l.span = side * side;
    if (axis == 2) {
        l.pack = pack_single;
        l.unpack = unpack_single;
    }
    snprintf(l.name, sizeof l.name, "face%zu_%s", side, names[axis]);
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &l.type);
    return l;
}

static layout equal_list(size_t block, size_t bytes)
{
    layout l = {.bytes = bytes, .count = bytes / 8 / block, .elements = 1};
    l.pack = block == 1 ? pack_list_b1 : pack_list_b8;
    l.unpack = block == 1 ? unpack_list_b1 : unpack_list_b8;
    l.at = malloc(l.count * sizeof *l.at);
    for (size_t i = 0; i < l.count; i++) {
        l.at[i] = (int)l.span;
        l.span += block * (1 + below(4));
    }
    snprintf(l.name, sizeof l.name, "idxblk_b%zu", block);
    MPI_Type_create_indexed_block((int)l.count, (int)block, l.at, MPI_DOUBLE, &l.type);
    return l;
}

static layout unequal_list(size_t bytes)
{
    layout l = {.bytes = bytes, .elements = 1, .pack = pack_lengths, .unpack = unpack_lengths};
    size_t left = bytes / 8;
    l.at = malloc(left * sizeof *l.at);
    l.lengths = malloc(left * sizeof *l.lengths);
    for (; left > 0; l.count++) {
        size_t length = 1 + below(8);
        length = length < left ? length : left;
        l.at[l.count] = (int)l.span;
        l.lengths[l.count] = (int)length;
        l.span += length + 1 + below(8);
        left -= length;
    }
    snprintf(l.name, sizeof l.name, "indexed_1to8");
    MPI_Type_indexed((int)l.count, l.lengths, l.at, MPI_DOUBLE, &l.type);
    return l;
}

static layout records(size_t bytes)
{
    layout l = {.count = bytes / 12, .elements = (int)(bytes / 12), .pack = pack_struct, .unpack = unpack_struct};
    int lengths[] = {1, 1};
    MPI_Aint at[] = {0, 8};
    MPI_Datatype parts[] = {MPI_DOUBLE, MPI_INT};
    l.bytes = l.count * 12;
    l.span = l.count * 2;
    snprintf(l.name, sizeof l.name, "struct_di");
    MPI_Type_create_struct(2, lengths, at, parts, &l.type);
    return l;
}

static layout nested(size_t bytes)
{
    layout l = {.bytes = bytes, .count = bytes / 512, .stride = 32 * 4 + 8, .elements = 1, .pack = pack_nested, .unpack = unpack_nested};
    MPI_Datatype inner;
    l.span = l.count * l.stride;
    snprintf(l.name, sizeof l.name, "hvec_of_vec");
    MPI_Type_vector(32, 2, 4, MPI_DOUBLE, &inner);
    MPI_Type_create_hvector((int)l.count, 1, (MPI_Aint)l.stride * 8, inner, &l.type);
    MPI_Type_free(&inner);
    return l;
}

static int make_layouts(layout *all)
{
    static const size_t sizes[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20};
    int n = 0;
    for (int s = 0; s < 4; s++) {
        size_t bytes = sizes[s];
#define ADD(B, S) all[n++] = vector(B, S, bytes, pack_b##B##_x##S, unpack_b##B##_x##S)
        ADD(1, 2), ADD(2, 2), ADD(4, 2), ADD(8, 2), ADD(64, 2);
        ADD(1, 16), ADD(2, 16), ADD(4, 16), ADD(8, 16), ADD(64, 16);
        all[n++] = equal_list(1, bytes);
        all[n++] = equal_list(8, bytes);
        all[n++] = unequal_list(bytes);
        all[n++] = records(bytes);
        all[n++] = nested(bytes);
    }
    all[n++] = column(4096);
    for (size_t side = 128; side <= 512; side *= 2)
        for (int axis = 0; axis < 3; axis++)
            all[n++] = face(side, axis);
    return n;
}

/* What is timed. */
enum kind { PACK, UNPACK, HAND_PACK, HAND_UNPACK, MEMCPY, TYPED, PACKED, BY_HAND, ROW, KINDS };

static const char *const kind_names[KINDS] = {"pack", "unpack", "hand-pack", "hand-unpack", "memcpy", "typed", "packed", "by-hand", "row"};

static void mpi_pack(const layout *l)
{
    int position = 0;
    MPI_Pack(user, l->elements, l->type, packed, (int)l->bytes, &position, MPI_COMM_SELF);
}

static void mpi_unpack(const layout *l)
{
    int position = 0;
    MPI_Unpack(packed, (int)l->bytes, &position, user, l->elements, l->type, MPI_COMM_SELF);
}

static void one_way(const layout *l, enum kind kind, int sending)
{
    void *buffer = kind == TYPED ? (void *)user : packed;
    int count = kind == TYPED ? l->elements : (int)l->bytes;
    MPI_Datatype type = kind == TYPED ? l->type : MPI_BYTE;
    if (sending) {
        if (kind == PACKED)
            mpi_pack(l);
        else if (kind == BY_HAND)
            l->pack(l, user, packed);
        MPI_Send(buffer, count, type, 1 - rank, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(buffer, count, type, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (kind == PACKED)
            mpi_unpack(l);
        else if (kind == BY_HAND)
            l->unpack(l, user, packed);
    }
}

static void once(const layout *l, enum kind kind)
{
    switch (kind) {
    case PACK: mpi_pack(l); break;
    case UNPACK: mpi_unpack(l); break;
    case HAND_PACK: l->pack(l, user, packed); break;
    case HAND_UNPACK: l->unpack(l, user, packed); break;
    case MEMCPY: memcpy(scratch, packed, l->bytes); break;
    default:
        one_way(l, kind, rank == 0);
        one_way(l, kind, rank == 1);
    }
    __asm__ volatile("" ::: "memory");
}

static double batch(const layout *l, enum kind kind, int rounds)
{
    if (kind >= TYPED)
        MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime();
    for (int i = 0; i < rounds; i++)
        once(l, kind);
    return (MPI_Wtime() - started) / rounds;
}

/* Rounds that fill a batch, the same on both ranks. */
static int rounds_of(const layout *l, enum kind kind)
{
    int rounds = 1;
    batch(l, kind, 1);
    for (double seconds; rounds < 1 << 20; rounds *= 2) {
        seconds = batch(l, kind, rounds) * rounds;
        if (kind >= TYPED)
            MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (seconds > BATCH_SECONDS)
            break;
    }
    return rounds;
}

static void measure(const layout *l, enum kind first, enum kind end)
{
    double best[KINDS];
    int rounds[KINDS];
    for (int kind = first; kind < (int)end; kind++) {
        best[kind] = 1e9;
        rounds[kind] = rounds_of(l, kind);
    }
    double total = 0;
    for (int i = 0; i < BATCHES && total < ENOUGH_SECONDS; i++) {
        for (int kind = first; kind < (int)end; kind++) {
            double seconds = batch(l, kind, rounds[kind]);
            best[kind] = seconds < best[kind] ? seconds : best[kind];
            total += seconds * rounds[kind];
        }
        if (first >= TYPED)
            MPI_Bcast(&total, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    for (int kind = first; kind < (int)end && rank == 0; kind++)
        printf("%s/%s %zu %.6g\n", kind_names[kind], l->name, l->bytes, kind < TYPED ? l->bytes / best[kind] / 1e9 : best[kind] / 2 * 1e6);
    fflush(stdout);
}

static unsigned long long sum_of(const layout *l)
{
    unsigned long long sum = 0;
    const unsigned long long *words = (const unsigned long long *)user;
    for (size_t i = 0; i < l->span; i++)
        sum += words[i] * (2 * i + 1);
    return sum;
}

static void must(int condition, const layout *l, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s %zu: %s\n", l->name, l->bytes, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void fill(const layout *l)
{
    for (size_t i = 0; i < l->span; i++)
        user[i] = (double)(i * 7 + 1);
}

/* MPI_Pack must answer what the hand loop does; MPI_Unpack must write these bytes and no others. */
static void check_memory(const layout *l)
{
    fill(l);
    unsigned long long before = sum_of(l);
    l->pack(l, user, scratch);
    mpi_pack(l);
    must(!memcmp(packed, scratch, l->bytes), l, "MPI_Pack and the hand loop differ");
    memset(packed, 3, l->bytes);
    mpi_unpack(l);
    memset(packed, 0, l->bytes);
    l->pack(l, user, packed);
    for (size_t i = 0; i < l->bytes; i++)
        must(packed[i] == 3, l, "MPI_Unpack did not write every byte");
    memcpy(packed, scratch, l->bytes);
    mpi_unpack(l);
    must(sum_of(l) == before, l, "MPI_Unpack wrote into a gap");
}

/* What arrives must be what was sent, and nothing else may change. */
static void check_message(const layout *l)
{
    fill(l);
    unsigned long long before = sum_of(l);
    if (rank == 1) {
        memset(packed, 3, l->bytes);
        l->unpack(l, user, packed);
    }
    once(l, TYPED);
    must(sum_of(l) == before, l, "the message arrived damaged");
}

/* Checks and measures the layouts whose names contain a part, in their turn. */
static void measure_all(layout *all, int layouts, const char *what, const char *part, int index, int parts)
{
    int messages = strcmp(what, "memory") != 0, typed = !strcmp(what, "typed");
    for (int i = 0; i < layouts; i++) {
        layout *l = &all[i];
        if (strstr(l->name, part) && i % parts == index) {
            if (messages)
                check_message(l);
            else
                check_memory(l);
            measure(l, messages ? TYPED : PACK, typed ? TYPED + 1 : messages ? KINDS : TYPED);
        }
        MPI_Type_free(&l->type);
    }
}

int main(int argc, char **argv)
{
    static layout all[128];
    const char *cores = placement(&argc, argv);
    int index = 0, parts = 1;
    const char *what = argc > 1 ? argv[1] : "memory", *part = argc > 2 ? argv[2] : "";
    if (argc > 3 && (sscanf(argv[3], "%d/%d", &index, &parts) != 2 || parts < 1)) {
        fprintf(stderr, "pack: INDEX/PARTS, not %s\n", argv[3]);
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pin(cores, rank);
    int layouts = make_layouts(all);
    size_t span = 0, bytes = 0;
    for (int i = 0; i < layouts; i++) {
        MPI_Type_commit(&all[i].type);
        if (strstr(all[i].name, part) && i % parts == index) {
            span = all[i].span > span ? all[i].span : span;
            bytes = all[i].bytes > bytes ? all[i].bytes : bytes;
        }
    }
    user = (double *)block(span * sizeof *user);
    packed = block(bytes);
    scratch = block(bytes);
    measure_all(all, layouts, what, part, index, parts);
    MPI_Finalize();
    return 0;
}
