"""What ranks do for each other through charm.thisProxy."""
from towpath.charm import Array, Chare, Future, Group, Reducer, charm

charm.options.remote_exec = True
level = 1


def most(contributions):
    return max(contributions)


class Asker(Chare):
    def level(self):
        return level

    def make(self, future):
        charm.thisProxy[0].createArray(Asker, 3, cb=future)

    def reduce_most(self, future):
        self.contribute(self.thisIndex, Reducer.most, future)


def main(args):
    charm.thisProxy.updateGlobals({"level": 5}, awaitable=True).get()
    group = Group(Asker)
    assert group.level(ret=True).get() == [5] * charm.numPes()
    assert charm.thisProxy.eval("level + 1", ret=True).get() == [6] * charm.numPes()
    charm.thisProxy[charm.numPes() - 1].exec("global level; level = 9", awaitable=True).get()
    assert group[charm.numPes() - 1].level(ret=True).get() == 9
    assert charm.thisProxy.myPe(ret=True).get() == list(range(charm.numPes()))
    future = Future()
    group[charm.numPes() - 1].make(future)
    assert len(future.get().level(ret=True).get()) == 3
    charm.thisProxy.addReducer(most, awaitable=True).get()
    future = Future()
    group.reduce_most(future)
    assert future.get() == charm.numPes() - 1
    assert group[0].ckLocalBranch().thisIndex == 0
    print("ok")
    charm.thisProxy[charm.numPes() - 1].exit()


charm.start(main)
