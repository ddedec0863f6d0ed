/*
 * MPI_Reduce_local and MPI_Allreduce on device memory for predefined types and operations, and for
 * an operation of the program, which finds host memory; bitwise the same as on host memory, also
 * for infinities and NaN.
 */
#include "memory.h"

#include <limits.h>

enum { MOST = 70000 };

static MPI_Op own;

typedef struct {
    MPI_Datatype type;
    const char *kind;
} Kind;

/* Bits of `kind`: i integer, f floating point, l logical, c complex, p pair, b byte. */
static bool fits(const char *kind, int op)
{
    switch (op) {
    case 0:
    case 1:
        return strchr("ifc", *kind);
    case 2:
    case 3:
        return strchr("if", *kind);
    case 4:
    case 5:
    case 6:
        return strchr("il", *kind);
    case 7:
    case 8:
    case 9:
        return strchr("ib", *kind);
    default:
        return *kind == 'p';
    }
}

/* Special numbers of a format: zero, infinity, NaN with and without the quiet bit, the smallest
 * normal number and the smallest one. */
static uint64_t special(int which, uint64_t infinity, uint64_t normal)
{
    const uint64_t words[] = {0, infinity, infinity | normal / 2 | 5, infinity | 3, normal, 1};
    return words[which % 6];
}

/* Every third element of a buffer of numbers of 2, 4 or 8 bytes becomes a special one. */
static void fill_specials(unsigned char *bytes, int numbers, int size, int seed)
{
    for (int i = seed % 3; i < numbers; i += 3) {
        int choice = pattern_byte(i, seed + 9);
        uint64_t word = size == 2   ? special(choice, 0x7c00, 0x0400)
                        : size == 4 ? special(choice, 0x7f800000, 0x00800000)
                                    : special(choice, 0x7ff0000000000000, 0x0010000000000000);
        word |= (uint64_t)(choice >> 7) << (8 * size - 1);
        memcpy(bytes + (size_t)i * size, &word, size);
    }
}

/* Small numbers, so that the bytes are valid of every type and no sum overflows; in buffers of
 * floating-point numbers some special ones. */
static void fill(unsigned char *bytes, int elements, MPI_Datatype type, const char *kind, int seed)
{
    int size;
    MPI_Aint lower, extent;
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lower, &extent);
    memset(bytes, 0, elements * extent);
    for (int i = 0; i < elements; i++) {
        int number = (int)(pattern_byte(i, seed) % 7);
        void *at = bytes + i * extent;
        if (*kind == 'f' && size == 2)
            *(uint16_t *)at = (uint16_t)(0x3c00 + 37 * number);
        else if (*kind == 'f' && size == 4)
            *(float *)at = (float)number / 3;
        else if (*kind == 'f' && size == 8)
            *(double *)at = (double)number / 3;
        else if (*kind == 'f')
            *(long double *)at = (long double)number / 3;
        else if (*kind == 'c' && size == 8)
            ((float *)at)[0] = (float)number / 3, ((float *)at)[1] = (float)number / 7;
        else if (*kind == 'c')
            ((double *)at)[0] = number / 3.0, ((double *)at)[1] = number / 7.0;
        else if (*kind == 'p')
            *(double *)at = number, *(int *)((char *)at + 8) = i % 5;
        else if (*kind == 'l')
            *(unsigned char *)at = number % 2;
        else
            *(unsigned char *)at = (unsigned char)number;
    }
    if (*kind == 'f' && size <= 8)
        fill_specials(bytes, elements, size, seed);
    if (*kind == 'c')
        fill_specials(bytes, 2 * elements, size / 2, seed);
}

static void reduced(const Kind *kind, MPI_Op op, int elements, bool from_device, bool to_device)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(kind->type, &lower, &extent);
    size_t size = (size_t)(elements * extent);
    unsigned char *in = malloc(size), *expected = malloc(size);
    Memory from = memory_of(from_device, size), to = memory_of(to_device, size);
    bool on_device = from_device && to_device;
    /* All but the program's operation, and long double, which devices lack. */
    unsigned by_kernel = op != own && kind->type != MPI_LONG_DOUBLE;
    fill(in, elements, kind->type, kind->kind, 1 + check_rank);
    fill(expected, elements, kind->type, kind->kind, 2);
    write_memory(from, in);
    write_memory(to, expected);
    unsigned long before = towpath_stub_calls("cuLaunchKernel");
    CALL(MPI_Reduce_local(from.bytes, to.bytes, elements, kind->type, op));
    unsigned long launches = towpath_stub_calls("cuLaunchKernel") - before;
    CHECK(!on_device || launches == by_kernel, "%lu kernels", launches);
    MPI_Reduce_local(in, expected, elements, kind->type, op);
    CHECK(holds(to, expected), "MPI_Reduce_local is wrong");
    CALL(MPI_Allreduce(from.bytes, to.bytes, elements, kind->type, op, MPI_COMM_WORLD));
    MPI_Allreduce(in, expected, elements, kind->type, op, MPI_COMM_WORLD);
    CHECK(holds(to, expected), "MPI_Allreduce is wrong");
    free(in);
    free(expected);
    free_memory(from);
    free_memory(to);
}

static void own_sum(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void all_of(const Kind *kind, const MPI_Op *ops, int operations)
{
    for (int op = 0; op < operations; op++) {
        if (op < 12 ? !fits(kind->kind, op) : *kind->kind != 'i' || kind->type != MPI_INT)
            continue;
        for (int spaces = 1; spaces < 4; spaces++) {
            int failures = check_failures;
            reduced(kind, ops[op], spaces * 3, spaces & 1, spaces & 2);
            CHECK(check_failures == failures, "kind %s, operation %d, spaces %d", kind->kind, op,
                  spaces);
        }
        reduced(kind, ops[op], MOST, true, true);
    }
}

int main(int count, char **words)
{
    start(&count, &words);
    start_device(check_rank);
    MPI_Op_create(own_sum, 1, &own);
    const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MIN,  MPI_MAX,    MPI_LAND,   MPI_LOR, MPI_LXOR,
                          MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, own};
    const Kind kinds[] = {
        {MPI_SIGNED_CHAR, "i"},
        {MPI_UNSIGNED_CHAR, "i"},
        {MPI_SHORT, "i"},
        {MPI_INT, "i"},
        {MPI_UNSIGNED, "i"},
        {MPI_LONG, "i"},
        {MPI_UINT64_T, "i"},
        {MPI_AINT, "i"},
        {MPI_REAL2, "f"},
        {MPI_FLOAT, "f"},
        {MPI_DOUBLE, "f"},
        {MPI_LONG_DOUBLE, "f"},
        {MPI_C_BOOL, "l"},
        {MPI_C_FLOAT_COMPLEX, "c"},
        {MPI_C_DOUBLE_COMPLEX, "c"},
        {MPI_DOUBLE_INT, "p"},
        {MPI_BYTE, "b"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        all_of(&kinds[i], ops, sizeof ops / sizeof *ops);
    MPI_Op_free(&own);
    return finish();
}
