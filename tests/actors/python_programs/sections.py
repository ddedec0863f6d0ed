"""Sections of arrays and groups: slices, lists, functions and unions."""
from towpath.charm import Array, Chare, Future, Group, Reducer, charm, coro


class Member(Chare):
    def __init__(self):
        self.got = 0

    def take(self, amount):
        self.got += amount

    def taken(self):
        return self.got

    def add(self, section, future):
        self.contribute(1, Reducer.sum, future, section)

    def is_refused(self, section):
        try:
            self.contribute(1, Reducer.sum, section.take)
        except Exception as error:
            return "section" in str(error)
        return False

    @coro
    def all_add(self, section):
        return int(self.allreduce(1, Reducer.sum, section).get())


def parity(chare):
    return chare.thisIndex[0] % 2


def main(args):
    array = Array(Member, 10)
    even, odd = charm.split(array, 2, parity)
    even.take(1, awaitable=True).get()
    odd.take(10, awaitable=True).get()
    assert array.taken(ret=True).get() == [1, 10] * 5
    future = Future()
    even.add(even, future)
    assert future.get() == 5
    assert sorted(odd.all_add(odd, ret=True).get()) == [5] * 5
    # charm4py sends them to all members.
    if Chare.__module__.startswith("towpath"):
        assert array.is_refused(even, ret=True).get() == [True] * 10
    listed = charm.split(array, 1, elems=[(0,), (9,), (4,)])[0]
    listed.take(100, awaitable=True).get()
    assert array.taken(ret=True).get() == [101, 10, 1, 10, 101, 10, 1, 10, 1, 110]
    square = Array(Member, (4, 4))
    part = square[1:3, 0:4:2]
    part.take(1, awaitable=True).get()
    assert sum(square.taken(ret=True).get()) == 4
    assert len(part.taken(ret=True).get()) == 4
    group = Group(Member)
    some = group[0:charm.numPes():2]
    some.take(3, awaitable=True).get()
    assert group.taken(ret=True).get() == [3 * (1 - rank % 2) for rank in range(charm.numPes())]
    both = charm.combine(even, listed)
    both.take(1000, awaitable=True).get()
    assert [value >= 1000 for value in array.taken(ret=True).get()] == [
        index % 2 == 0 or index == 9 for index in range(10)]
    last = Group(Member, onPEs=[charm.numPes() - 1])
    last.take(5, awaitable=True).get()
    assert last[charm.numPes() - 1].taken(ret=True).get() == 5
    print("ok")
    exit()


charm.start(main)
