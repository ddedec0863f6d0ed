/*
 * The predefined datatypes as C types, with a naive model of the predefined operations on them. MPI 5.0, 6.9.2 and 6.9.4
 *
 * Values are small whole numbers, so that sums are exact in every format and every order of combination gives the same bits:
 * a test that compares exactly is right for any algorithm.
 */
#ifndef TOWPATH_TESTS_NUMBERS_H
#define TOWPATH_TESTS_NUMBERS_H

#include "../check.h"
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum operation { SUM, PRODUCT, MAXIMUM, MINIMUM, LAND, LOR, LXOR, BAND, BOR, BXOR, MINLOC, MAXLOC, OPERATIONS };

static const char *const operation_names[] = {"MPI_SUM", "MPI_PROD", "MPI_MAX", "MPI_MIN",  "MPI_LAND",   "MPI_LOR",
                                              "MPI_LXOR", "MPI_BAND", "MPI_BOR", "MPI_BXOR", "MPI_MINLOC", "MPI_MAXLOC"};

__attribute__((unused)) static MPI_Op operation_handle(enum operation operation)
{
    const MPI_Op handles[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    return handles[operation];
}

enum group { C_INTEGER, FORTRAN_INTEGER, MULTI_LANGUAGE, FLOATING, LOGICAL, COMPLEX, BYTES, PAIR };

/* Whether the standard allows the operation on the group of types. */
__attribute__((unused)) static bool allowed(enum operation operation, enum group group)
{
    bool integer = group == C_INTEGER || group == FORTRAN_INTEGER || group == MULTI_LANGUAGE;
    switch (operation) {
    case MAXIMUM:
    case MINIMUM:
        return integer || group == FLOATING;
    case SUM:
    case PRODUCT:
        return integer || group == FLOATING || group == COMPLEX;
    case LAND:
    case LOR:
    case LXOR:
        return group == C_INTEGER || group == LOGICAL;
    case BAND:
    case BOR:
    case BXOR:
        return integer || group == BYTES;
    default:
        return group == PAIR;
    }
}

struct number {
    const char *name;
    MPI_Datatype type;
    enum group group;
    size_t size; /* of the C type */
    void (*set)(void *place, long value, long index);
    void (*combine)(enum operation operation, const void *in, void *inout);
    bool (*same)(const void *left, const void *right);
};

#define SET_AND_SAME(name, T)                                                                                                          \
    static void set_##name(void *place, long value, long index)                                                                        \
    {                                                                                                                                  \
        (void)index;                                                                                                                   \
        *(T *)place = (T)value;                                                                                                        \
    }                                                                                                                                  \
    static bool same_##name(const void *left, const void *right)                                                                       \
    {                                                                                                                                  \
        return *(const T *)left == *(const T *)right;                                                                                  \
    }

#define INTEGER(name, T)                                                                                                               \
    SET_AND_SAME(name, T)                                                                                                              \
    static void combine_##name(enum operation operation, const void *in, void *inout)                                                  \
    {                                                                                                                                  \
        T a = *(const T *)in, b = *(T *)inout, *to = inout;                                                                            \
        switch (operation) {                                                                                                           \
        case SUM: *to = (T)((uint64_t)a + (uint64_t)b); break;                                                                         \
        case PRODUCT: *to = (T)((uint64_t)a * (uint64_t)b); break;                                                                     \
        case MAXIMUM: *to = a > b ? a : b; break;                                                                                      \
        case MINIMUM: *to = a < b ? a : b; break;                                                                                      \
        case LAND: *to = a && b; break;                                                                                                \
        case LOR: *to = a || b; break;                                                                                                 \
        case LXOR: *to = !a != !b; break;                                                                                              \
        case BAND: *to = a & b; break;                                                                                                 \
        case BOR: *to = a | b; break;                                                                                                  \
        case BXOR: *to = a ^ b; break;                                                                                                 \
        default: break;                                                                                                                \
        }                                                                                                                              \
    }

#define FLOAT(name, T)                                                                                                                 \
    SET_AND_SAME(name, T)                                                                                                              \
    static void combine_##name(enum operation operation, const void *in, void *inout)                                                  \
    {                                                                                                                                  \
        T a = *(const T *)in, b = *(T *)inout, *to = inout;                                                                            \
        switch (operation) {                                                                                                           \
        case SUM: *to = a + b; break;                                                                                                  \
        case PRODUCT: *to = a * b; break;                                                                                              \
        case MAXIMUM: *to = a > b ? a : b; break;                                                                                      \
        case MINIMUM: *to = a < b ? a : b; break;                                                                                      \
        default: break;                                                                                                                \
        }                                                                                                                              \
    }

#define COMPLEX_NUMBER(name, T)                                                                                                        \
    static void set_##name(void *place, long value, long index)                                                                        \
    {                                                                                                                                  \
        ((T *)place)[0] = (T)value;                                                                                                    \
        ((T *)place)[1] = (T)(index % 3 - 1);                                                                                          \
    }                                                                                                                                  \
    static bool same_##name(const void *left, const void *right)                                                                       \
    {                                                                                                                                  \
        const T *a = left, *b = right;                                                                                                 \
        return a[0] == b[0] && a[1] == b[1];                                                                                           \
    }                                                                                                                                  \
    static void combine_##name(enum operation operation, const void *in, void *inout)                                                  \
    {                                                                                                                                  \
        const T *a = in;                                                                                                               \
        T *b = inout, real = b[0], imaginary = b[1];                                                                                   \
        b[0] = operation == SUM ? a[0] + real : a[0] * real - a[1] * imaginary;                                                        \
        b[1] = operation == SUM ? a[1] + imaginary : a[0] * imaginary + a[1] * real;                                                   \
    }

#define LOCATED(name, V, I)                                                                                                            \
    struct name {                                                                                                                      \
        V value;                                                                                                                       \
        I index;                                                                                                                       \
    };                                                                                                                                 \
    static void set_##name(void *place, long value, long index)                                                                        \
    {                                                                                                                                  \
        ((struct name *)place)->value = (V)value;                                                                                      \
        ((struct name *)place)->index = (I)index;                                                                                      \
    }                                                                                                                                  \
    static bool same_##name(const void *left, const void *right)                                                                       \
    {                                                                                                                                  \
        const struct name *a = left, *b = right;                                                                                       \
        return a->value == b->value && a->index == b->index;                                                                           \
    }                                                                                                                                  \
    static void combine_##name(enum operation operation, const void *in, void *inout)                                                  \
    {                                                                                                                                  \
        const struct name *a = in;                                                                                                     \
        struct name *b = inout;                                                                                                        \
        bool wins = operation == MINLOC ? a->value < b->value : a->value > b->value;                                                   \
        if (wins || (a->value == b->value && a->index < b->index))                                                                     \
            *b = *a;                                                                                                                   \
    }

INTEGER(i8, int8_t)
INTEGER(u8, uint8_t)
INTEGER(i16, int16_t)
INTEGER(u16, uint16_t)
INTEGER(i32, int32_t)
INTEGER(u32, uint32_t)
INTEGER(i64, int64_t)
INTEGER(u64, uint64_t)
FLOAT(f32, float)
FLOAT(f64, double)
FLOAT(f80, long double)
COMPLEX_NUMBER(c32, float)
COMPLEX_NUMBER(c64, double)
COMPLEX_NUMBER(c80, long double)
LOCATED(float_int, float, int)
LOCATED(double_int, double, int)
LOCATED(long_int, long, int)
LOCATED(int_int, int, int)
LOCATED(short_int, short, int)
LOCATED(long_double_int, long double, int)
LOCATED(float_float, float, float)
LOCATED(double_double, double, double)

#define NUMBER(type, group, name, T) {#type, type, group, sizeof(T), set_##name, combine_##name, same_##name}

static struct number numbers[80];
static int number_count;

/* Lists the types that the library has. */
__attribute__((unused)) static void numbers_make(void)
{
    const struct number all[] = {
        NUMBER(MPI_INT, C_INTEGER, i32, int), NUMBER(MPI_LONG, C_INTEGER, i64, long), NUMBER(MPI_SHORT, C_INTEGER, i16, short),
        NUMBER(MPI_UNSIGNED_SHORT, C_INTEGER, u16, short), NUMBER(MPI_UNSIGNED, C_INTEGER, u32, unsigned),
        NUMBER(MPI_UNSIGNED_LONG, C_INTEGER, u64, unsigned long), NUMBER(MPI_LONG_LONG_INT, C_INTEGER, i64, long long),
        NUMBER(MPI_UNSIGNED_LONG_LONG, C_INTEGER, u64, long long), NUMBER(MPI_SIGNED_CHAR, C_INTEGER, i8, char),
        NUMBER(MPI_UNSIGNED_CHAR, C_INTEGER, u8, char), NUMBER(MPI_INT8_T, C_INTEGER, i8, int8_t), NUMBER(MPI_INT16_T, C_INTEGER, i16, int16_t),
        NUMBER(MPI_INT32_T, C_INTEGER, i32, int32_t), NUMBER(MPI_INT64_T, C_INTEGER, i64, int64_t), NUMBER(MPI_UINT8_T, C_INTEGER, u8, int8_t),
        NUMBER(MPI_UINT16_T, C_INTEGER, u16, int16_t), NUMBER(MPI_UINT32_T, C_INTEGER, u32, int32_t), NUMBER(MPI_UINT64_T, C_INTEGER, u64, int64_t),
        NUMBER(MPI_AINT, MULTI_LANGUAGE, i64, MPI_Aint), NUMBER(MPI_OFFSET, MULTI_LANGUAGE, i64, MPI_Offset),
        NUMBER(MPI_COUNT, MULTI_LANGUAGE, i64, MPI_Count), NUMBER(MPI_INTEGER, FORTRAN_INTEGER, i32, int),
        NUMBER(MPI_INTEGER1, FORTRAN_INTEGER, i8, int8_t), NUMBER(MPI_INTEGER2, FORTRAN_INTEGER, i16, int16_t),
        NUMBER(MPI_INTEGER4, FORTRAN_INTEGER, i32, int32_t), NUMBER(MPI_INTEGER8, FORTRAN_INTEGER, i64, int64_t), NUMBER(MPI_FLOAT, FLOATING, f32, float),
        NUMBER(MPI_DOUBLE, FLOATING, f64, double), NUMBER(MPI_LONG_DOUBLE, FLOATING, f80, long double), NUMBER(MPI_REAL, FLOATING, f32, float),
        NUMBER(MPI_DOUBLE_PRECISION, FLOATING, f64, double), NUMBER(MPI_REAL4, FLOATING, f32, float), NUMBER(MPI_REAL8, FLOATING, f64, double),
        NUMBER(MPI_C_BOOL, LOGICAL, u8, bool), NUMBER(MPI_LOGICAL, LOGICAL, i32, int), NUMBER(MPI_C_FLOAT_COMPLEX, COMPLEX, c32, float[2]),
        NUMBER(MPI_C_DOUBLE_COMPLEX, COMPLEX, c64, double[2]), NUMBER(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, c80, long double[2]),
        NUMBER(MPI_COMPLEX, COMPLEX, c32, float[2]), NUMBER(MPI_DOUBLE_COMPLEX, COMPLEX, c64, double[2]), NUMBER(MPI_COMPLEX8, COMPLEX, c32, float[2]),
        NUMBER(MPI_COMPLEX16, COMPLEX, c64, double[2]), NUMBER(MPI_BYTE, BYTES, u8, char), NUMBER(MPI_FLOAT_INT, PAIR, float_int, struct float_int),
        NUMBER(MPI_DOUBLE_INT, PAIR, double_int, struct double_int), NUMBER(MPI_LONG_INT, PAIR, long_int, struct long_int),
        NUMBER(MPI_2INT, PAIR, int_int, struct int_int), NUMBER(MPI_SHORT_INT, PAIR, short_int, struct short_int),
        NUMBER(MPI_LONG_DOUBLE_INT, PAIR, long_double_int, struct long_double_int), NUMBER(MPI_2REAL, PAIR, float_float, struct float_float),
        NUMBER(MPI_2DOUBLE_PRECISION, PAIR, double_double, struct double_double), NUMBER(MPI_2INTEGER, PAIR, int_int, struct int_int),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].type != MPI_DATATYPE_NULL)
            numbers[number_count++] = all[i];
}

/* What element `index` is on `rank`: small, sometimes negative, sometimes zero, with many equal values for the locations. */
__attribute__((unused)) static void number_set(const struct number *number, enum operation operation, void *place, int rank, long index, unsigned stream)
{
    unsigned x = (unsigned)rank * 2654435761u + (unsigned)index * 40503u + stream * 2246822519u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    long value = (long)(x % 11) - 4;
    if (operation == PRODUCT)
        value = x % 3 ? 1 : rank < 5 ? 2 : -1;
    else if (operation >= LAND && operation <= LXOR)
        value = x % 4 ? (long)(x % 5) : 0;
    else if (operation >= BAND && operation <= BXOR)
        value = (long)(x >> 8 & 127);
    if (number->group == LOGICAL)
        value = value != 0;
    memset(place, 0, number->size);
    number->set(place, value, operation == PRODUCT ? 1 : (long)(x >> 4 & 7) + rank);
}

#endif
