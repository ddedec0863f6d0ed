"""Classes of chares as the library knows them."""

import ctypes
import inspect
from pickle import dumps, loads

from . import library as c
from .chare import NO_ENTRIES, RESERVED, ArrayMap, Chare
from .entries import EntryMethod, Reply, failed
from .futures import future_of
from .job import job
from .library import CharmError, ChareId, Message, Views, index_of, memory_view
from .lending import Lent
from .messages import (ARRAY_TYPE, HAS_BUFFERS, HAS_REPLY, PROTOCOL, TYPES, unpack_buffers,
                       unpack_small)
from .proxies import GROUP, MAIN, SINGLE, proxy_of, shown
from .reductions import result_of

# So often the size of a chare is used before it is measured again.
SIZE_USES = 10


class ClassInfo:
    """A class of chares: its constructor, its entry methods and its proxies."""

    def __init__(self, chare_class, shown_name, functions):
        check_methods(chare_class)
        self.chare_class, self.proxies, self.sections = chare_class, {}, {}
        self.number = -1
        self.record = c.Type(name=shown_name.encode(), context=id(self), **functions.of_types)
        self.constructor = EntryMethod(chare_class, "__init__", shown_name)
        self.constructor.record.construct = functions.construct
        self.constructor.record.type = ctypes.pointer(self.record)
        self.constructor.info = self
        self.entries = [EntryMethod(chare_class, name, shown_name)
                        for name in entry_names(chare_class)]
        for entry in self.entries:
            entry.record.invoke = functions.invoke
            entry.record.context = id(entry.context)

    def all_entries(self):
        return [self.constructor, *self.entries]

    def named(self, name):
        return next(entry for entry in self.entries if entry.name == name)


def entry_names(chare_class):
    """The methods of a class that messages can invoke."""
    for name in sorted(dir(chare_class)):
        function = getattr(chare_class, name)
        if callable(function) and not inspect.isclass(function) and name not in NO_ENTRIES \
                and not (name.startswith("__") and name.endswith("__")):
            yield name


def check_methods(chare_class):
    for name in RESERVED:
        if getattr(chare_class, name) is not getattr(Chare, name):
            raise CharmError(f"{chare_class.__name__} cannot have a method {name} of its own: "
                             "this is one of all chares")


def shown_names(classes):
    """A name for each class; with its module if another one has the same."""
    short = [chare_class.__qualname__ for chare_class in classes]
    return [name if short.count(name) == 1 else f"{chare_class.__module__}.{name}"
            for chare_class, name in zip(classes, short)]


def prepare(chare, identity, kind, info):
    """Gives an object what all chares have."""
    index = index_of(identity)
    chare._identity = ChareId.from_buffer_copy(identity)
    chare._address = ctypes.addressof(chare._identity)
    chare._kind = kind
    own = index if kind == MAIN else None
    proxy = proxy_of(info.number, MAIN if kind == MAIN else GROUP if kind == GROUP else 2,
                     identity.collection, len(index), own)
    chare.thisProxy = proxy.of_element(index) if kind == SINGLE else proxy
    if kind != MAIN:
        chare.thisIndex = index[0] if kind == GROUP else index


def begin(chare):
    """What a new chare begins with."""
    chare._waiting, chare._collective = {}, {}
    chare._suspended = chare._contributions = 0
    chare.migratable, chare._stays = True, False
    chare._packed_bytes = chare._size_uses = 0


def live(chare):
    """The library has this object from now on."""
    job.live[id(chare)] = chare
    return id(chare)


class Functions:
    """What the library calls."""

    def __init__(self, after_main):
        self.after_main = after_main
        self.packed = {}
        self.messages = Views(Message)
        self.construct = c.Construct(self.constructed)
        quick = job.library.open_quick(
            accept=self.accepted, other=self.invoked, failed=failed,
            flush=Chare.__flush_wait_queues__, ndarray=ARRAY_TYPE, types=TYPES, lent=Lent, job=job)
        self.send, job.hold, job.allocate, self.invoke, self.returned = quick
        self.of_types = {"packed_bytes": c.PackedBytes(self.packed_bytes),
                         "pack": c.Pack(self.pack), "unpack": c.Unpack(self.unpack),
                         "destroy": c.Destroy(self.destroy)}

    def constructed(self, entry, identity_address, message_address):
        before = job.current
        try:
            message = Message.from_address(message_address)
            arguments, reply, kind = unpack_small(message)
            chare = object.__new__(entry.chare_class)
            prepare(chare, ChareId.from_address(identity_address), kind, entry.info)
            begin(chare)
            job.current = chare
            address = live(chare)
            if kind == MAIN:
                self.after_main(None)
            entry.run(chare, arguments, reply)
            if kind == MAIN:
                self.after_main(chare)
            return address
        except BaseException as error:
            failed(error)
            return 0
        finally:
            job.current = before

    def accepted(self, entry, chare, arguments, reply):
        """A simple message for a method that is more than a function, or has a reply."""
        before, job.current = job.current, chare
        try:
            if reply is not None:
                kind, rank, number = reply
                reply = Reply(kind, future_of(rank, number))
            entry.accept(chare, arguments, reply)
        except BaseException as error:
            failed(error)
        finally:
            job.current = before

    def invoked(self, entry, chare, address):
        """Any other message."""
        before, job.current = job.current, chare
        try:
            message = self.messages.known.get(address) or self.messages(address)
            entry.accept(chare, *content(message, address))
        except BaseException as error:
            failed(error)
        finally:
            job.current = before

    def packed_bytes(self, context, chare):
        del context
        try:
            if not job.library.leaves():
                return known_size(chare)
            check_migration(chare)
            packed = self.packed[id(chare)] = dumps((chare._kind, chare), PROTOCOL)
            return len(packed)
        except BaseException as error:
            failed(error)
            return 0

    def pack(self, context, chare, into, size):
        del context
        packed = self.packed.pop(id(chare), b"")
        if len(packed) != size:
            # Nothing but a checkpoint packs what does not leave.
            failed(CharmError("chares of Python have no checkpoints"))
        ctypes.memmove(into, packed, min(len(packed), size))

    def unpack(self, info, identity_address, address, size):
        before = job.current
        try:
            kind, chare = loads(memory_view(address, size, c.READABLE))
            prepare(chare, ChareId.from_address(identity_address), kind, info)
            chare._packed_bytes, chare._size_uses = size, 1
            job.current = chare
            live(chare)
            chare.migrated()
            return id(chare)
        except BaseException as error:
            failed(error)
            return 0
        finally:
            job.current = before

    @staticmethod
    def destroy(context, address):
        del context
        job.live.pop(address, None)


def content(message, address):
    """The arguments and the reply in a message."""
    reference = message.reference
    if not message.bytes and not message.flags & c.RESULT:
        return (), None
    if message.flags & c.RESULT:
        view = memory_view(message.payload, message.bytes, c.READABLE)
        result = result_of(job.reducers, view) if message.bytes else ()
        return (reference, *result) if reference else result, None
    if reference & HAS_BUFFERS:
        found = unpack_buffers(job.hold(address))
    else:
        found = unpack_small(message)
    return found if reference & HAS_REPLY else (found, None)


def known_size(chare):
    """About how many bytes a chare has. A balancer asks for that in each round, but only a pickle
    tells it."""
    if chare._size_uses % SIZE_USES == 0:
        chare._packed_bytes = len(dumps((chare._kind, chare), PROTOCOL))
    chare._size_uses += 1
    return chare._packed_bytes


def check_migration(chare):
    channels = chare.__dict__.get("_channels")
    if channels is not None and channels.pending:
        raise CharmError(f"{shown(chare)} cannot migrate: a channel of it is not connected yet")


def found_in(module):
    """The classes of chares in a module, but those of this package."""
    for _, chare_class in inspect.getmembers(module, inspect.isclass):
        if issubclass(chare_class, Chare) and chare_class not in (Chare, ArrayMap):
            yield chare_class
