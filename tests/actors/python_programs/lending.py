"""Arrays that are lent: read-only where they are, and a future once nobody reads them any more."""
import threading
import time

import numpy
from towpath.charm import Array, CharmError, Chare, Future, Group, charm, empty_shared, nocopy

# Short ones are copied.
SIZES = (0, 1, 100, 2047, 2048, 100000, 1 << 20)
SHORTEST = 16 << 10


class Reader(Chare):
    def __init__(self):
        self.kept = None

    def total(self, data, *more):
        assert data.flags.writeable == (data.nbytes < SHORTEST)
        return data.sum() + sum(more)

    def keep(self, data):
        self.kept = data[1:3]

    def drop(self):
        kept, self.kept = list(self.kept), None
        return kept

    def read_elsewhere(self, data):
        def read():
            time.sleep(0.1)
            data.sum()

        # The array is gone when this thread ends, while the rank waits for messages.
        threading.Thread(target=read).start()

    def write(self, data):
        try:
            data[0] = 1
        except ValueError:
            return "refused"
        return "written"

    def pass_on(self, data, to, done):
        to.add(nocopy(data), done)

    def add(self, data, done):
        done(data.sum())

    def mixed(self, some, data, more):
        return some["x"] + data.sum() + more.sum()

    def tangle(self):
        """Lists that refer to each other."""
        nodes = [[] for _ in range(8)]
        for node in nodes:
            node.extend(nodes)
        return nodes

    def give(self, size):
        return nocopy(numpy.ones(size))

    def give_several(self, told):
        return nocopy(numpy.ones(5000), told), [7, (nocopy(numpy.zeros(5000)),)], "text"


class Owner(Chare):
    def __init__(self, data=None):
        self.sum = 0 if data is None else data.sum()

    def add(self, data):
        self.sum += data.sum()

    def total(self):
        return self.sum


class Counter(Chare):
    def __init__(self):
        self.calls = 0

    def told(self):
        self.calls += 1

    def count(self):
        calls, self.calls = self.calls, 0
        return calls


def refused(*arguments):
    try:
        nocopy(*arguments)
    except CharmError as error:
        return str(error)
    return ""


def check_each_call(group):
    """Whoever waits for an array is told once, by whichever call it is sent."""
    counter = Chare(Counter)

    def told_once():
        charm.waitQD()
        return counter.count(ret=True).get() == 1

    for size in 10, 100000:
        def lent():
            return nocopy(numpy.ones(size), counter.told)

        assert group[0].mixed({"x": 1}, lent(), numpy.ones(1), ret=True).get() == size + 2
        assert told_once()
        owners = Group(Owner, args=[lent()])
        assert owners.total(ret=True).get() == [size] * charm.numPes()
        assert told_once()
        section = owners[0:charm.numPes()]
        section.add(lent())
        assert told_once()
        section.add(lent(), awaitable=True).get()
        assert told_once()
        assert owners.total(ret=True).get() == [3 * size] * charm.numPes()
        late = Array(Owner, ndims=1)
        late[7].add(lent())
        late.ckInsert(7, onPE=charm.numPes() - 1)
        late.ckDoneInserting()
        assert late[7].total(ret=True).get() == size
        assert told_once()


def main(args):
    group = Group(Reader)
    last = group[charm.numPes() - 1]
    for size in SIZES:
        data, returned = numpy.arange(size, dtype="float64"), Future()
        assert last.total(nocopy(data, returned), ret=True).get() == data.sum()
        returned.get()
        data, returned = data + 1, Future()
        assert group.total(nocopy(data, returned), ret=True).get() == [data.sum()] * charm.numPes()
        returned.get()
        passed = Future()
        last.pass_on(nocopy(data), group[0], passed)
        assert passed.get() == data.sum()
        given = last.give(size, ret=True).get()
        assert given.shape == (size,) and given.sum() == size
    assert [len(node) for node in last.tangle(ret=True).get()] == [8] * 8
    told = Future()
    ones, (seven, (zeros,)), text = given = last.give_several(told, ret=True).get()
    # It may be kept.
    told.get()
    assert ones.flags.writeable and zeros.flags.writeable and (seven, text) == (7, "text")
    assert ones.sum() == 5000 and zeros.sum() == 0 and len(given) == 3
    data, returned = empty_shared((512, 512), "int64"), Future()
    data[:] = numpy.arange(1 << 18).reshape(512, 512)
    data = data.reshape(-1)
    last.keep(nocopy(data, returned), awaitable=True).get()
    # Whoever keeps a part of it keeps it lent.
    assert not returned.ready()
    assert last.drop(ret=True).get() == [1, 2]
    returned.get()
    for data in empty_shared(1 << 18), numpy.empty(1 << 18), numpy.empty(1 << 20):
        data.fill(3)
        returned = Future()
        last.read_elsewhere(nocopy(data, returned))
        returned.get()
    assert last.write(nocopy(numpy.ones(100000)), ret=True).get() == "refused"
    assert last.write(numpy.ones(100000), ret=True).get() == "written"
    # A short array may change before the call, but not before its future is told.
    short, done = numpy.zeros(10), Future()
    argument = nocopy(short, done)
    short.fill(1)
    charm.sleep(0.01)
    assert not done.ready()
    assert last.total(argument, ret=True).get() == 10
    done.get()
    done = Future()
    found = last.mixed({"x": 1}, nocopy(numpy.ones(5000), done), numpy.ones(9), ret=True).get()
    assert found == 5010
    done.get()
    check_each_call(group)
    assert "not list" in refused([1, 2]) and "contiguous" in refused(numpy.ones((9, 9))[:, 1])
    assert "contiguous" in refused(numpy.array([None, "x"]))
    assert "tells a future or an entry method" in refused(numpy.ones(9), print)
    shared = empty_shared(0), empty_shared(3), empty_shared((100, 0, 5), "int8")
    assert [one.size for one in shared] == [0, 3, 0] and shared[1].flags.writeable
    charm.waitQD()
    print("ok")
    exit()


charm.start(main)
