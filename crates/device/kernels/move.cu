/* Kernels that move the bytes of a message from one layout to another: pack, unpack, and strided
 * to strided.
 *
 * One thread moves one word at a time. It computes the place of word `n` of the packed message in
 * both layouts, so no thread depends on another one. The largest word that divides all lengths,
 * offsets, strides and addresses of both layouts is used. There is a kernel for each size; that for
 * long messages, which divides much more slowly, and that for several messages take any.
 *
 * The structures are those of `kernel.rs`: a test compares their sizes. */

#include "dialect.h"

/* Division of numbers below 2^31 by a constant: n / divisor = HIGH(n, multiplier) >> shift, or n if
 * the multiplier is 0 (Granlund and Montgomery 1994). */
typedef struct {
    u32 divisor, multiplier, shift, unused;
} Divisor;

/* A strided loop. */
typedef struct {
    Divisor count;
    i64 stride;
} Loop;

/* Where the words of a message are. From the inside outwards:
 *  - without lists, blocks of `block` words;
 *  - with `offsets` only, `entries` blocks of `block` words at these offsets;
 *  - with `starts` too, blocks of unequal length: `block` is the words of all of them, and entry e
 *    starts at packed byte starts[e];
 * repeated by `depth` loops, the innermost first. Offsets and strides are in bytes, of which a word
 * has `word`. */
typedef struct {
    u64 base, offsets, starts;
    u32 depth, word;
    Divisor block, entries;
    Loop loops[6];
} Layout;

/* Moves words first ... first + words of a message. */
typedef struct {
    Layout from, to;
    u64 first, words;
    Completion completion;
} Move;

FUNCTION u32 divided(u32 n, Divisor by) {
    return by.multiplier ? HIGH(n, by.multiplier) >> by.shift : n;
}

FUNCTION u64 divided_wide(u64 n, Divisor by) { return n / by.divisor; }

/* The last entry that starts at or before packed byte n. */
FUNCTION u32 entry_of(u64 starts, u32 entries, u64 n) {
    u32 low = 0, high = entries;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (AT(const u64, starts)[middle] <= n)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Defines `name`, the address of word n of a layout, with numbers of type INDEX. */
#define DEFINE_ADDRESS(name, INDEX, DIVIDED)                                                       \
    FUNCTION u64 name(const Layout *layout, INDEX n, u32 size) {                                   \
        INDEX rest = DIVIDED(n, layout->block);                                                    \
        INDEX within = n - rest * layout->block.divisor;                                           \
        u64 address = layout->base;                                                                \
        if (layout->starts) {                                                                      \
            u64 byte = (u64)within * size;                                                         \
            u32 entry = entry_of(layout->starts, layout->entries.divisor, byte);                   \
            address += AT(const i64, layout->offsets)[entry];                                      \
            address -= AT(const u64, layout->starts)[entry];                                       \
        } else if (layout->offsets) {                                                              \
            INDEX list = DIVIDED(rest, layout->entries);                                           \
            address += AT(const i64, layout->offsets)[rest - list * layout->entries.divisor];      \
            rest = list;                                                                           \
        }                                                                                          \
        if (layout->depth == 0)                                                                    \
            return address + (u64)within * size;                                                   \
        u32 last = layout->depth - 1;                                                              \
        NOT_UNROLLED                                                                               \
        for (u32 level = 0; level < last; level++) {                                               \
            INDEX outer = DIVIDED(rest, layout->loops[level].count);                               \
            INDEX step = rest - outer * layout->loops[level].count.divisor;                        \
            address += (u64)((i64)step * layout->loops[level].stride);                             \
            rest = outer;                                                                          \
        }                                                                                          \
        address += (u64)((i64)rest * layout->loops[last].stride);                                  \
        return address + (u64)within * size;                                                       \
    }

DEFINE_ADDRESS(address_of, u32, divided)
DEFINE_ADDRESS(address_of_wide, u64, divided_wide)

#define DEFINE_MOVE(name, WORD, INDEX, ADDRESS)                                                    \
    KERNEL(name, Move) {                                                                           \
        const Move *move = &ARGUMENTS;                                                             \
        INDEX end = (INDEX)(move->first + move->words), step = STEP;                               \
        NOT_UNROLLED                                                                               \
        for (INDEX n = (INDEX)move->first + FIRST; n < end; n += step)                             \
            *AT(WORD, ADDRESS(&move->to, n, sizeof(WORD))) =                                       \
                *AT(const WORD, ADDRESS(&move->from, n, sizeof(WORD)));                            \
        END_KERNEL(&move->completion);                                                             \
    }

/* For messages of fewer than 2^31 words. */
DEFINE_MOVE(towpath_move_1, word1, u32, address_of)
DEFINE_MOVE(towpath_move_2, word2, u32, address_of)
DEFINE_MOVE(towpath_move_4, word4, u32, address_of)
DEFINE_MOVE(towpath_move_8, word8, u32, address_of)
DEFINE_MOVE(towpath_move_16, word16, u32, address_of)

FUNCTION void move_word(u64 to, u64 from, u32 size) {
    switch (size) {
    case 1:
        *AT(word1, to) = *AT(const word1, from);
        break;
    case 2:
        *AT(word2, to) = *AT(const word2, from);
        break;
    case 4:
        *AT(word4, to) = *AT(const word4, from);
        break;
    case 8:
        *AT(word8, to) = *AT(const word8, from);
        break;
    default:
        *AT(word16, to) = *AT(const word16, from);
    }
}

/* Moves words of any size by thread number `thread` of so many. */
#define MOVE_WORDS(move, INDEX, ADDRESS, thread, threads)                                          \
    do {                                                                                           \
        INDEX end = (INDEX)((move)->first + (move)->words), step = threads;                        \
        u32 size = (move)->to.word;                                                                \
        NOT_UNROLLED                                                                               \
        for (INDEX n = (INDEX)(move)->first + (thread); n < end; n += step)                        \
            move_word(ADDRESS(&(move)->to, n, size), ADDRESS(&(move)->from, n, size), size);       \
    } while (0)

/* For longer ones. */
KERNEL(towpath_move_wide, Move) {
    const Move *move = &ARGUMENTS;
    MOVE_WORDS(move, u64, address_of_wide, FIRST, STEP);
    END_KERNEL(&move->completion);
}

/* Moves that one launch makes: of the threads, whole blocks from number starts[i] to starts[i + 1]
 * make moves[i]. Each announces its own end. */
typedef struct {
    u32 count, starts[9];
    Move moves[8];
} Moves;

/* For messages of fewer than 2^31 words each. */
KERNEL(towpath_move_many, Moves) {
    const Moves *moves = &ARGUMENTS;
    u32 i = 0;
    NOT_UNROLLED
    while (i + 1 < moves->count && FIRST >= moves->starts[i + 1])
        i++;
    const Move *move = &moves->moves[i];
    u32 start = moves->starts[i], own = moves->starts[i + 1] - start;
    MOVE_WORDS(move, u32, address_of, FIRST - start, own);
    END_BLOCKS(&move->completion, BLOCKS_OF(own));
}
