"""Arrays that are sent without a copy."""

from .library import CharmError
from .messages import TYPES, numpy


class Lent:
    """An argument that is lent."""

    __slots__ = ("array", "future")

    def __init__(self, array, future):
        self.array, self.future = array, future

    def __reduce__(self):
        """In a pickle it is copied."""
        if self.future is not None:
            self.future()
        return same, (self.array,)


def same(array):
    return array


def nocopy(array, future=None):
    """An argument of a call: the method gets the array where it is, read-only, if the ranks share
    its memory. The array must not change until the future is told, which is when nobody reads it
    any more. It is for one call."""
    if numpy is None or type(array) is not numpy.ndarray:
        raise CharmError(f"nocopy lends arrays of numpy, not {type(array).__name__}")
    if not array.flags.c_contiguous or array.dtype not in TYPES.values():
        raise CharmError("nocopy lends arrays of numbers that are contiguous; copy this one")
    return Lent(array, future)
