"""Arrays that charm4py refuses or turns: of other orders, with gaps, of zero dimensions, with
records, dates and bytes in another order; and arguments of a broadcast belong to each chare."""
import enum

import numpy
from towpath.charm import Array, Chare, Group, charm


class Colour(enum.IntEnum):
    RED = 3


class Echo(Chare):
    def echo(self, data):
        return data

    def add(self, data):
        data += self.thisIndex[0]
        return data.sum()

    def nested(self, values):
        return values


def main(args):
    last = Group(Echo)[charm.numPes() - 1]
    whole = numpy.arange(10000.0).reshape(100, 100)
    for data in (whole.T, whole[::2, 5:50], numpy.asfortranarray(whole), numpy.array(4.5),
                 whole.astype(">f8"), numpy.zeros(3, dtype=[("a", "i4"), ("b", "f8")]),
                 numpy.array(["2024-01-01"], dtype="M8[D]"), whole.astype("float16"),
                 whole.astype("longdouble"), numpy.array(["text", "t"]),
                 numpy.array([b"abc", b"d"])):
        back = last.echo(data, ret=True).get()
        assert back.dtype == data.dtype and back.shape == data.shape
        assert (back == data).all()
    array = Array(Echo, 5)
    assert array.add(numpy.ones(2000), ret=True).get() == [2000.0 * (1 + n) for n in range(5)]
    values = [1 << 70, -(1 << 63), (1 << 63) - 1, "\udc80", "text\0é", b"\0", 1.5, True, None,
              Colour.RED, (1, [2, (3, [])]), {"k": {1}}, float("inf"), 2j, numpy.float32(1.5)]
    for value in values + [values, tuple(values), [values[5:8]] * 3]:
        back = last.nested(value, ret=True).get()
        assert back == value and type(back) is type(value)
    deep = []
    for _ in range(40):
        deep = [deep]
    assert last.nested(deep, ret=True).get() == deep
    print("ok")
    exit()


charm.start(main)
