"""Ends of jobs: the argument says which. Beyond charm4py: sentences."""
import sys
import threading

from towpath.charm import (Array, Chare, Future, Group, charm, checkCharmStarted, coro,
                           empty_shared)
from towpath.charm.balancing import take_balancer


class Failing(Chare):
    def raises(self):
        raise ValueError("bad value")

    def waits(self):
        Future().get()

    @coro
    def raises_later(self):
        self.thisProxy[0].nothing(ret=True).get()
        raise KeyError("late")

    def nothing(self):
        pass

    def code(self, code):
        charm.exit(code)

    def leaves(self, code):
        sys.exit(code)

    @coro
    def moves(self):
        self.migrate((charm.myPe() + 1) % charm.numPes())
        Future().get()

    def __getstate__(self):
        raise TypeError("no state")

    def is_ready(self):
        self.AtSync()

    def goes_far(self, rank):
        self.migrate(rank)

    def goes(self):
        self.migrate((charm.myPe() + 1) % charm.numPes())


def in_thread(call):
    errors = []

    def run():
        try:
            call()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    raise errors[0]


def main(args):
    array = Array(Failing, 4)
    one = array[3]
    case = args[1]
    if case == "raises":
        one.raises()
    elif case == "raises_main":
        raise RuntimeError("in main")
    elif case == "waits":
        one.waits()
    elif case == "raises_later":
        one.raises_later()
    elif case == "code":
        one.code(3)
    elif case == "leaves":
        one.leaves(4)
    elif case == "sentence":
        one.leaves("the last words")
    elif case == "abort":
        charm.abort("it was aborted")
    elif case == "no_resume":
        one.is_ready()
    elif case == "balancer":
        take_balancer(["+balancer", "BestLB"])
    elif case == "idle":
        Future().get()
    elif case == "index":
        array[1, 2].nothing()
    elif case == "no_element":
        array[10].nothing()
    elif case == "rank":
        Chare(Failing, onPE=100)
    elif case == "far_index":
        array[2**32 + 3].nothing()
    elif case == "far_branch":
        Group(Failing)[2**32].nothing()
    elif case == "far_rank":
        Chare(Failing, onPE=2**32)
    elif case == "far_migration":
        one.goes_far(2**32)
    elif case == "negative_migration":
        one.goes_far(-1)
    elif case == "thread":
        in_thread(one.nothing)
    elif case == "thread_allocates":
        in_thread(lambda: empty_shared(10000))
    elif case == "parameter":
        one.nothing(word=1)
    elif case == "arguments":
        one.nothing(1, 2, 3)
    elif case == "moves":
        one.moves()
    elif case == "goes":
        one.goes()
    elif case == "twice":
        charm.start(main)
    Future().get()


if sys.argv[1] == "not_started":
    checkCharmStarted()
else:
    charm.start(main)
