"""Proxies: they send messages to chares, and are values that can be sent."""

from ctypes import addressof, byref
from pickle import dumps

from .entries import Reply
from .futures import CollectiveFuture, Future, create_future
from .job import job
from .library import CALL_ALL, CALL_CHARE, Callback, ChareId, CharmError, fill_index
from .messages import PROTOCOL
from .reductions import value_of

MAIN, GROUP, ARRAY, SINGLE = range(4)
# Of libtowpath_actors_python.so: other arguments are pickled.
NOT_SIMPLE = 1
# Proxies of elements that the proxy of a collection keeps.
MOST_ELEMENTS = 65536


class Proxy:
    """Of a chare, or of all of a collection. Subclasses have the entry methods of one class."""

    info = None
    kind = None
    everybody = ()
    issec = False

    def __init__(self, collection, ndims=1, index=None):
        self.collection, self.ndims = collection, ndims
        self.elemIdx = self.everybody if index is None else index
        self.identity, self.address = None, 0
        self.elements = {}
        if index is not None:
            identity = self.identity = ChareId(collection=collection)
            fill_index(identity.index, (index,) if isinstance(index, int) else index)
            self.address = addressof(identity)

    def of_element(self, index):
        found = self.elements.get(index)
        if found is None:
            if len(self.elements) >= MOST_ELEMENTS:
                self.elements.clear()
            found = self.elements[index] = type(self)(self.collection, self.ndims, index)
        return found

    def key(self):
        return self.collection, self.elemIdx

    def __eq__(self, other):
        return isinstance(other, Proxy) and self.key() == other.key()

    def __hash__(self):
        return hash(self.key())

    def __reduce__(self):
        index = self.elemIdx if self.address else None
        return proxy_of, (self.info.number, self.kind, self.collection, self.ndims, index)

    def __repr__(self):
        return f"<{type(self).__name__} {self.elemIdx}>" if self.address else \
            f"<{type(self).__name__}>"


class MainProxy(Proxy):
    kind = MAIN

    @property
    def cid(self):
        return self.elemIdx


class ArrayProxy(Proxy):
    kind = ARRAY

    @property
    def aid(self):
        return self.collection

    def __getitem__(self, index):
        if type(index) is not tuple:
            index = (index,) if isinstance(index, (int, slice)) else tuple(index)
        try:
            found = self.elements.get(index)
        except TypeError:
            # Before Python 3.12 slices have no hash.
            found = None
        if found is not None:
            return found
        if len(index) != self.ndims:
            raise CharmError(f"the array has {self.ndims} dimensions: it has no index {index}")
        if any(isinstance(word, slice) for word in index):
            return job.sections.sliced(self, index)
        return self.of_element(index)

    def ckInsert(self, index, args=(), onPE=-1, useAtSync=False):
        """Inserts an element of an array that was made without dimensions."""
        if useAtSync:
            job.library.join_balancing(self.collection)
        index = (index,) if isinstance(index, int) else tuple(index)
        if len(index) != self.ndims:
            raise CharmError(f"the array has {self.ndims} dimensions: it has no index {index}")
        insert(self, index, onPE, dumps((tuple(args), None, ARRAY), PROTOCOL))

    def ckDoneInserting(self):
        job.library.done_inserting(self.collection)


class GroupProxy(Proxy):
    kind = GROUP
    everybody = -1

    @property
    def gid(self):
        return self.collection

    def __getitem__(self, rank):
        if isinstance(rank, slice):
            return job.sections.sliced(self, (rank,))
        return self.of_element(int(rank))

    def ckLocalBranch(self):
        """The chare of this group on this rank."""
        return local_branch(self.collection)


def local_branch(collection):
    address = job.library.local(byref(group_identity(collection)))
    if not address:
        raise CharmError("the group has no branch on this rank yet")
    return job.live[address]


def group_identity(collection):
    identity = ChareId(collection=collection)
    fill_index(identity.index, (job.rank,))
    return identity


def section_proxy(proxy, section):
    """The proxy of a section of a collection."""
    made = proxy.info.sections[proxy.kind](proxy.collection, proxy.ndims)
    made.section = section
    return made


class SectionProxy:
    """What is different for some of the chares of a collection."""

    issec = True
    section = None

    def of_element(self, index):
        whole = proxy_of(self.info.number, self.kind, self.collection, self.ndims)
        return whole.of_element(index)

    def key(self):
        return self.collection, self.section

    def __reduce__(self):
        return section_of, (self.info.number, self.kind, self.collection, self.ndims,
                            self.section)


def section_of(number, kind, collection, ndims, section):
    return section_proxy(proxy_of(number, kind, collection, ndims), section)


KINDS = {MAIN: MainProxy, GROUP: GroupProxy, ARRAY: ArrayProxy}
SUFFIXES = {MAIN: "Proxy", GROUP: "GroupProxy", ARRAY: "ArrayProxy"}


def proxy_of(number, kind, collection, ndims, index=None):
    """The proxy of this rank for a collection or one of its chares."""
    known = job.proxies.get(collection)
    if kind == MAIN:
        return job.by_number[number].proxies[MAIN](collection, 1, index)
    if known is None:
        made = job.by_number[number].proxies[kind]
        known = job.proxies[collection] = made(collection, ndims)
    return known if index is None else known.of_element(index)


def add_proxies(info):
    """Makes the classes of the proxies for a class of chares."""
    for kind, base in KINDS.items():
        methods = {entry.name: method_of(entry) for entry in info.entries}
        name = info.chare_class.__name__ + SUFFIXES[kind]
        namespace = {**methods, "info": info, "__module__": info.chare_class.__module__}
        whole = info.proxies[kind] = type(name, (base,), namespace)
        methods = {entry.name: section_method_of(entry) for entry in info.entries}
        info.sections[kind] = type("Section" + name, (SectionProxy, whole), methods)


def method_of(entry):
    """The method of proxies that invokes an entry method."""
    number, quick, pack, message = entry.epIdx, job.send, job.packer.pack, job.packer.address
    invoke, broadcast, check = job.library.invoke, job.library.broadcast, job.library.check

    def send(self, *arguments, **options):
        if not options:
            status = quick(self.address, self.collection, number, arguments)
            if status == NOT_SIMPLE:
                pack(number, arguments, None)
                status = invoke(self.address, message) if self.address else \
                    broadcast(self.collection, message)
            return check(status) if status else None
        arguments, reply = with_options(self, entry, arguments, options)
        simple = () if reply is None else (reply.simple(),)
        status = quick(self.address, self.collection, number, arguments, *simple)
        if status == NOT_SIMPLE:
            pack(number, arguments, reply)
            status = invoke(self.address, message) if self.address else \
                broadcast(self.collection, message)
        check(status)
        return reply and reply.future

    return named(send, entry)


def section_method_of(entry):
    """The same for sections."""
    def send(self, *arguments, **options):
        arguments, reply = with_options(self, entry, arguments, options)
        job.sections.send(self, entry, arguments, reply)
        return reply and reply.future

    return named(send, entry)


def named(method, entry):
    method.ep = entry.epIdx
    method.__name__ = entry.name
    method.__qualname__ = f"{entry.chare_class.__name__}Proxy.{entry.name}"
    return method


def with_options(proxy, entry, arguments, options):
    """The arguments in their order, and the reply for which ret or awaitable asks."""
    ret, awaitable = options.pop("ret", False), options.pop("awaitable", False)
    if options:
        arguments = bound(entry, arguments, options)
    if not ret and not awaitable:
        return arguments, None
    kind = Reply.ELEMENT if proxy.address else Reply.ALL_RESULTS if ret else Reply.ALL
    section = proxy.section if proxy.issec else None
    return arguments, Reply(kind, create_future(), section)


def bound(entry, arguments, named):
    names, defaults = entry.parameters, entry.defaults
    optional = dict(zip(names[len(names) - len(defaults):], defaults))
    arguments = list(arguments)
    for name in names[len(arguments):]:
        if name in named:
            arguments.append(named.pop(name))
        elif name in optional:
            arguments.append(optional[name])
        else:
            raise TypeError(f"{entry.name} lacks its argument {name}")
    if named:
        raise TypeError(f"{entry.name} has no parameter {', '.join(named)}, or got it twice")
    return tuple(arguments)


def insert(proxy, index, rank, parameters):
    """Makes an element, on its home if the rank is -1."""
    rank = -1 if rank == -1 else job.rank_of(rank)
    address, constructor = proxy.of_element(index).address, proxy.info.constructor.epIdx
    job.library.check(job.library.insert(address, constructor, rank, parameters, len(parameters)))


def callback_to(target):
    """What the library needs to know of a future or of an entry method of a proxy."""
    reference = 0
    if isinstance(target, Future):
        reference = target.fid
        target = target.getTargetProxyEntryMethod()
    proxy, entry = getattr(target, "__self__", None), getattr(target, "ep", None)
    if entry is None or not isinstance(proxy, Proxy):
        raise CharmError(f"a result can go to a future or to an entry method of a proxy, not to "
                         f"{target!r}")
    if proxy.issec:
        raise CharmError("a result cannot go to an entry method of a section, unless it is that of a "
                         "reduction over a section: let a future be told, and call the method")
    record = Callback(kind=CALL_CHARE if proxy.address else CALL_ALL, entry=entry,
                      reference=reference, collection=proxy.collection)
    if proxy.address:
        record.index = proxy.identity.index
    return record


def contribute(chare, data, reducer, target, section=None):
    reducer = job.reducers.of(reducer)
    if section is None and chare.thisProxy.issec:
        section = chare.thisProxy
    if reducer is not None:
        data = reducer.before(data, chare)
    if section is not None:
        job.sections.contribute(chare, data, reducer, target, section)
        return
    record = callback_to(target)
    value = value_of(reducer, data)
    chare._contributions += 1
    job.library.check(job.library.contribute(chare._address, job.reducer_number, value,
                                             len(value), addressof(record)))


def collective_future(chare, section):
    """A future for the next reduction of a chare."""
    if section is not None or chare.thisProxy.issec:
        return job.sections.collective_future(chare, section)
    number = chare._contributions + 1
    future = chare._collective[number] = CollectiveFuture(number, chare)
    return future


def shown(chare):
    return f"{type(chare).__name__}[{chare.thisIndex}]"
