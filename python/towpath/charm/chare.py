"""The class of all chares."""

from greenlet import getcurrent

from . import proxies
from .balancing import at_sync, may_migrate
from .conditions import Condition, enqueue, next_call
from .futures import Coroutine, in_coroutine, not_threaded, suspend
from .job import job
from .library import CharmError

# What programs cannot redefine.
RESERVED = {"wait", "contribute", "reduce", "allreduce", "migrate", "setMigratable", "AtSync",
            "_coll_future_deposit_result", "__flush_wait_queues__",
            "__addThreadEventSubscriber__", "_getSectionLocations_", "_channelConnect__",
            "_channelRecv__"}
# Methods of Chare that are no entry methods.
NO_ENTRIES = {"wait", "contribute", "reduce", "allreduce", "migrated", "AtSync"}


class Chare:
    """An object that is invoked by messages. `Chare(C, args=[...], onPE=rank)` makes one that
    belongs to no array, and gives its proxy."""

    def __new__(cls, chare_type=None, args=(), onPE=-1):
        if chare_type is None:
            return object.__new__(cls)
        from .creation import new_single
        return new_single(chare_type, args, onPE)

    def wait(self, cond_str):
        """Suspends the coroutine that runs until an expression over `self` is true."""
        known = type(self).__dict__.get("_conditions")
        if known is None:
            known = type(self)._conditions = {}
        condition = known.get(cond_str)
        if condition is None:
            condition = known[cond_str] = Condition(cond_str, type(self).__module__)
        if condition.is_met(self):
            return
        if not in_coroutine():
            raise not_threaded()
        enqueue(self, condition, (getcurrent(), (), None))
        suspend()

    def __flush_wait_queues__(self):
        """Runs what waits for conditions that are true now."""
        while self._waiting:
            call = next_call(self)
            if call is None:
                return
            waiter, arguments, reply = call
            if isinstance(waiter, Coroutine):
                waiter.resume()
            else:
                waiter.run(self, arguments, reply)

    def contribute(self, data, reducer, callback, section=None):
        """Contributes to a reduction of this chare's collection, whose result a future or an entry
        method gets."""
        proxies.contribute(self, data, reducer, callback, section)

    def reduce(self, callback, data=None, reducer=None, section=None):
        if not callable(callback):
            raise CharmError("the first argument of reduce is a future or an entry method of a "
                             "proxy, which gets the result")
        proxies.contribute(self, data, reducer, callback, section)

    def allreduce(self, data=None, reducer=None, section=None):
        """A future for the result of a reduction to which all chares of the collection contribute
        by this method."""
        if not in_coroutine():
            raise not_threaded()
        future = proxies.collective_future(self, section)
        proxies.contribute(self, data, reducer, future, section)
        return future

    def migrate(self, toPe):
        """Lets this chare migrate to a rank once its running method has returned."""
        if not self.migratable:
            raise CharmError(f"{proxies.shown(self)} cannot migrate: it has called "
                             "setMigratable(False)")
        if hasattr(self, "_sections"):
            raise CharmError(f"{proxies.shown(self)} cannot migrate: it belongs to a section")
        job.library.check(job.library.migrate(self._address, job.rank_of(toPe)))

    def migrated(self):
        """Is called after this chare has migrated."""

    def AtSync(self):
        """Says that this element of an array is ready for load balancing. Its entry method
        `resumeFromSync` is invoked once all are and have migrated."""
        at_sync(self)

    def setMigratable(self, migratable):
        self.migratable = migratable
        if migratable:
            may_migrate(self)

    def _coll_future_deposit_result(self, fid, result=None):
        future = self._collective.get(fid)
        # Chares that were made meanwhile get the results of reductions before theirs.
        if future is not None:
            future.deposit(result)

    def __addThreadEventSubscriber__(self, target, args):
        self._subscriber = (target, args)

    def _paused(self, chare):
        target, args = chare._subscriber
        target.threadPaused(args)

    def _resumed(self, chare):
        target, args = chare._subscriber
        target.threadResumed(args)

    def _getSectionLocations_(self, first, count, member_of, slicing, members, future, section):
        job.sections.joined(self, first, count, member_of, slicing, members, future, section)

    def _channelConnect__(self, remote, port):
        channels_of(self).connected(remote, port)

    def _channelRecv__(self, port, number, *message):
        channels_of(self).received(port, number, message)


class ArrayMap(Chare):
    """Says on which ranks the elements of an array begin: `procNum(index)`. A group of these is
    passed to Array."""


def channels_of(chare):
    from .channel import Channels
    channels = chare.__dict__.get("_channels")
    if channels is None:
        channels = chare._channels = Channels()
    return channels
