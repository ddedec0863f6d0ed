"""Arrays as arguments and results: all types and shapes, writable, and longer than the call."""
import array

import numpy
from towpath.charm import Chare, Group, charm

TYPES = ["int8", "uint16", "int32", "int64", "float32", "float64", "complex128", "bool"]


class Holder(Chare):
    def __init__(self):
        self.kept = []

    def echo(self, data, *more):
        return data

    def keep(self, data):
        data += 1
        self.kept.append(data)
        self.kept.append(data[10:20])

    def check(self, size):
        return all((one == 2).all() for one in self.kept) and len(self.kept[-2]) == size

    def drop(self):
        self.kept.clear()

    def nested(self, data):
        return {"sum": sum(one.sum() for one in data["list"]), "again": data["list"][1]}


def main(args):
    group = Group(Holder)
    last = group[charm.numPes() - 1]
    for size in (0, 1, 10, 63, 64, 1000, 100000):
        for kind in TYPES:
            data = (numpy.arange(size) % 2).astype(kind)
            back = last.echo(data, ret=True).get()
            assert back.dtype == data.dtype and (back == data).all() and back.flags.writeable
    for data in (numpy.zeros((3, 4, 5)) + 2, numpy.arange(3000.0).reshape(30, 100),
                 numpy.zeros((0, 3)), numpy.array([1, None, "x"], dtype=object)):
        back = last.echo(data, ret=True).get()
        assert back.shape == data.shape and (back == data).all()
    for rounds in range(20):
        last.keep(numpy.ones(5000), awaitable=True).get()
        last.keep(numpy.ones(5001), awaitable=True).get()
        assert last.check(5001, ret=True).get()
        if rounds % 3 == 0:
            last.drop(awaitable=True).get()
    group.drop(awaitable=True).get()
    group.keep(numpy.ones(5000), awaitable=True).get()
    assert group.check(5000, ret=True).get() == [True] * charm.numPes()
    found = last.nested({"list": [numpy.ones(1000), numpy.arange(2000)]}, ret=True).get()
    assert found["sum"] == 1000 + 1999000 and (found["again"] == numpy.arange(2000)).all()
    assert last.echo(b"x" * 100000, ret=True).get() == b"x" * 100000
    assert last.echo(array.array("d", [1.5] * 500), ret=True).get() == array.array("d", [1.5] * 500)
    big = numpy.arange(1 << 20, dtype="float64")
    assert (last.echo(big, ret=True).get() == big).all()
    print("ok")
    exit()


charm.start(main)
