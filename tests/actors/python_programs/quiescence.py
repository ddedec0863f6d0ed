"""Quiescence, and what happens later."""
import time

from towpath.charm import Array, Chare, Future, charm


class Spreader(Chare):
    def __init__(self):
        self.seen, self.told = 0, 0

    def spread(self, depth, width):
        self.seen += 1
        if depth:
            for step in range(1, 3):
                self.thisProxy[(self.thisIndex[0] + step) % width].spread(depth - 1, width)

    def take(self):
        return self.seen

    def quiet(self):
        self.told += 1

    def was_told(self):
        return self.told


def main(args):
    array = Array(Spreader, 6)
    array[0].spread(9, 6)
    charm.waitQD()
    assert sum(array.take(ret=True).get()) == 2 ** 10 - 1
    future = Future()
    array[5].spread(9, 6)
    charm.startQD(future)
    future.get()
    assert sum(array.take(ret=True).get()) == 2 * (2 ** 10 - 1)
    charm.startQD(array[2].quiet)
    charm.startQD(array.quiet)
    charm.waitQD()
    charm.waitQD()
    assert sorted(array.was_told(ret=True).get()) == [1, 1, 1, 1, 1, 2]
    start = time.time()
    charm.sleep(0.05)
    assert time.time() - start >= 0.045
    later = [Future() for _ in range(3)]
    for place, future in enumerate(later):
        charm.scheduleCallableAfter(future, 0.01 * (3 - place), [place])
    order = [future.get() for future in charm.iwait(later)]
    assert order == [2, 1, 0]
    print("ok")
    exit()


charm.start(main)
