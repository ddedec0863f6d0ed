"""Arguments in messages.

A message without buffers is the pickle of its arguments. Buffers of arrays lie behind the pickle,
and arrive as arrays over the memory of the message, which lives as long as one of them:

    u64 number of buffers | u64 bytes of the pickle | u64 bytes of each buffer | pickle | buffers

The reference of a message to an entry method says what it has.
"""

import ctypes
import struct
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
