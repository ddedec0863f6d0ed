"""What programs call as `charm`: it starts a job, ends it and knows about it."""

import ctypes
import importlib
import inspect
import sys
import time
from ctypes import byref, c_int
from pickle import dumps, loads

from . import creation, proxies, topology
from . import library as c
from .balancing import resuming, take_balancer
from .chare import ArrayMap, Chare
from .classes import ClassInfo, Functions, found_in, shown_names
from .entries import driven
from .futures import create_future, in_coroutine, wait_each
from .job import job
from .library import CharmError, Library, memory_view
from .messages import PROTOCOL, Packer
from .pool import Pool
from .proxies import MAIN
from .reductions import Combiner
from .remote import CharmRemote, call_later
from .sections import Sections, section_locations


class ReadOnlies:
    """Data that rank 0 sets before its main chare waits or returns, and that all ranks have."""


readonlies = ReadOnlies()
job.reducers.addReducer(section_locations)


class MainFunction(Chare):
    """The main chare of a program that begins with a function."""

    def __init__(self, args):
        result = job.main_function(args)
        if inspect.iscoroutine(result):
            driven(result)


def register(C):
    """A decorator for classes of chares that charm.start would not find: those of a module it is
    not told of."""
    charm.register(C)
    return C


class Charm:
    """There is one of these in a process: `charm`."""

    def __init__(self):
        self.started = False
        self.options = job.options
        self.reducers = job.reducers
        self.registered = []
        self.pool = None
        self.sections = Sections()
        self.Future = self.createFuture = create_future

    @property
    def thisProxy(self):
        """The proxy of a group that does on each rank what it is asked for."""
        return job.remote

    # Starting.

    def register(self, C, collections=None):
        del collections
        if not (isinstance(C, type) and issubclass(C, Chare)):
            raise CharmError(f"{C!r} is no subclass of Chare")
        if self.started:
            raise CharmError(f"{C.__name__} must be registered before charm.start")
        if C not in self.registered and C not in (Chare, ArrayMap):
            self.registered.append(C)

    def start(self, entry=None, classes=(), modules=(), interactive=False):
        """Runs the program: `entry`, a function or a class of chares, on rank 0, and the chares of
        these classes and of those in the modules and in `__main__`. It ends the process."""
        if interactive:
            raise CharmError("there is no interactive mode; give a function to charm.start")
        if self.started:
            raise CharmError("charm.start can be called once")
        main = main_class(entry)
        for chare_class in (CharmRemote, main, *classes, *self.of_modules(modules)):
            self.register(chare_class)
        balancer = take_balancer(sys.argv)
        self.started = True
        sys.exit(self.run(main, balancer))

    def of_modules(self, names):
        for name in dict.fromkeys([*names, "__main__"]):
            yield from found_in(importlib.import_module(name))

    def run(self, main, balancer):
        """Runs the job, and returns its code."""
        sys.stdout.reconfigure(line_buffering=True)
        library = job.library = Library()
        job.packer = Packer(library)
        job.sections = self.sections
        functions = Functions(self.begin)
        job.send = functions.send
        made = self.register_all(library, functions)
        combine = c.Combine(Combiner(library, job.reducers))
        reducer = c.ReducerOfLibrary(name=b"python", combine=combine)
        library.register_reducer(byref(reducer))
        if balancer is not None:
            library.check(library.set_balancer(balancer.encode()))
        program = c.Program(read_only=c.ReadOnly(self.read_only), call_back=functions.returned)
        library.check(library.start(byref(program)))
        job.rank, job.ranks = library.rank(), library.ranks()
        job.reducer_number = reducer.number
        job.pool = self.pool = Pool(job.ranks)
        number_all(made)
        if job.rank == 0:
            self.make_main(main)
        return self.finish(library)

    def register_all(self, library, functions):
        made = []
        for chare_class, name in zip(self.registered, shown_names(self.registered)):
            info = job.classes[chare_class] = ClassInfo(chare_class, name, functions)
            made.append(info)
            library.register_type(byref(info.record))
            for entry in info.all_entries():
                library.register_entry(byref(entry.record))
        self.resuming = resuming(functions)
        library.register_entry(byref(self.resuming))
        return made

    def make_main(self, main):
        parameters = dumps(((sys.argv,), None, MAIN), PROTOCOL)
        number = job.classes[main].constructor.epIdx
        name = c.ChareId()
        job.library.check(job.library.create_chare(number, 0, parameters, len(parameters),
                                                   byref(name)))

    def finish(self, library):
        code = c_int()
        status = library.run(byref(code))
        if status:
            print(f"towpath: {library.error().decode()}", file=sys.stderr)
        sys.stdout.flush()
        library.stop()
        return code.value

    def begin(self, main):
        """Around the constructor of the main chare: makes what the module needs, and lets the
        other ranks begin with the read-only data."""
        if main is None:
            # Nothing waits for it, so its constructor contributes to no reduction.
            parameters = dumps(((), None, proxies.GROUP), PROTOCOL)
            job.remote = creation.make_collection(job.classes[CharmRemote], proxies.GROUP,
                                                 c.MAP_GROUP, (), True, parameters, 1)
            return
        public = {name: value for name, value in vars(readonlies).items()
                  if not name.startswith("_") and not name.endswith("_")}
        data = dumps((job.remote, public), PROTOCOL)
        job.library.check(job.library.begin(data, len(data)))

    def read_only(self, context, address, size):
        del context
        try:
            job.remote, public = loads(memory_view(address, size, c.READABLE))
            vars(readonlies).update(public)
        except BaseException as error:
            job.library.fail(f"{type(error).__name__}: {error}".encode())

    # The job.

    def exit(self, exit_code=0):
        """Ends the job on all ranks."""
        job.library.exit(exit_code)

    def abort(self, message):
        """Ends the job on all ranks, with a sentence."""
        print(message, file=sys.stderr, flush=True)
        job.library.exit(1)

    def myPe(self):
        return job.rank

    def numPes(self):
        return job.ranks

    def getTopoTreeEdges(self, pe, root_pe, pes=None, bfactor=4):
        """The parent and the children of a rank in a tree over some ranks, or all of them."""
        return topology.edges(pe, root_pe, pes, bfactor)

    def getTopoSubtrees(self, root_pe, pes, bfactor=4):
        """The ranks below the root, as a list for each of its children, which stands first."""
        return topology.subtrees(root_pe, pes, bfactor)

    def print_dbg(self, *args, **kwargs):
        print("PE", job.rank, ":", *args, **kwargs)

    def addReducer(self, func, pre=None, post=None):
        job.reducers.addReducer(func, pre, post)

    def contribute(self, data, reducer, target, chare, section=None):
        proxies.contribute(chare, data, reducer, target, section)

    def split(self, proxy, numsections, section_func=None, elems=None, slicing=None):
        return job.sections.split(proxy, numsections, section_func, elems, slicing)

    def combine(self, *proxies):
        return job.sections.combine(*proxies)

    # Waiting.

    def startQD(self, callback):
        """Tells a future or an entry method once no message is left anywhere."""
        record = proxies.callback_to(callback)
        job.library.check(job.library.start_quiescence(ctypes.addressof(record)))

    def waitQD(self):
        future = create_future()
        self.startQD(future)
        future.get()

    def sleep(self, secs):
        """Suspends the coroutine that runs, or this rank if there is none."""
        if in_coroutine():
            future = create_future()
            call_later(secs, future)
            future.get()
        else:
            time.sleep(secs)

    def scheduleCallableAfter(self, callable_obj, secs, args=()):
        """Calls something on this rank after so many seconds."""
        call_later(secs, callable_obj, args)

    def awaitCreation(self, *proxies):
        """Waits until the constructors of these collections have returned everywhere."""
        for proxy in proxies:
            future = getattr(proxy, "creation_future", None)
            if future is None:
                raise CharmError("awaitCreation waits for proxies that a coroutine has made")
            future.get()
            del proxy.creation_future

    def iwait(self, objs):
        """Gives each of some futures and channels as soon as it has something to get."""
        return wait_each(objs)

    def wait(self, objs):
        for _ in wait_each(objs):
            pass


def main_class(entry):
    """The class of the main chare."""
    if isinstance(entry, type) and issubclass(entry, Chare):
        entry.__init__._ck_coro = True
        wanted, parameters = entry.__init__, 2
    elif callable(entry):
        wanted, parameters = entry, 1
        MainFunction.__init__._ck_coro = True
        job.main_function = entry
        entry = MainFunction
    else:
        raise CharmError("charm.start needs a function or a class of chares to begin with")
    if wanted.__code__.co_argcount != parameters:
        raise CharmError("the program begins with a function, or the constructor of a chare, that "
                         "has one parameter: the arguments of the program")
    return entry


def number_all(made):
    """Takes in the numbers that the library has given, and makes the proxies."""
    made.sort(key=lambda info: info.record.number)
    job.by_number = made
    for number, info in enumerate(made):
        info.number = number
        for entry in info.all_entries():
            entry.epIdx = entry.record.number
            job.entries[entry.epIdx] = entry
        proxies.add_proxies(info)


charm = Charm()
