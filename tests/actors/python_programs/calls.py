"""Invocations of one chare and of all, their arguments and results, and exceptions as results."""
from towpath.charm import Array, Chare, Future, Group, charm, coro


class Cell(Chare):
    def __init__(self):
        self.got = []

    def take(self, first, second=2, third=3):
        self.got.append((first, second, third))

    def taken(self):
        got, self.got = self.got, []
        return got

    def fail(self, which):
        if self.thisIndex == which:
            raise ValueError("the reason")
        return self.thisIndex

    def forward(self, proxy, value, future):
        proxy.take(value, third=self.thisIndex)
        future()

    def tell(self, callback, value):
        callback(value)

    @coro
    def ask(self, other):
        return [other.taken(ret=True).get(), charm.myPe()]

    def same(self, proxy, single):
        return proxy == self.thisProxy and single == self.thisProxy[self.thisIndex] and \
            hash(single) == hash(self.thisProxy[self.thisIndex])


def main(args):
    cells = Array(Cell, 4)
    assert cells[1].take(1, awaitable=True).get() is None
    cells[1].take(1, third=5, awaitable=True).get()
    cells[1].take(third=1, second=2, first=3, awaitable=True).get()
    assert cells[1].taken(ret=True).get() == [(1, 2, 3), (1, 2, 5), (3, 2, 1)]
    assert cells.take([4], {"k": (5,)}, awaitable=True).get() is None
    assert cells.taken(ret=True).get() == [[([4], {"k": (5,)}, 3)]] * 4
    future = Future()
    cells[0].forward(cells[3], "value", future)
    future.get()
    assert cells[2].ask(cells[3], ret=True).get()[0] in ([("value", 2, (0,))], [])
    future = Future()
    cells[3].tell(future, 11)
    assert future.get() == 11
    cells[3].tell(cells[1].take, 12)
    charm.waitQD()
    assert (12, 2, 3) in cells[1].taken(ret=True).get()
    for index in range(4):
        assert cells[index].same(cells, cells[index], ret=True).get()
    group = Group(Cell)
    last = charm.numPes() - 1
    for invoked in (group[last], group):
        try:
            invoked.fail(last, awaitable=True).get()
        except ValueError as error:
            assert str(error) == "the reason"
        else:
            raise AssertionError("no exception came")
    try:
        group[last].fail(last, ret=True).get()
    except ValueError:
        pass
    else:
        raise AssertionError("no exception came")
    assert group[0].fail(-1, ret=True).get() == 0
    print("ok")
    exit()


charm.start(main)
