"""Arrays that are sent without a copy."""

import operator

from .futures import Future
from .job import job
from .library import CharmError
from .messages import TYPES, numpy

# Tuples and lists in one another that can have arrays that are lent.
DEEPEST = 16
# What may contain arrays, or be one.
NESTED = {tuple, list} if numpy is None else {tuple, list, numpy.ndarray}


class Lent:
    """An argument that is lent."""

    __slots__ = ("array", "future")

    def __init__(self, array, future):
        self.array, self.future = array, future

    def __reduce__(self):
        """In a pickle it is copied. The message that tells the future is received later."""
        if self.future is not None:
            self.future()
        return same, (self.array,)


def same(array):
    return array


def nocopy(array, future=None):
    """An argument of a call: the method gets the array where it is, read-only, if the ranks share
    its memory. The array must not change until the future, or an entry method of a proxy, is told,
    which is when nobody reads it any more. It is for one call. A short array is copied by the call,
    and its future told then."""
    if numpy is None or type(array) is not numpy.ndarray:
        raise CharmError(f"nocopy lends arrays of numpy, not {type(array).__name__}")
    if not array.flags.c_contiguous or array.dtype not in TYPES.values():
        raise CharmError("nocopy lends arrays of numbers that are contiguous; copy this one")
    if future is not None and not (isinstance(future, Future) or hasattr(future, "ep")):
        raise CharmError(f"nocopy tells a future or an entry method of a proxy, not {future!r}")
    return Lent(array, future)


def empty_shared(shape, dtype=float):
    """An array with arbitrary content, in memory that the ranks of this host share, where others
    can read what `nocopy` lends them. Short ones are in private memory."""
    job.check_started()
    if numpy is None:
        raise CharmError("empty_shared makes arrays of numpy, which is not installed")
    # This raises what numpy raises for shapes and types that cannot be.
    array = numpy.empty(shape, dtype)
    memory = job.allocate(array.nbytes) if array.dtype in TYPES.values() else None
    return array if memory is None else numpy.ndarray(shape, dtype, memory)


def own(value, known=None, depth=0):
    """The value, in which copies replace arrays that are lent. Known are the lists and tuples in it
    that were looked at, by their names, and what replaces them."""
    if numpy is not None and type(value) is numpy.ndarray and not value.flags.writeable:
        return value.copy()
    if type(value) not in (tuple, list) or depth > DEEPEST or NESTED.isdisjoint(map(type, value)):
        return value
    known = {} if known is None else known
    if id(value) not in known:
        # Values that came as a pickle may refer to themselves.
        known[id(value)] = value
        copied = [own(one, known, depth + 1) for one in value]
        if not all(map(operator.is_, copied, value)):
            known[id(value)] = type(value)(copied)
    return known[id(value)]
