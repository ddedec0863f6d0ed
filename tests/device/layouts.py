"""Random layouts of messages, as the kernels of crates/device/kernels/move.cu take them, and where
their words are by a plain enumeration.

The enumeration shares nothing with the kernels: it walks blocks and loops instead of dividing.
"""

import ctypes
import random

MOST_LOOPS = 6
WORDS = (1, 2, 4, 8, 16)
# Blocks of a dense message are at most this long; see LONGEST_BLOCK of crates/device.
LONGEST_BLOCK = 1 << 30
NARROW = 1 << 31


class Divisor(ctypes.Structure):
    """Division of numbers below 2^31: the high half of a product, shifted; by 1 if it is 0."""

    _fields_ = [(name, ctypes.c_uint32) for name in ("divisor", "multiplier", "shift", "unused")]

    @classmethod
    def of(cls, divisor):
        if divisor == 1:
            return cls(1, 0, 0, 0)
        bits = (divisor - 1).bit_length()
        return cls(divisor, -(-(1 << (31 + bits)) // divisor), bits - 1, 0)


class Loop(ctypes.Structure):
    _fields_ = [("count", Divisor), ("stride", ctypes.c_int64)]


class Layout(ctypes.Structure):
    _fields_ = [("base", ctypes.c_uint64), ("offsets", ctypes.c_uint64),
                ("starts", ctypes.c_uint64), ("depth", ctypes.c_uint32),
                ("word", ctypes.c_uint32), ("block", Divisor), ("entries", Divisor),
                ("loops", Loop * MOST_LOOPS)]


class Completion(ctypes.Structure):
    """Where a kernel announces its end; nowhere if the flag is 0."""

    _fields_ = [("flag", ctypes.c_uint64), ("count", ctypes.c_uint64),
                ("value", ctypes.c_uint32), ("unused", ctypes.c_uint32)]


class Move(ctypes.Structure):
    _fields_ = [("from_", Layout), ("to", Layout), ("first", ctypes.c_uint64),
                ("words", ctypes.c_uint64), ("completion", Completion)]


MOST_MOVES = 8


class Moves(ctypes.Structure):
    """Moves that one launch makes, each by threads of its own."""

    _fields_ = [("count", ctypes.c_uint32), ("starts", ctypes.c_uint32 * (MOST_MOVES + 1)),
                ("moves", Move * MOST_MOVES)]


class Shape:
    """One side of a message: blocks at offsets, repeated by loops, innermost first. Lengths are in
    words, offsets and strides in bytes; `lists` says whether the offsets are a list."""

    def __init__(self, word, blocks, loops, lists):
        self.word, self.blocks, self.loops, self.lists = word, blocks, loops, lists
        self.equal = len({length for _, length in blocks}) == 1

    def offsets(self):
        """The offset of each word, in the order of the message."""
        inner = [offset + self.word * n for offset, length in self.blocks for n in range(length)]
        for count, stride in self.loops:
            inner = [step * stride + offset for step in range(count) for offset in inner]
        return inner

    def tables(self):
        """The lists that the kernels read: offsets, and packed bytes before each block."""
        starts, before = [], 0
        for _, length in self.blocks:
            starts.append(before * self.word)
            before += length
        return [offset for offset, _ in self.blocks], starts

    def layout(self, base, offsets, starts):
        """The kernel's structure; the addresses are those of the buffer and of both tables."""
        result = Layout(base=base, depth=len(self.loops), word=self.word,
                        entries=Divisor.of(len(self.blocks)))
        if self.lists:
            result.offsets = offsets
            result.starts = 0 if self.equal else starts
        else:
            result.base = (base + self.blocks[0][0]) % (1 << 64)
        words = sum(length for _, length in self.blocks)
        result.block = Divisor.of(self.blocks[0][1] if self.equal or not self.lists else words)
        for level, (count, stride) in enumerate(self.loops):
            result.loops[level] = Loop(Divisor.of(count), stride)
        return result


def grouped(factors, parts, draw):
    """The products of the factors, dealt out to that many parts at random."""
    products = [1] * parts
    for factor in factors:
        products[draw.randrange(parts)] *= factor
    return products


def blocks_of(word, kind, length, entries, draw):
    """Blocks in a list, in any order, no two of which overlap; and the bytes that they span."""
    if kind == "nest":
        return [(0, length)], word * length
    lengths = [length] * entries
    if kind == "unequal":
        # Words move from one block to another; an empty block does not occur in plans.
        for _ in range(2 * entries):
            one, other = draw.randrange(entries), draw.randrange(entries)
            if lengths[one] > 1:
                lengths[one] -= 1
                lengths[other] += 1
    places, at = [None] * entries, 0
    for entry in draw.sample(range(entries), entries):
        at += word * draw.randrange(3)
        places[entry] = (at, lengths[entry])
        at += word * lengths[entry]
    return places, at


def shape(word, kind, factors, draw):
    """A shape without overlaps; the product of the factors is its number of words."""
    depth = draw.randrange(MOST_LOOPS + 1)
    length, entries, *counts = grouped(factors, 2 + depth, draw)
    if kind == "nest":
        length *= entries
    blocks, extent = blocks_of(word, kind, length, entries, draw)
    # Any level may have the largest stride, as in a transposition; some run backwards.
    strides = [0] * depth
    for level in draw.sample(range(depth), depth):
        strides[level] = extent + word * draw.randrange(3)
        extent += strides[level] * (counts[level] - 1)
        if draw.randrange(4) == 0:
            strides[level] = -strides[level]
    return Shape(word, blocks, list(zip(counts, strides)), kind != "nest")


class Case:
    """A message from one shape to another one, or a part of it."""

    def __init__(self, name, word, wide, from_, to, first, words):
        self.name, self.word, self.wide = name, word, wide
        self.from_, self.to, self.first, self.words = from_, to, first, words
        self.kernel = f"towpath_move_{'wide' if wide else word}"

    def places(self):
        """For each word that is moved, its offsets on both sides."""
        part = slice(self.first, self.first + self.words)
        return list(zip(self.from_.offsets()[part], self.to.offsets()[part]))


class Far(Case):
    """Part of a dense message that is longer than any memory here: only the words that are moved
    exist."""

    def places(self):
        return [(self.word * n, self.word * n)
                for n in range(self.first, self.first + self.words)]


KINDS = ("nest", "equal", "unequal")


def cases(seed, count):
    """Random cases: every size of word, narrow and wide, every kind on both sides."""
    draw = random.Random(seed)
    for number in range(count):
        word = WORDS[number % len(WORDS)]
        wide = number // len(WORDS) % 2 == 1
        factors = [draw.choice((1, 2, 2, 3, 3, 5, 7)) for _ in range(draw.randrange(1, 9))]
        if number % 16 == 15:
            yield far(number, word, wide, draw)
            continue
        kinds = draw.choice(KINDS), draw.choice(KINDS)
        sides = [shape(word, kind, factors, draw) for kind in kinds]
        total = len(sides[0].offsets())
        first = draw.choice((0, draw.randrange(total)))
        words = draw.choice((total - first, draw.randrange(1, total - first + 1)))
        name = f"{number}: words of {word}, {kinds[0]} to {kinds[1]}, {first} + {words} of {total}"
        yield Case(name, word, wide, *sides, first, words)


def groups(seed, count):
    """Groups of narrow cases that one launch moves."""
    draw = random.Random(seed)
    narrow = [case for case in cases(seed, 2 * count) if not case.wide]
    while narrow:
        size = draw.randrange(1, MOST_MOVES + 1)
        yield draw.sample(narrow[:size], len(narrow[:size]))
        narrow = narrow[size:]


def far(number, word, wide, draw):
    """Words around the end of a block, far behind the start of a dense message: as 64-bit numbers
    they exceed 2^31, as 32-bit numbers they are as large as these can be."""
    words = draw.randrange(2, 300)
    block = draw.choice((LONGEST_BLOCK, draw.randrange(1, LONGEST_BLOCK), draw.randrange(1, 2000)))
    end = draw.randrange(NARROW, 1 << 34) if wide else NARROW - words
    first = end // block * block - draw.randrange(words)
    count = draw.randrange(1, 1000)
    loops = [(count, block * word), (1 << 10, count * block * word)]
    side = Shape(word, [(0, block)], loops, False)
    return Far(f"{number}: words of {word}, blocks of {block}, {first} + {words}", word, wide,
               side, side, first, words)
