"""Reductions with every reducer, to every kind of target."""
import array

import numpy
from towpath.charm import Array, Chare, Future, Group, Reducer, charm, coro


def longest(contributions):
    return max(contributions, key=len)


Reducer.addReducer(longest)


def with_index(data, chare):
    return [(data, chare.thisIndex)]


def joined(contributions):
    return sorted(sum(contributions, []))


Reducer.addReducer(joined, pre=with_index, post=lambda pairs: [data for data, _ in pairs])


class Contributor(Chare):
    def __init__(self):
        self.results = []

    def give(self, data, reducer, target):
        if callable(data):
            data = data(self.thisIndex)
        self.contribute(data, getattr(Reducer, reducer), target)

    def number(self, reducer, target):
        self.contribute(self.thisIndex[0] + 1, getattr(Reducer, reducer), target)

    def vector(self, reducer, target):
        index = self.thisIndex[0]
        self.contribute(numpy.array([index, 1.5, -index]), getattr(Reducer, reducer), target)

    def others(self, futures):
        index = self.thisIndex[0]
        self.reduce(futures[0])
        self.reduce(futures[1], [index, index * 2], Reducer.sum)
        self.reduce(futures[2], array.array("l", [index, 3]), Reducer.max)
        self.contribute(numpy.float64(index), Reducer.min, futures[3])
        self.contribute(index == 2, Reducer.logical_or, futures[4])
        self.contribute(index != 2, Reducer.logical_and, futures[5])
        self.contribute(index == 2, Reducer.logical_xor, futures[6])
        self.contribute("x" * index, Reducer.longest, futures[7])
        self.contribute({"at": index}, Reducer.gather, futures[8])
        self.contribute(-index, Reducer.joined, futures[9])

    def done(self, result):
        self.results.append(result)

    def nothing(self):
        self.results.append("nothing")

    def take(self):
        results, self.results = self.results, []
        return results

    @coro
    def together(self, rounds):
        found = []
        for round in range(rounds):
            self.allreduce().get()
            found.append(int(self.allreduce(self.thisIndex[0] * round, Reducer.sum).get()))
        return found


def main(args):
    count = 7
    chares = Array(Contributor, count)
    for reducer, expected in [("sum", 28), ("product", 5040), ("max", 7), ("min", 1)]:
        future = Future()
        chares.number(reducer, future)
        assert future.get() == expected
    for reducer, expected in [("sum", [21, 10.5, -21]), ("max", [6, 1.5, 0]),
                              ("min", [0, 1.5, -6])]:
        future = Future()
        chares.vector(reducer, future)
        result = future.get()
        assert isinstance(result, numpy.ndarray) and result.tolist() == expected
    futures = [Future() for _ in range(10)]
    chares.others(futures)
    results = [future.get() for future in futures]
    assert results[0] is None
    assert list(results[1]) == [21, 42] and list(results[2]) == [6, 3]
    assert results[3:7] == [0.0, True, False, True]
    assert results[7] == "xxxxxx"
    assert results[8] == [{"at": index} for index in range(count)]
    assert results[9] == [-index for index in range(count - 1, -1, -1)]
    chares.number("sum", chares.done)
    chares.number("max", chares[3].done)
    charm.waitQD()
    taken = chares.take(ret=True).get()
    assert [sorted(one) for one in taken] == [[28]] * 3 + [[7, 28]] + [[28]] * 3
    group = Group(Contributor)
    group.give(4, "sum", chares[0].done)
    group.give(None, "nop", chares[1].nothing)
    charm.waitQD()
    assert chares[0].take(ret=True).get() == [4 * charm.numPes()]
    assert chares[1].take(ret=True).get() == ["nothing"]
    assert chares.together(5, ret=True).get() == [[0, 21, 42, 63, 84]] * count
    print("ok")
    exit()


charm.start(main)
