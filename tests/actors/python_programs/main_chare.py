"""A main chare, read-only data, and globals of all ranks."""
import sys

from towpath.charm import Chare, Group, Reducer, charm, readonlies as ro

counter = 0


class Main(Chare):
    def __init__(self, args):
        assert args[-1] == "argument"
        ro.main = self.thisProxy
        ro.table = {"a": [1, 2, 3]}
        ro.group = Group(Reader)
        self.left = charm.numPes()
        ro.group.start()

    def told(self, rank, value):
        assert value == 6 + rank
        self.left -= 1
        if self.left == 0:
            ro.group.finish()

    def finished(self, total):
        assert total == charm.numPes()
        print("ok")
        charm.exit()


class Reader(Chare):
    def start(self):
        assert charm.myPe() == self.thisIndex
        ro.main.told(self.thisIndex, sum(ro.table["a"]) + self.thisIndex)

    def finish(self):
        assert ro.group == self.thisProxy
        self.contribute(1, Reducer.sum, ro.main.finished)


if len(sys.argv) == 1:
    sys.argv.append("argument")
charm.start(Main)
