"""Chares of all kinds are made where they shall be, with their arguments."""
from towpath.charm import Array, ArrayMap, Chare, Group, Reducer, charm, coro


class Member(Chare):
    def __init__(self, first, second=7):
        self.arguments = (first, second)

    def described(self):
        return self.thisIndex, charm.myPe(), self.arguments

    def count(self, future):
        self.contribute(1, Reducer.sum, future)


class Slow(Chare):
    @coro
    def __init__(self, peer):
        self.answer = peer.described(ret=True).get()

    def answered(self):
        return self.answer


class Backwards(ArrayMap):
    def procNum(self, index):
        return charm.numPes() - 1 - index[0] % charm.numPes()


def main(args):
    ranks = charm.numPes()
    group = Group(Member, args=[1])
    charm.awaitCreation(group)
    assert group.described(ret=True).get() == [(r, r, (1, 7)) for r in range(ranks)]
    for dims in (5, (2, 3), (2, 1, 2), (2, 1, 2, 2), (1, 2, 1, 2, 1), (2, 1, 2, 1, 2, 1)):
        array = Array(Member, dims, args=["x", dims])
        charm.awaitCreation(array)
        dims = (dims,) if isinstance(dims, int) else dims
        found = array.described(ret=True).get()
        total = 1
        for extent in dims:
            total *= extent
        assert len(found) == total and found == sorted(found)
        assert all(len(index) == len(dims) for index, _, _ in found)
        assert len({rank for _, rank, _ in found}) == min(ranks, total)
    for rank in range(ranks):
        single = Chare(Member, args=[rank], onPE=rank)
        charm.awaitCreation(single)
        assert single.described(ret=True).get() == ((0,), rank, (rank, 7))
    slow = Group(Slow, args=[group[ranks - 1]])
    charm.awaitCreation(slow)
    assert slow.answered(ret=True).get() == [(ranks - 1, ranks - 1, (1, 7))] * ranks
    sparse = Array(Member, ndims=2)
    indices = [(3, 40), (-5, 6), (1000000, 0), (0, 0)]
    for place, index in enumerate(indices):
        sparse.ckInsert(index, args=[place], onPE=place % ranks)
    sparse.ckDoneInserting()
    found = sparse.described(ret=True).get()
    assert sorted(found) == sorted((index, place % ranks, (place, 7))
                                   for place, index in enumerate(indices))
    assert sparse[-5, 6].described(ret=True).get() == ((-5, 6), 1 % ranks, (1, 7))
    placed = Array(Member, 6, args=[0], map=Group(Backwards))
    charm.awaitCreation(placed)
    assert [rank for _, rank, _ in placed.described(ret=True).get()] == [
        ranks - 1 - index % ranks for index in range(6)]
    future = charm.Future()
    placed.count(future)
    assert future.get() == 6
    print("ok")
    exit()


charm.start(main)
