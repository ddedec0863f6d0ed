"""Elements with unequal work that are ready for load balancing again and again: they go on after it,
where they are then, with what they had; some of them may not migrate, or belong to a section."""
import time

from towpath.charm import Array, Chare, Future, Reducer, charm

ELEMENTS, ROUNDS = 16, 12
MEMBERS = (3, 11)
# By so many bytes a chare grows in each round.
GROWTH = 1000


class Worker(Chare):
    def __init__(self, done):
        self.done, self.round, self.state = done, 0, list(range(self.thisIndex[0]))
        self.places, self.grown = [charm.myPe()], b""
        if self.thisIndex[0] % 5 == 0:
            self.setMigratable(False)

    def work(self):
        # Those of the first rank have more to do.
        end = time.process_time() + (0.002 if self.thisIndex[0] < ELEMENTS // 2 else 0)
        while time.process_time() < end:
            pass
        self.round += 1
        self.grown += bytes(GROWTH)
        self.AtSync()

    def stays(self):
        return self.thisIndex[0] % 5 == 0 or self.thisIndex[0] in MEMBERS

    def joined(self):
        return self.thisIndex[0]

    def resumeFromSync(self):
        if self.places[-1] != charm.myPe():
            self.places.append(charm.myPe())
        assert self.state == list(range(self.thisIndex[0]))
        if self.round < ROUNDS:
            self.thisProxy[self.thisIndex].work()
        else:
            # Balancers that are told sizes are not told those of long ago.
            is_told = getattr(self, "_size_uses", 0) > 0
            assert not is_told or self._packed_bytes > len(self.grown) / 2
            self.contribute([self.round, len(self.places) - 1], Reducer.sum, self.done)
            if self.stays():
                assert len(self.places) == 1


def main(args):
    done = Future()
    workers = Array(Worker, ELEMENTS, args=[done], useAtSync=True)
    section = charm.split(workers, 1, elems=[(member,) for member in MEMBERS])[0]
    assert sorted(section.joined(ret=True).get()) == sorted(MEMBERS)
    workers.work()
    rounds, migrations = done.get()
    assert rounds == ELEMENTS * ROUNDS
    if "moves" in args and charm.numPes() > 1:
        assert migrations > 0, "nobody has migrated"
    assert "+balancer" not in args
    print("ok")
    exit()


charm.start(main)
