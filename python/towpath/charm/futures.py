"""Coroutines of chares, and the futures for which they wait.

A coroutine is a greenlet, whether its method is decorated or an `async def`: `await future` and
`future.get()` do the same.
"""

from functools import partial

from greenlet import getcurrent, greenlet

from .job import job
from .library import CharmError


class NotThreadedError(Exception):
    """A method that is no coroutine cannot wait."""

    def __init__(self, message):
        super().__init__(message)
        self.message = message


class Coroutine(greenlet):
    """A method that may be suspended."""

    def __init__(self, function, chare, observer=None):
        super().__init__(function)
        self.chare, self.observer = chare, observer
        self.is_counted = False

    def go(self, *arguments):
        """Lets it run until it waits or ends."""
        # It may have been started inside of another coroutine, which has ended meanwhile.
        self.parent = getcurrent()
        self.switch(*arguments)
        if self.dead:
            if self.is_counted:
                self.count(-1)
        elif not self.is_counted:
            self.count(1)

    def count(self, change):
        """A chare with a suspended method cannot migrate."""
        self.is_counted = change > 0
        chare = self.chare
        chare._suspended += change
        if change > 0 and chare._suspended == 1:
            job.library.check(job.library.pin(chare._address))
        elif change < 0 and chare._suspended == 0:
            job.library.unpin(chare._address)

    def resume(self, value=None):
        """Lets it go on, with what it has waited for."""
        if self.observer is not None:
            self.observer._resumed(self.chare)
        run_for(self.chare, self.go, value)


def run_for(chare, function, *arguments):
    """Runs code of a chare outside of its entry methods."""
    before = job.current
    if before is chare:
        function(*arguments)
        return
    job.library.check(job.library.enter(chare._address))
    job.current = chare
    try:
        function(*arguments)
        chare.__flush_wait_queues__()
    finally:
        job.current = before
        job.library.leave(chare._address)


def current_coroutine():
    """The coroutine that runs."""
    coroutine = getcurrent()
    if not isinstance(coroutine, Coroutine):
        raise not_threaded()
    return coroutine


def suspend():
    """Suspends the coroutine that runs, and returns what it is resumed with."""
    coroutine = current_coroutine()
    if coroutine.observer is not None:
        coroutine.observer._paused(coroutine.chare)
    return coroutine.parent.switch()


def in_coroutine():
    return isinstance(getcurrent(), Coroutine)


def not_threaded():
    chare = job.current
    name = type(chare).__name__ if chare is not None else "this program"
    return NotThreadedError(f"a method of {name} waits for something: it must be a coroutine "
                            "(decorate it with @coro, or write async def)")


class LocalFuture:
    """Values for coroutines of this rank; each value is for one of them."""

    def __init__(self):
        self.coroutines, self.values = [], []

    def send(self, result=None):
        self.values.append(result)
        if self.coroutines:
            self.coroutines.pop(0).resume()

    def get(self):
        if not self.values:
            self.coroutines.append(current_coroutine())
            suspend()
        return self.values.pop(0)

    def __await__(self):
        return self.get()
        yield


class Future:
    """Values that any rank sends, and for which coroutines of the rank that made it wait."""

    def __init__(self, number, rank, count=1):
        self.fid, self.src, self.nvals = number, rank, count
        self.values = []
        self.error = None
        # What is called once it is ready.
        self.waiting = []

    def get(self):
        """Waits for the value, or for a list of them if there are several. Raises what was
        raised instead of a value."""
        if not self.ready():
            self.check_here()
            self.waiting.append(current_coroutine().resume)
            suspend()
        if self.error is not None:
            raise self.error
        return self.values[0] if self.nvals == 1 else self.values

    def __await__(self):
        return self.get()
        yield

    def check_here(self):
        if self.src != job.rank or job.futures.get(self.fid) is not self:
            raise CharmError("a future that was sent to another chare can get values, but only "
                             "the one that was made can wait for them")

    def ready(self):
        return len(self.values) >= self.nvals

    def waitReady(self, listener):
        """Sends this future to a listener once it is ready."""
        self.check_here()
        self.waiting.append(partial(listener.send, self))

    def send(self, result=None):
        job.remote[self.src]._future_deposit_result(self.fid, result)

    def __call__(self, result=None):
        self.send(result)

    def getTargetProxyEntryMethod(self):
        return job.remote[self.src]._future_deposit_result

    def deposit(self, result):
        self.values.append(result)
        if isinstance(result, BaseException) and self.error is None:
            self.error = result
        if not self.ready():
            return
        job.futures.pop(self.fid, None)
        self.wake()

    def wake(self):
        waiting, self.waiting = self.waiting, []
        for go_on in waiting:
            go_on()

    def cancel(self):
        """Gives it None for all values that it lacks."""
        job.futures.pop(self.fid, None)
        self.values += [None] * (self.nvals - len(self.values))
        self.wake()

    def __reduce__(self):
        return future_of, (self.src, self.fid)


class CollectiveFuture(Future):
    """The result of a reduction, for each chare of a collection."""

    def __init__(self, number, chare):
        super().__init__(number, job.rank)
        self.chare = chare

    def check_here(self):
        if self.fid not in self.chare._collective:
            raise CharmError("this future has got its value already")

    def getTargetProxyEntryMethod(self):
        return self.chare.thisProxy._coll_future_deposit_result

    def send(self, result=None):
        self.getTargetProxyEntryMethod()(self.fid, result)

    def deposit(self, result):
        del self.chare._collective[self.fid]
        self.values.append(result)
        if isinstance(result, BaseException):
            self.error = result
        self.wake()


def future_of(rank, number):
    """A future that was sent: the one that was made, where it was made."""
    known = job.futures.get(number) if rank == job.rank else None
    return Future(number, rank) if known is None else known


# Numbers of futures are references of results, which have 32 bits.
LARGEST = 0xffffffff


def create_future(num_vals=1):
    """A future for so many values."""
    job.check_started()
    if not in_coroutine():
        raise not_threaded()
    number = job.last_future % LARGEST + 1
    while number in job.futures:
        number = number % LARGEST + 1
    job.last_future = number
    future = job.futures[number] = Future(number, job.rank, num_vals)
    return future


def wait_each(objects):
    """Gives each of some futures and channels as soon as it has something."""
    ready = [one for one in objects if one.ready()]
    others = [one for one in objects if not one.ready()]
    announced = LocalFuture()
    for one in others:
        one.waitReady(announced)
    yield from ready
    for _ in others:
        yield announced.get()
