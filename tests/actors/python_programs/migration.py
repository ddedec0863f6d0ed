"""Chares migrate with their state, and messages follow them."""
import numpy
from towpath.charm import Array, Chare, Future, Reducer, charm, coro


class Wanderer(Chare):
    def __init__(self):
        self.data = numpy.arange(1000) + self.thisIndex[0]
        self.moved = 0

    def go(self, rank):
        self.migrate(rank)

    def migrated(self):
        self.moved += 1

    def state(self):
        right = (self.data == numpy.arange(1000) + self.thisIndex[0]).all()
        return bool(right), charm.myPe(), self.moved, self.thisIndex

    def add(self, future):
        self.contribute(1, Reducer.sum, future)

    @coro
    def with_result(self, peer):
        return peer.state(ret=True).get()[0]


def main(args):
    ranks, count = charm.numPes(), 8
    array = Array(Wanderer, count)
    for hop in range(1, 4):
        for index in range(count):
            array[index].go((index + hop) % ranks)
        charm.waitQD()
        for index, state in enumerate(array.state(ret=True).get()):
            assert state[:2] == (True, (index + hop) % ranks) and state[3] == (index,), state
            assert ranks == 1 or state[2] >= hop - 1
        future = Future()
        array.add(future)
        assert future.get() == count
    assert array[0].with_result(array[count - 1], ret=True).get()
    print("ok")
    exit()


charm.start(main)
