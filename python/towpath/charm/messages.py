"""Arguments in messages.

A message without buffers is the pickle of its arguments. Buffers of arrays lie behind the pickle,
and arrive as arrays over the memory of the message, which lives as long as one of them:

    u64 number of buffers | u64 bytes of the pickle | u64 bytes of each buffer | pickle | buffers

The reference of a message to an entry method says what it has.
"""

import ctypes
import functools
import struct
import threading
from collections import deque
from pickle import dumps, loads

from .library import READABLE, WRITABLE, Message, memory_view

try:
    import numpy
except ImportError:
    numpy = None

# The pickle is a pair of arguments and a reply: where the result shall go.
HAS_REPLY = 1
HAS_BUFFERS = 2
# Smaller buffers are in the pickle: copying them costs less than keeping a message.
SMALLEST_BUFFER = 512
# Of buffers, as numpy aligns for vector instructions.
ALIGNMENT = 64
PROTOCOL = 5

move = ctypes.memmove
ARRAY_TYPE = id(numpy.ndarray) if numpy else 0
# By the formats of their buffers.
TYPES = {memoryview(numpy.zeros(1, name)).format: numpy.dtype(name) for name in (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "longlong",
    "ulonglong", "float16", "float32", "float64", "longdouble", "complex64", "complex128",
    "clongdouble")} if numpy else {}


def array_over(format, shape, memory, offset):
    """A writable array over memory of a message, or over a copy of it."""
    return numpy.ndarray(shape, TYPES[format], memory, offset)


def aligned(offset):
    return (offset + ALIGNMENT - 1) & -ALIGNMENT


def keep_large(large, buffer):
    """Whether the buffer belongs into the pickle; else it is put into the list."""
    raw = buffer.raw()
    if raw.nbytes < SMALLEST_BUFFER:
        return True
    large.append(raw)
    return False


class Packer:
    """Makes messages in one structure, which is used again as soon as a message is sent."""

    def __init__(self, library):
        self.new = library.message_new
        self.message = Message()
        self.address = ctypes.addressof(self.message)

    def pack(self, entry, arguments, reply):
        """Makes a message to an entry method."""
        large = []
        content = arguments if reply is None else (arguments, reply)
        pickle = dumps(content, PROTOCOL, buffer_callback=lambda buffer: keep_large(large, buffer))
        message = self.message
        reference = 0 if reply is None else HAS_REPLY
        if large:
            self.fill(pickle, large)
            reference |= HAS_BUFFERS
        else:
            size = len(pickle)
            self.new(size, self.address)
            move(message.payload, pickle, size)
        message.entry = entry
        if reference:
            message.reference = reference

    def fill(self, pickle, buffers):
        sizes = [buffer.nbytes for buffer in buffers]
        head = struct.pack(f"{2 + len(sizes)}Q", len(sizes), len(pickle), *sizes)
        start = len(head) + len(pickle)
        total = start
        for size in sizes:
            total = aligned(total) + size
        self.new(total, self.address)
        view = memory_view(self.message.payload, total, WRITABLE)
        view[:len(head)] = head
        view[len(head):start] = pickle
        for buffer, size in zip(buffers, sizes):
            start = aligned(start)
            view[start:start + size] = buffer
            start += size


class KeptMessage:
    """A message that was kept, until nothing refers to its memory."""

    def __init__(self, keeper, message):
        self.keeper, self.message = keeper, message

    def __del__(self):
        self.keeper.ended(self.message)


@functools.lru_cache(maxsize=None)
def memory_type(power):
    """Types of memory are few: making one costs more than a message."""
    return ctypes.c_char * (1 << power)


class Keeper:
    """Keeps messages for the arrays that lie in them, and frees them in the thread that called
    towpath_start."""

    def __init__(self, library):
        self.keep, self.free = library.message_keep, library.message_free
        self.thread = threading.get_ident()
        self.is_open = True
        self.waiting = deque()

    def kept(self, address):
        """Keeps the message at this address: its memory."""
        while self.waiting:
            self.free(ctypes.addressof(self.waiting.popleft()))
        self.keep(address)
        return self.owned(address)

    def owned(self, address):
        """Writable memory over the payload of a message that belongs to the program. Its length is
        rounded up to a power of two: nobody uses what is behind the payload."""
        message = Message()
        move(ctypes.addressof(message), address, ctypes.sizeof(Message))
        power = max(0, message.bytes - 1).bit_length()
        memory = memory_type(power).from_address(message.payload)
        memory.kept = KeptMessage(self, message)
        return memory

    def ended(self, message):
        if not self.is_open:
            return
        if threading.get_ident() == self.thread:
            self.free(ctypes.addressof(message))
        else:
            self.waiting.append(message)

    def close(self):
        """The memory of messages is that of a library which ends."""
        self.is_open = False


def unpack_buffers(memory):
    """What a message with buffers has, whose memory this is."""
    view = memoryview(memory).cast("B")
    count, pickled = struct.unpack_from("2Q", view)
    sizes = struct.unpack_from(f"{count}Q", view, 16)
    start = 16 + 8 * count
    pickle = view[start:start + pickled]
    start += pickled
    buffers = []
    for size in sizes:
        start = aligned(start)
        buffers.append(view[start:start + size])
        start += size
    return loads(pickle, buffers=buffers)


def unpack_small(message):
    return loads(memory_view(message.payload, message.bytes, READABLE))
