"""`charm.pool`: functions that ranks run as tasks. Rank 0 hands them out; the others run them, or
rank 0 if it is alone."""

from collections import deque

from .entries import failed
from .futures import create_future
from .job import job
from .library import CharmError


class Tasks:
    """What one call of the pool asks for: a function for each element of a list, or pairs of
    functions and arguments."""

    def __init__(self, function, items, result, size, cores):
        self.function, self.result, self.cores = function, result, cores
        self.size = size
        self.waiting = deque((place, items[place:place + size])
                             for place in range(0, len(items), size))
        self.results = [None] * len(items)
        self.left, self.running = len(self.waiting), 0
        self.error = None


class Scheduler:
    """On rank 0."""

    def __init__(self, ranks):
        self.idle = deque(range(1, ranks)) or deque([0])
        self.workers = len(self.idle)
        self.jobs, self.made = {}, 0

    def start(self, tasks):
        if tasks.cores < 1 or tasks.cores > self.workers:
            tasks.cores = self.workers
        self.made += 1
        self.jobs[self.made] = tasks
        if not tasks.left:
            self.end(self.made, tasks)
        self.hand_out()

    def hand_out(self):
        for number, tasks in list(self.jobs.items()):
            while self.idle and tasks.waiting and tasks.running < tasks.cores:
                place, chunk = tasks.waiting.popleft()
                tasks.running += 1
                worker = job.remote[self.idle.popleft()]
                run = worker._run_coroutine if waits(tasks, chunk) else worker._run_task
                run(tasks.function, (number, place, chunk, tasks.size))

    def done(self, rank, number, place, results, error):
        tasks = self.jobs[number]
        tasks.running -= 1
        tasks.left -= 1
        if error is not None:
            tasks.error = error
            tasks.left -= len(tasks.waiting)
            tasks.waiting.clear()
        else:
            self.give(tasks, place, results)
        self.idle.append(rank)
        if not tasks.left:
            self.end(number, tasks)
        self.hand_out()

    def give(self, tasks, place, results):
        if isinstance(tasks.result, list):
            for at, result in enumerate(results, place):
                tasks.result[at].send(result)
                tasks.result[at] = None
        else:
            tasks.results[place:place + len(results)] = results

    def end(self, number, tasks):
        del self.jobs[number]
        error, result = tasks.error, tasks.result
        if isinstance(result, list):
            # Those of tasks that did not end well, or were not started.
            for future in filter(None, result):
                future.send(error)
        elif result is not None:
            result.send(tasks.results if error is None else error)
        elif error is not None:
            failed(error)

    def waits(self, rank, waits):
        """A worker's task is suspended, or goes on: the worker may have another meanwhile."""
        if waits:
            self.idle.append(rank)
        elif rank in self.idle:
            self.idle.remove(rank)
        self.hand_out()


def waits(tasks, chunk):
    """Whether a function of a chunk is a coroutine."""
    if tasks.function is not None:
        return hasattr(tasks.function, "_ck_coro")
    return any(hasattr(function, "_ck_coro") for function, _ in chunk)


class OneResult:
    """The future of a single task, which gets its result instead of a list."""

    def __init__(self, future):
        self.future = future

    def send(self, results):
        self.future.send(results[0] if isinstance(results, list) else results)


class Pool:
    """What programs call, on any rank."""

    def __init__(self, ranks):
        self.scheduler = Scheduler(ranks)

    def Task(self, func, args, ret=False, awaitable=False):
        """Runs `func(*args)`; the future that is asked for gets its result."""
        future = create_future() if ret or awaitable else None
        result = None if future is None else OneResult(future)
        self.ask(None, [(func, tuple(args))], result, 1, -1)
        return future

    def map(self, func, iterable, chunksize=1, ncores=-1):
        """The list of the results of a function for all elements."""
        return self.map_async(func, iterable, chunksize, ncores).get()

    def map_async(self, func, iterable, chunksize=1, ncores=-1, multi_future=False):
        """A future for the list of results, or a list of futures."""
        items = list(iterable)
        result = [create_future() for _ in items] if multi_future else create_future()
        self.ask(func, items, result, chunksize, ncores)
        return result

    def submit(self, iterable, chunksize=1, ncores=-1):
        """As map, for pairs of a function and its argument."""
        return self.map(None, iterable, chunksize, ncores)

    def submit_async(self, iterable, chunksize=1, ncores=-1, multi_future=False):
        return self.map_async(None, iterable, chunksize, ncores, multi_future)

    def ask(self, function, items, result, size, cores):
        if size < 1 or cores == 0:
            raise CharmError(f"tasks in chunks of {size} on {cores} ranks cannot be run")
        job.remote[0]._start_tasks(Tasks(function, items, result, size, cores))

    def start(self, tasks):
        self.scheduler.start(tasks)

    def run(self, function, task):
        """Runs a chunk on this rank."""
        number, place, chunk, size = task
        results = error = None
        try:
            results = [called(function, item, size) for item in chunk]
        except Exception as problem:
            error = problem
        job.remote[0]._task_done(job.rank, number, place, results, error)

    def threadPaused(self, rank):
        job.remote[0]._worker_waits(rank, True)

    def threadResumed(self, rank):
        job.remote[0]._worker_waits(rank, False)


def called(function, item, size):
    """One task. As in charm4py, the elements of a tuple are arguments of their own, except in
    chunks."""
    if function is None:
        function, item = item
    return function(*item) if isinstance(item, tuple) and size == 1 else function(item)
