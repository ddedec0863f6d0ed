"""Functions that are called later: in the order of their times, not too early, and while they wait
the rank sleeps, which charm4py does not do."""
import time

from towpath.charm import Chare, Future, Group, charm

DELAYS = [0.03, 0.01, 0, 0.02, -1, 0.01]
SLEEP = 0.5


class Sleeper(Chare):
    def later(self, done):
        began, called = time.monotonic(), []
        for number, delay in enumerate(DELAYS):
            charm.scheduleCallableAfter(self.called, delay, [called, number, began])
        charm.scheduleCallableAfter(done, 0.04, [called])

    def called(self, called, number, began):
        called.append((number, time.monotonic() - began))


def main(args):
    sleepers = Group(Sleeper)
    for rank in range(charm.numPes()):
        done = Future()
        sleepers[rank].later(done)
        called = done.get()
        assert sorted(number for number, _ in called) == list(range(len(DELAYS)))
        order = [number for number, _ in called if DELAYS[number] > 0]
        assert order == [1, 5, 3, 0], called
        assert all(after >= DELAYS[number] for number, after in called), called
    charm.waitQD()
    began, used = time.monotonic(), time.process_time()
    charm.sleep(SLEEP)
    took, used = time.monotonic() - began, time.process_time() - used
    assert took >= SLEEP and used < SLEEP / 2, (took, used)
    # Quiescence waits for what is called later.
    done = Future()
    charm.scheduleCallableAfter(done, 0.05)
    charm.waitQD()
    assert done.ready()
    print("ok")
    exit()


charm.start(main)
