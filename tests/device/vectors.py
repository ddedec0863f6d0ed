"""Random operands of reductions, as the kernels of crates/device/kernels/reduce.cu take them."""

import ctypes
import random
import re

import layouts

ELEMENTS = 600
# Bytes of a value with an index, by the end of a kernel's name.
LOCATED = {"float_int": 8, "double_int": 16, "long_int": 16, "int_int": 8, "short_int": 8,
           "float_float": 8, "double_double": 16}
# Of numbers of 2, 4 and 8 bytes: 0, 1, the largest one, infinity, NaN with and without the quiet
# bit, the smallest normal one and the smallest one.
SPECIAL = {2: (0, 0x3C00, 0x7BFF, 0x7C00, 0x7E01, 0x7C01, 0x0400, 1),
           4: (0, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00001, 0x7F800001, 0x00800000, 1),
           8: (0, 0x3FF << 52, (0x7FF << 52) - 1, 0x7FF << 52, (0xFFF << 51) + 1, (0x7FF << 52) + 1,
               1 << 52, 1)}


class Reduction(ctypes.Structure):
    """inout[n] = input[n] op inout[n]"""

    _fields_ = [("input", ctypes.c_uint64), ("inout", ctypes.c_uint64), ("count", ctypes.c_uint64),
                ("completion", layouts.Completion), ("nan_sign", ctypes.c_uint32),
                ("unused", ctypes.c_uint32)]

    @classmethod
    def of(cls, left, right, case):
        return cls(left, right, ELEMENTS, layouts.Completion(), case.nan_sign, 0)


class Case:
    """A kernel and its operands."""

    def __init__(self, kernel, draw):
        self.kernel, self.nan_sign = kernel, draw.randrange(2)
        end = re.search(r"_(\d+)$", kernel)
        located = next((size for name, size in LOCATED.items() if kernel.endswith(name)), None)
        self.word = int(end[1]) if end else located // 2
        self.size = located or self.word * (2 if "complex" in kernel else 1)
        self.left, self.right = (self.operand(draw) for _ in range(2))

    def operand(self, draw):
        """Random numbers, half of them special ones of either sign."""
        words = b""
        for _ in range(ELEMENTS * self.size // self.word):
            number = draw.getrandbits(8 * self.word)
            if self.word in SPECIAL and draw.randrange(2):
                number = draw.choice(SPECIAL[self.word]) | draw.randrange(2) << (8 * self.word - 1)
            words += number.to_bytes(self.word, "little")
        return words

    def difference(self, first, second):
        """The first element in which two results differ, in words."""
        at = next(at for at in range(0, len(first), self.size)
                  if first[at:at + self.size] != second[at:at + self.size])
        left, right, one, other = (text[at:at + self.size][::-1].hex()
                                   for text in (self.left, self.right, first, second))
        return f"of {left} and {right} one dialect makes {one}, the other {other}"


def cases(seed, text):
    """A case of each kernel in a text."""
    draw = random.Random(seed)
    return [Case(kernel, draw) for kernel in re.findall(r"\.entry (towpath_reduce_\w+)\(", text)]
