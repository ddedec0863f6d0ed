"""Coroutines wait for futures, for conditions, and for the first of several things."""
from towpath.charm import Array, Chare, Channel, Future, Group, charm, coro, threaded


class Worker(Chare):
    def __init__(self):
        self.value = 0
        self.waited = []

    def set(self, value):
        self.value = value

    @coro
    def wait_for(self, value, future):
        self.wait("self.value == %d" % value)
        self.waited.append(value)
        future(list(self.waited))

    @threaded
    def chain(self, hops):
        if hops == 0:
            return [charm.myPe()]
        following = (self.thisIndex[0] + 1) % 3
        return self.thisProxy[following].chain(hops - 1, ret=True).get() + [charm.myPe()]

    def give(self, future, value):
        future.send(value)

    @coro
    def nap(self, seconds):
        charm.sleep(seconds)
        return self.thisIndex


def main(args):
    workers = Array(Worker, 3)
    first, second = Future(), Future()
    workers[2].wait_for(5, first)
    workers[2].wait_for(4, second)
    workers[2].set(4)
    assert second.get() == [4]
    workers[2].set(5)
    assert first.get() == [4, 5]
    assert len(workers[0].chain(7, ret=True).get()) == 8
    several = Future(3)
    for index in range(3):
        workers[index].give(several, index * 10)
    assert sorted(several.get()) == [0, 10, 20]
    ready = Future()
    ready.send("early")
    charm.sleep(0.01)
    assert ready.ready() and ready.get() == "early"
    futures = [Future() for _ in range(3)]
    for index in (2, 0, 1):
        workers[index].give(futures[index], index)
    assert sorted(future.get() for future in charm.iwait(futures)) == [0, 1, 2]
    futures = [workers[index].nap(0.002 * index, ret=True) for index in range(3)]
    charm.wait(futures)
    assert [future.get() for future in futures] == [(0,), (1,), (2,)]
    group = Group(Worker)
    futures = [group[rank].set(rank, awaitable=True) for rank in range(charm.numPes())]
    charm.wait(futures)
    print("ok")
    exit()


charm.start(main)
