"""Reducers, and the values of reductions.

A value is a list of contributions that are not reduced yet, so that a reducer is called for many
of them at once:

    u8 length of the reducer's name | u32 number of contributions | name | (u64 bytes | pickle)*

The library concatenates values; a list that is long enough for its reducer is reduced.
"""

import ctypes
import struct
from array import array
from functools import reduce
from itertools import chain
from pickle import dumps, loads

from .library import READABLE, WRITABLE, CharmError, memory_view
from .messages import PROTOCOL

try:
    import numpy
except ImportError:
    numpy = None

HEAD = struct.Struct("<BI")
SIZE = struct.Struct("<Q")
# Of reducers of programs: calls of the reducer against contributions that wait in memory.
LONGEST_LIST = 64


class NumericReducer:
    """Combines numbers, or the elements of sequences."""

    longest = 1

    def __init__(self, name, of_two, numpy_name):
        self.name, self.of_two = name, of_two
        self.ufunc = getattr(numpy, numpy_name) if numpy else None

    def __call__(self, contributions):
        return reduce(self.combine, contributions)

    def combine(self, first, second):
        if self.ufunc is None or isinstance(first, (int, float, complex, bool)):
            if not isinstance(first, (list, tuple, array)):
                return self.of_two(first, second)
            return [self.of_two(*both) for both in zip(first, second)]
        return self.ufunc(first, second)

    def before(self, data, chare):
        """Sequences become arrays of numpy, so that they are combined at its speed."""
        del chare
        if numpy is None or isinstance(data, numpy.ndarray):
            return data
        if isinstance(data, numpy.generic):
            return data.item()
        return numpy.asarray(data) if isinstance(data, (list, tuple, array)) else data

    def after(self, data):
        """What a program gets: one number, or the elements in one dimension."""
        if numpy is not None and isinstance(data, (numpy.ndarray, numpy.generic)):
            return data.item() if data.size == 1 and data.dtype != object else data.reshape(-1)
        return data


class CustomReducer:
    """A function of the program for a list of contributions."""

    longest = LONGEST_LIST

    def __init__(self, function, before=None, after=None):
        self.name, self.function = function.__name__, function
        self.first, self.last = before, after

    def __call__(self, contributions):
        return self.function(contributions)

    def before(self, data, chare):
        return data if self.first is None else self.first(data, chare)

    def after(self, data):
        return data if self.last is None else self.last(data)


def gather(contributions):
    """The contributions in the order of the indices of their chares."""
    return sorted(chain.from_iterable(contributions), key=lambda pair: pair[0])


def first_error(contributions):
    """An exception, if a chare has contributed one."""
    return next((error for error in contributions if error is not None), None)


NUMERIC = [
    ("sum", lambda a, b: a + b, "add"),
    ("product", lambda a, b: a * b, "multiply"),
    ("max", max, "maximum"),
    ("min", min, "minimum"),
    ("logical_and", lambda a, b: bool(a and b), "logical_and"),
    ("logical_or", lambda a, b: bool(a or b), "logical_or"),
    ("logical_xor", lambda a, b: bool(a) ^ bool(b), "logical_xor"),
]


class ReducerContainer:
    """All reducers, as attributes; by number where there is nothing to reduce."""

    nop = None

    def __init__(self):
        self._by_name = {}
        for name, of_two, ufunc in NUMERIC:
            self._add(NumericReducer(name, of_two, ufunc))
        self.addReducer(gather, pre=lambda data, chare: [(chare.thisIndex, data)],
                        post=lambda pairs: [data for _, data in pairs])
        # It is as long as its list, so nothing is gained by calling it early.
        self.gather.longest = float("inf")
        self.addReducer(first_error)

    def _add(self, reducer):
        self._by_name[reducer.name] = reducer
        setattr(self, reducer.name, reducer)

    def addReducer(self, func, pre=None, post=None):
        """Lets programs use a function as `Reducer.NAME`, on all ranks that call this. `pre` gets
        a contribution and its chare, `post` the result."""
        if hasattr(self, func.__name__):
            raise CharmError(f"there is a reducer {func.__name__} already")
        self._add(CustomReducer(func, pre, post))

    def of(self, reducer):
        """The reducer that a program names, or None."""
        if reducer is None or hasattr(reducer, "longest"):
            return reducer
        name = getattr(reducer, "__name__", None)
        if name not in self._by_name:
            raise CharmError(f"{reducer!r} is no reducer: use one of Reducer, or add a function "
                             "by Reducer.addReducer before charm.start")
        return self._by_name[name]

    def named(self, name):
        if name not in self._by_name:
            raise CharmError(f"this rank has no reducer {name}: all ranks must add it")
        return self._by_name[name]


def value_of(reducer, data):
    """A value with one contribution, or none."""
    if reducer is None:
        return HEAD.pack(0, 0)
    name, pickle = reducer.name.encode(), dumps(data, PROTOCOL)
    return HEAD.pack(len(name), 1) + name + SIZE.pack(len(pickle)) + pickle


def parsed(view):
    """The name of the reducer, and the contributions as pickles."""
    length, count = HEAD.unpack_from(view)
    start = HEAD.size + length
    name = bytes(view[HEAD.size:start]).decode()
    pickles = []
    for _ in range(count):
        size, = SIZE.unpack_from(view, start)
        start += SIZE.size
        pickles.append(view[start:start + size])
        start += size
    return name, pickles


def result_of(reducers, view):
    """The arguments that a result gives to a method: none if nothing was contributed."""
    name, pickles = parsed(view)
    if not pickles:
        return ()
    reducer = reducers.named(name)
    contributions = [loads(pickle) for pickle in pickles]
    # Two or more are not reduced yet.
    result = contributions[0] if len(contributions) == 1 and name != "gather" \
        else reducer(contributions)
    return (reducer.after(result),)


class Combiner:
    """Combines two values for the library."""

    def __init__(self, library, reducers):
        self.library, self.reducers = library, reducers

    def __call__(self, context, into, address, size):
        del context
        try:
            self.combine(into, memory_view(address, size, READABLE))
        except BaseException as error:
            self.library.fail(f"{type(error).__name__}: {error}".encode())

    def combine(self, into, second):
        length, count = HEAD.unpack_from(second)
        if not count:
            return
        old = self.library.value_bytes(into)
        first = memory_view(self.library.value_data(into), old, WRITABLE)
        first_length, first_count = HEAD.unpack_from(first)
        if not first_count:
            self.replace(into, second)
            return
        end = HEAD.size + length
        if bytes(first[HEAD.size:HEAD.size + first_length]) != bytes(second[HEAD.size:end]):
            raise CharmError("chares contribute to one reduction with different reducers")
        reducer = self.reducers.named(bytes(second[HEAD.size:end]).decode())
        if first_count + count > reducer.longest:
            pickles = chain(parsed(first)[1], parsed(second)[1])
            self.replace(into, value_of(reducer, reducer([loads(one) for one in pickles])))
            return
        self.library.value_resize(into, old + len(second) - end)
        data = self.library.value_data(into)
        view = memory_view(data, old + len(second) - end, WRITABLE)
        view[old:] = second[end:]
        HEAD.pack_into(view, 0, length, first_count + count)

    def replace(self, into, value):
        content = bytes(value)
        self.library.value_resize(into, len(content))
        ctypes.memmove(self.library.value_data(into), content, len(content))
