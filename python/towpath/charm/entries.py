"""Entry methods: how they are declared, and how they run."""

import inspect
import sys
import traceback

from greenlet import GreenletExit

from .conditions import Condition, enqueue
from .futures import Coroutine
from .job import job
from .library import CharmError, Entry


def when(cond_str):
    """Lets an entry method wait until a condition holds, over `self` and its parameters."""
    def decorate(function):
        code = function.__code__
        parameters = code.co_varnames[1:code.co_argcount]
        function.when_cond = Condition(cond_str, function.__module__, parameters)
        return function
    return decorate


def coro(function):
    """Makes an entry method a coroutine: it may wait for futures, channels and conditions."""
    function._ck_coro = True
    return function


def coro_ext(event_notify=False):
    """As `coro`; a chare may be told when the coroutine is suspended and resumed."""
    def decorate(function):
        function._ck_coro = True
        function._ck_coro_notify = event_notify
        return function
    return decorate


class Reply:
    """Where the result of an invocation goes."""

    ELEMENT, ALL, ALL_RESULTS, CREATION = range(4)

    __slots__ = ("kind", "future", "section")

    def __init__(self, kind, future, section=None):
        self.kind, self.future, self.section = kind, future, section

    def __reduce__(self):
        return Reply, (self.kind, self.future, self.section)

    def simple(self):
        """It as a tuple of numbers, or None."""
        future = self.future
        return (self.kind, future.src, future.fid) if self.section is None else None

    def give(self, chare, result):
        if self.kind == Reply.ELEMENT:
            self.future.send(result)
        elif self.kind == Reply.ALL_RESULTS:
            chare.contribute(result, job.reducers.gather, self.future, self.section)
        else:
            chare.contribute(None, None, self.future, self.section)

    def give_error(self, chare, error):
        error.remote_stacktrace = (job.rank, traceback.format_exc())
        if self.kind == Reply.ELEMENT:
            self.future.send(error)
        elif self.kind == Reply.ALL_RESULTS:
            self.give(chare, error)
        else:
            chare.contribute(error, job.reducers.first_error, self.future, self.section)


class EntryMethod:
    """A method of a class of chares that can be invoked by messages."""

    def __init__(self, chare_class, name, shown):
        function = getattr(chare_class, name)
        self.chare_class, self.name, self.function = chare_class, name, function
        self.is_async = inspect.iscoroutinefunction(function)
        self.is_coroutine = self.is_async or hasattr(function, "_ck_coro")
        self.notifies = getattr(function, "_ck_coro_notify", False)
        self.condition = getattr(function, "when_cond", None)
        self.epIdx = -1
        self.parameters, self.defaults = parameters_of(function)
        is_all = not self.is_coroutine and self.condition is None
        # What the library for small messages needs to know.
        self.context = (self, function if is_all else None)
        self.record = Entry(name=f"{shown}::{name}".encode(), context=id(self))

    def __reduce__(self):
        return entry_of, (self.epIdx,)

    def accept(self, chare, arguments, reply):
        """Runs it, or lets it wait for its condition."""
        condition = self.condition
        if condition is not None:
            arguments = self.with_defaults(arguments)
            if not condition.is_met(chare, arguments):
                enqueue(chare, condition, (self, arguments, reply))
                return
        self.run(chare, arguments, reply)
        if chare._waiting:
            chare.__flush_wait_queues__()

    def with_defaults(self, arguments):
        missing = len(self.parameters) - len(arguments)
        if 0 < missing <= len(self.defaults):
            arguments = (*arguments, *self.defaults[-missing:])
        return arguments

    def run(self, chare, arguments, reply):
        if self.is_coroutine:
            observer = chare if self.notifies else None
            Coroutine(self.call, chare, observer).go(chare, arguments, reply)
        else:
            self.call(chare, arguments, reply)

    def call(self, chare, arguments, reply):
        try:
            result = self.function(chare, *arguments)
            if self.is_async:
                result = driven(result)
        except SystemExit as end:
            failed(end)
        except GreenletExit:
            raise
        except BaseException as error:
            if reply is None or reply.kind == Reply.CREATION:
                failed(error)
            else:
                reply.give_error(chare, error)
        else:
            if reply is not None:
                reply.give(chare, result)


def parameters_of(function):
    """The names of an entry method's parameters, and the values of the last ones."""
    code = getattr(function, "__code__", None)
    if code is None:
        return (), ()
    names = code.co_varnames[1:code.co_argcount]
    if "ret" in names or "awaitable" in names:
        raise CharmError(f"{function.__qualname__} has a parameter ret or awaitable: calls of "
                         "entry methods use these words")
    return names, function.__defaults__ or ()


def driven(coroutine):
    """The result of an `async def`. Its futures suspend the greenlet in which this runs."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise CharmError("a method awaits what is no future of towpath.charm")


def exit_code(end):
    """The status for which SystemExit stands."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code
    print(end.code, file=sys.stderr)
    return 1


def failed(error):
    """Ends the job because of an exception in the method that runs."""
    if isinstance(error, SystemExit):
        job.library.exit(exit_code(error))
        return
    if error is None:
        error = CharmError("a message has arrived that this module has not made")
    sys.stdout.flush()
    stack = getattr(error, "remote_stacktrace", None)
    if stack is None:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        rank = job.rank
    else:
        rank, text = stack
    print(f"{text}(rank {rank})", file=sys.stderr, flush=True)
    job.library.fail(f"{type(error).__name__}: {error}".encode())


def entry_of(number):
    return job.entries[number]
