"""The group that the module has on all ranks, `charm.thisProxy`."""

import sys
import time
from heapq import heappop, heappush

from .chare import Chare
from .entries import coro_ext
from .job import job
from .lending import own
from .library import CharmError

# A rank that only waits for a time asks for it so often.
LONGEST_NAP = 50e-6


class Timers:
    """Functions that are called later. The scheduler has no clock, so a message goes round on this
    rank as long as there are any."""

    def __init__(self):
        self.due, self.made, self.goes_round = [], 0, False

    def add(self, seconds, function, arguments):
        """Whether the message must be sent: none goes round yet."""
        self.made += 1
        heappush(self.due, (time.monotonic() + seconds, self.made, function, arguments))
        starts, self.goes_round = not self.goes_round, True
        return starts

    def call(self):
        """Calls what is due; whether there is more."""
        while self.due and self.due[0][0] <= time.monotonic():
            _, _, function, arguments = heappop(self.due)
            function(*arguments)
        if self.due:
            time.sleep(max(0.0, min(LONGEST_NAP, self.due[0][0] - time.monotonic())))
        self.goes_round = bool(self.due)
        return self.goes_round


class CharmRemote(Chare):
    """Does on each rank what is asked for by `charm.thisProxy`."""

    def __init__(self):
        self.timers = Timers()
        self.__addThreadEventSubscriber__(job.pool, job.rank)

    def exit(self, exit_code=0):
        job.library.exit(exit_code)

    def myPe(self):
        return job.rank

    def addReducer(self, func, pre=None, post=None):
        job.reducers.addReducer(func, pre, post)

    def createArray(self, cls, dims=None, ndims=-1, args=(), map=None, useAtSync=False, cb=None):
        from .creation import Array
        proxy = Array(cls, dims, ndims, args, map, useAtSync)
        if cb is not None:
            cb(proxy)
        return proxy

    def updateGlobals(self, global_dict, module_name="__main__"):
        vars(sys.modules[module_name]).update(global_dict)

    def rexec(self, code, module_name="__main__"):
        check_allowed()
        exec(code, vars(sys.modules[module_name]))

    def exec(self, code, module_name="__main__"):
        self.rexec(code, module_name)

    def eval(self, expression, module_name="__main__"):
        check_allowed()
        return eval(expression, vars(sys.modules[module_name]))

    def _future_deposit_result(self, fid, result=None):
        future = job.futures.get(fid)
        if future is None:
            raise CharmError(f"no future {fid} waits for a value: it has got its value already")
        # It is kept longer than a method runs.
        future.deposit(own(result))

    def _call_later(self):
        if self.timers.call():
            job.remote[job.rank]._call_later()

    def _send_to_section(self, section, number, arguments, reply):
        job.sections.passed_on(section, number, arguments, reply)

    def _make_section(self, section, ranks, parent):
        job.sections.made(section, ranks, parent)

    def _section_contribution(self, section, number, values, reducer, target):
        job.sections.contributed(section, number, values, reducer, target)

    def _start_tasks(self, tasks):
        job.pool.start(tasks)

    def _run_task(self, function, task):
        job.pool.run(function, task)

    @coro_ext(event_notify=True)
    def _run_coroutine(self, function, task):
        job.pool.run(function, task)

    def _task_done(self, rank, number, place, results, error):
        job.pool.scheduler.done(rank, number, place, results, error)

    def _worker_waits(self, rank, waits):
        job.pool.scheduler.waits(rank, waits)


def check_allowed():
    if job.options.remote_exec is not True:
        raise CharmError("ranks run no code of others unless charm.options.remote_exec is True")


def call_later(seconds, function, arguments=()):
    """Calls a function on this rank after so many seconds."""
    branch = job.remote[job.rank]
    local = job.remote.ckLocalBranch()
    if local.timers.add(seconds, function, arguments):
        branch._call_later()
