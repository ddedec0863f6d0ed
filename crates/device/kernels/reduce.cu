/* Kernels that reduce vectors in the memory of a device: inout[n] = input[n] op inout[n], for the
 * predefined operations (MPI 5.0, section 6.9.2) on those predefined types that devices have. One
 * thread combines one pair of elements at a time.
 *
 * Results have the bits that the host computes (`reduce` in the crate `datatype`). Devices lose the
 * bits of a NaN, so it is made of words: that of the left operand if it is NaN, else that of the
 * right one, with the quiet bit set; and one that comes from no NaN as the host's processor makes
 * it. Names end with the size of an element in bytes, or of a part of a complex number. */

#include "dialect.h"

/* A reduction of `count` elements. `nan_sign` is 1 if the sign bit is set in a NaN that the host's
 * processor makes of other numbers. */
typedef struct {
    u64 input, inout, count;
    Completion completion;
    u32 nan_sign, unused;
} Reduction;

/* Defines a kernel: BODY has `left` and `right`, the addresses of two operands of `size` bytes, of
 * which the second is that of the result. */
#define DEFINE_REDUCTION(name, size, BODY)                                                         \
    KERNEL(towpath_reduce_##name, Reduction) {                                                     \
        const Reduction *call = &ARGUMENTS;                                                        \
        const u64 step = STEP, count = call->count;                                                \
        const u32 nan_sign = call->nan_sign;                                                       \
        (void)nan_sign;                                                                            \
        NOT_UNROLLED                                                                               \
        for (u64 n = FIRST; n < count; n += step) {                                                \
            const u64 left = call->input + n * (size), right = call->inout + n * (size);           \
            BODY                                                                                   \
        }                                                                                          \
        END_KERNEL(&call->completion);                                                             \
    }

/* One word of each operand: RESULT is made of `a` and `b`. */
#define DEFINE_OF_WORDS(name, WORD, RESULT)                                                        \
    DEFINE_REDUCTION(name, sizeof(WORD), {                                                         \
        const WORD a = *AT(const WORD, left);                                                      \
        const WORD b = *AT(const WORD, right);                                                     \
        *AT(WORD, right) = (WORD)(RESULT);                                                         \
    })

#define EACH_WORD(DEFINE) DEFINE(1, word1) DEFINE(2, word2) DEFINE(4, word4) DEFINE(8, word8)

/* Sums and products modulo 2^bits: the same for numbers with and without sign. */
#define DEFINE_INTEGERS(size, WORD)                                                                \
    DEFINE_OF_WORDS(sum_int_##size, WORD, (u64)a + b)                                              \
    DEFINE_OF_WORDS(product_int_##size, WORD, (u64)a * b)                                          \
    DEFINE_OF_WORDS(and_##size, WORD, a & b)                                                       \
    DEFINE_OF_WORDS(or_##size, WORD, a | b)                                                        \
    DEFINE_OF_WORDS(xor_##size, WORD, a ^ b)                                                       \
    DEFINE_OF_WORDS(land_##size, WORD, a != 0 && b != 0)                                           \
    DEFINE_OF_WORDS(lor_##size, WORD, a != 0 || b != 0)                                            \
    DEFINE_OF_WORDS(lxor_##size, WORD, (a != 0) != (b != 0))                                       \
    DEFINE_OF_WORDS(min_unsigned_##size, WORD, a < b ? a : b)                                      \
    DEFINE_OF_WORDS(max_unsigned_##size, WORD, a > b ? a : b)                                      \
    DEFINE_OF_WORDS(min_signed_##size, WORD, SIGNED_##size(a) < SIGNED_##size(b) ? a : b)          \
    DEFINE_OF_WORDS(max_signed_##size, WORD, SIGNED_##size(a) > SIGNED_##size(b) ? a : b)
#define SIGNED_1(word) ((signed char)(word))
#define SIGNED_2(word) ((short)(word))
#define SIGNED_4(word) ((int)(word))
#define SIGNED_8(word) ((i64)(word))
EACH_WORD(DEFINE_INTEGERS)

#define SINGLE_INFINITY 0x7f800000u
#define SINGLE_QUIET 0x00400000u
#define SINGLE_SIGN 0x80000000u
#define DOUBLE_INFINITY 0x7ff0000000000000ul
#define DOUBLE_QUIET 0x0008000000000000ul
#define DOUBLE_SIGN 0x8000000000000000ul

/* For numbers of one format, as words:
 *  - is_nan_FORMAT;
 *  - settled_FORMAT, the result of an operation on `a` and `b` that gives `result`;
 *  - plus and times, as the host's processor computes them, and is_less;
 *  - of_products, the sum or difference of two products, in which every NaN has the same bits. */
#define DEFINE_FORMAT(FORMAT, WORD, NUMBER_OF, BITS_OF, INFINITE, QUIET, SIGN)                     \
    FUNCTION int is_nan_##FORMAT(WORD a) { return (a & ~SIGN) > INFINITE; }                        \
    FUNCTION WORD settled_##FORMAT(WORD a, WORD b, WORD result, u32 nan_sign) {                    \
        if (is_nan_##FORMAT(a))                                                                    \
            return a | QUIET;                                                                      \
        if (is_nan_##FORMAT(b))                                                                    \
            return b | QUIET;                                                                      \
        if (is_nan_##FORMAT(result))                                                               \
            return INFINITE | QUIET | (nan_sign ? SIGN : 0);                                       \
        return result;                                                                             \
    }                                                                                              \
    FUNCTION WORD plus_##FORMAT(WORD a, WORD b, u32 nan_sign) {                                    \
        return settled_##FORMAT(a, b, BITS_OF(NUMBER_OF(a) + NUMBER_OF(b)), nan_sign);             \
    }                                                                                              \
    FUNCTION WORD times_##FORMAT(WORD a, WORD b, u32 nan_sign) {                                   \
        return settled_##FORMAT(a, b, BITS_OF(NUMBER_OF(a) * NUMBER_OF(b)), nan_sign);             \
    }                                                                                              \
    FUNCTION int is_less_##FORMAT(WORD a, WORD b) { return NUMBER_OF(a) < NUMBER_OF(b); }          \
    FUNCTION WORD of_products_##FORMAT(WORD a, WORD b, WORD c, WORD d, int add, u32 nan_sign) {    \
        (void)nan_sign;                                                                            \
        const WORD result =                                                                        \
            add ? BITS_OF(NUMBER_OF(a) * NUMBER_OF(b) + NUMBER_OF(c) * NUMBER_OF(d))               \
                : BITS_OF(NUMBER_OF(a) * NUMBER_OF(b) - NUMBER_OF(c) * NUMBER_OF(d));              \
        return is_nan_##FORMAT(result) ? INFINITE | QUIET : result;                                \
    }

DEFINE_FORMAT(single, u32, FLOAT_OF, BITS_OF_FLOAT, SINGLE_INFINITY, SINGLE_QUIET, SINGLE_SIGN)
DEFINE_FORMAT(double, u64, DOUBLE_OF, BITS_OF_DOUBLE, DOUBLE_INFINITY, DOUBLE_QUIET, DOUBLE_SIGN)

/* IEEE binary16 is computed in single precision, which has more than twice the bits and two: the
 * result, rounded again, is correctly rounded. */
#define HALF_AS_SINGLE_TOO_LARGE 0x47800000u
#define HALF_AS_SINGLE_NORMAL 0x38800000u

FUNCTION u32 widened(word2 bits) {
    const u32 sign = (u32)(bits & 0x8000u) << 16, magnitude = (u32)(bits & 0x7fffu) << 13;
    if (magnitude >= 0x7c00u << 13)
        return sign | magnitude | SINGLE_INFINITY;
    if (magnitude < 1u << 23)
        /* A subnormal half is the fraction of a number in [0.5, 1), minus 0.5. */
        return sign | BITS_OF_FLOAT(FLOAT_OF((bits & 0x3ffu) | 0x3f000000u) - 0.5f);
    return sign | (magnitude + (112u << 23));
}

FUNCTION word2 narrowed(u32 single) {
    const u32 sign = single >> 16 & 0x8000u, magnitude = single & 0x7fffffffu;
    if (magnitude > SINGLE_INFINITY)
        return (word2)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= HALF_AS_SINGLE_TOO_LARGE)
        return (word2)(sign | 0x7c00u);
    if (magnitude < HALF_AS_SINGLE_NORMAL)
        /* The last bit of 0.5 weighs as much as that of a subnormal half: the sum is rounded. */
        return (word2)(sign | (BITS_OF_FLOAT(FLOAT_OF(magnitude) + 0.5f) - 0x3f000000u));
    return (word2)(sign | (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1)) >> 13);
}

FUNCTION word2 plus_half(word2 a, word2 b, u32 nan_sign) {
    return narrowed(plus_single(widened(a), widened(b), nan_sign));
}

FUNCTION word2 minus_half(word2 a, word2 b, u32 nan_sign) {
    const u32 wide_a = widened(a), wide_b = widened(b);
    const u32 difference = BITS_OF_FLOAT(FLOAT_OF(wide_a) - FLOAT_OF(wide_b));
    return narrowed(settled_single(wide_a, wide_b, difference, nan_sign));
}

FUNCTION word2 times_half(word2 a, word2 b, u32 nan_sign) {
    return narrowed(times_single(widened(a), widened(b), nan_sign));
}

FUNCTION int is_less_half(word2 a, word2 b) { return is_less_single(widened(a), widened(b)); }

FUNCTION word2 of_products_half(word2 a, word2 b, word2 c, word2 d, int add, u32 nan_sign) {
    const word2 first = times_half(a, b, nan_sign), second = times_half(c, d, nan_sign);
    return add ? plus_half(first, second, nan_sign) : minus_half(first, second, nan_sign);
}

#define DEFINE_NUMBERS(FORMAT, size, WORD)                                                         \
    DEFINE_OF_WORDS(sum_float_##size, WORD, plus_##FORMAT(a, b, nan_sign))                         \
    DEFINE_OF_WORDS(product_float_##size, WORD, times_##FORMAT(a, b, nan_sign))                    \
    DEFINE_OF_WORDS(min_float_##size, WORD, is_less_##FORMAT(a, b) ? a : b)                        \
    DEFINE_OF_WORDS(max_float_##size, WORD, is_less_##FORMAT(b, a) ? a : b)                        \
    DEFINE_REDUCTION(sum_complex_##size, 2 * sizeof(WORD), {                                       \
        const WORD a = *AT(const WORD, left);                                                      \
        const WORD b = *AT(const WORD, left + sizeof(WORD));                                       \
        const WORD c = *AT(const WORD, right);                                                     \
        const WORD d = *AT(const WORD, right + sizeof(WORD));                                      \
        *AT(WORD, right) = plus_##FORMAT(a, c, nan_sign);                                          \
        *AT(WORD, right + sizeof(WORD)) = plus_##FORMAT(b, d, nan_sign);                           \
    })                                                                                             \
    DEFINE_REDUCTION(product_complex_##size, 2 * sizeof(WORD), {                                   \
        const WORD a = *AT(const WORD, left);                                                      \
        const WORD b = *AT(const WORD, left + sizeof(WORD));                                       \
        const WORD c = *AT(const WORD, right);                                                     \
        const WORD d = *AT(const WORD, right + sizeof(WORD));                                      \
        *AT(WORD, right) = of_products_##FORMAT(a, c, b, d, 0, nan_sign);                          \
        *AT(WORD, right + sizeof(WORD)) = of_products_##FORMAT(a, d, b, c, 1, nan_sign);           \
    })

DEFINE_NUMBERS(half, 2, word2)
DEFINE_NUMBERS(single, 4, word4)
DEFINE_NUMBERS(double, 8, word8)

/* Values with an index behind them, `place` bytes from the value: the lower or higher value wins,
 * of equal ones that with the lower index. */
#define DEFINE_LOCATION(name, VALUE, INDEX, place, size, WINS)                                     \
    DEFINE_REDUCTION(name, size, {                                                                 \
        const VALUE a = *AT(const VALUE, left);                                                    \
        const VALUE b = *AT(const VALUE, right);                                                   \
        const INDEX i = *AT(const INDEX, left + place);                                            \
        const INDEX j = *AT(const INDEX, right + place);                                           \
        if (a WINS b || (a == b && i < j)) {                                                       \
            *AT(VALUE, right) = a;                                                                 \
            *AT(INDEX, right + place) = i;                                                         \
        }                                                                                          \
    })
#define DEFINE_LOCATIONS(name, VALUE, INDEX, place, size)                                          \
    DEFINE_LOCATION(minloc_##name, VALUE, INDEX, place, size, <)                                   \
    DEFINE_LOCATION(maxloc_##name, VALUE, INDEX, place, size, >)

DEFINE_LOCATIONS(float_int, float, int, 4, 8)
DEFINE_LOCATIONS(double_int, double, int, 8, 16)
DEFINE_LOCATIONS(long_int, i64, int, 8, 16)
DEFINE_LOCATIONS(int_int, int, int, 4, 8)
DEFINE_LOCATIONS(short_int, short, int, 4, 8)
DEFINE_LOCATIONS(float_float, float, float, 4, 8)
DEFINE_LOCATIONS(double_double, double, double, 8, 16)
