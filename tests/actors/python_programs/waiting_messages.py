"""Messages that wait for conditions migrate with their chare, and have default arguments. charm4py
fails with both."""
from towpath.charm import Array, Chare, charm, when


class Waiter(Chare):
    def __init__(self):
        self.ready, self.step, self.kept = False, 0, []

    @when("self.ready")
    def later(self, word):
        self.kept.append(word)

    @when("self.step == step")
    def at(self, step, word="default"):
        self.kept.append(word)

    @when("self.ready and size > 1")
    def sized(self, name, size=2):
        self.kept.append(name)

    def go(self, rank):
        self.migrate(rank)

    def make_ready(self):
        self.ready, self.step = True, 3

    def state(self):
        return sorted(self.kept), charm.myPe()


def main(args):
    array = Array(Waiter, 4)
    array.later("word")
    array.at(3)
    array.sized("name")
    charm.waitQD()
    for index in range(4):
        array[index].go((index + 1) % charm.numPes())
    charm.waitQD()
    assert [kept for kept, _ in array.state(ret=True).get()] == [[]] * 4
    array.make_ready(awaitable=True).get()
    charm.waitQD()
    for index, (kept, rank) in enumerate(array.state(ret=True).get()):
        assert kept == ["default", "name", "word"] and rank == (index + 1) % charm.numPes()
    print("ok")
    exit()


charm.start(main)
