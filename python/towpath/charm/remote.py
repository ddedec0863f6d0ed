"""The group that the module has on all ranks, `charm.thisProxy`."""

import sys
from ctypes import addressof

from .chare import Chare
from .entries import coro_ext
from .job import job
from .lending import own
from .library import CharmError
from .proxies import callback_to

# References of results have 32 bits.
LARGEST = 0xffffffff
# The clock counts nanoseconds in 64 bits.
LONGEST_SECONDS = 1 << 33


class Timers:
    """Functions that are called later."""

    def __init__(self):
        self.waiting, self.last = {}, 0

    def add(self, function, arguments):
        """The number of a function that waits."""
        self.last = self.last % LARGEST + 1
        self.waiting[self.last] = (function, arguments)
        return self.last

    def call(self, number):
        function, arguments = self.waiting.pop(number)
        function(*arguments)


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

    def _call_now(self, number):
        self.timers.call(number)

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
    number = job.remote.ckLocalBranch().timers.add(function, arguments)
    record = callback_to(job.remote[job.rank]._call_now)
    record.reference = number
    nanoseconds = int(min(max(seconds, 0), LONGEST_SECONDS) * 1e9)
    job.library.check(job.library.call_after(nanoseconds, addressof(record)))
