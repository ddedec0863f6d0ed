"""Makes collections: groups, arrays and single chares."""

import ctypes
from ctypes import byref
from pickle import dumps

from .entries import Reply
from .futures import create_future, in_coroutine
from .job import job
from .library import MAP_BLOCK, MAP_GROUP, MAP_HASH, CharmError, Collection
from .messages import PROTOCOL
from .proxies import ARRAY, GROUP, SINGLE, insert, proxy_of


def creation_reply():
    """The reply for who makes chares in a coroutine: charm.awaitCreation waits for its future."""
    return Reply(Reply.CREATION, create_future()) if in_coroutine() else None


def make_collection(info, kind, placement, extents, is_filled, parameters, ndims):
    """The proxy of a new collection."""
    record = Collection(type=info.record.number, constructor=info.constructor.epIdx,
                        map=placement, dimensions=len(extents), is_filled=is_filled)
    if len(extents) > 6:
        raise CharmError(f"an array has one to six dimensions, not {len(extents)}")
    for place, extent in enumerate(extents):
        if not 0 <= extent < 2**31:
            raise CharmError(f"an array cannot have {extent} elements in a dimension")
        record.extents[place] = extent
    collection = ctypes.c_uint64()
    job.library.check(job.library.create_collection(byref(record), parameters, len(parameters),
                                                    byref(collection)))
    return proxy_of(info.number, kind, collection.value, ndims)


class Group:
    """`Group(C, args=[...])` makes a chare of this class on each rank, or on some of them."""

    def __new__(cls, C, args=(), onPEs=None):
        info = job.class_of(C)
        if onPEs is not None:
            return constrained_group(info, tuple(args), onPEs)
        is_map = "procNum" in info.chare_class.__dict__
        reply = None if is_map else creation_reply()
        parameters = dumps((tuple(args), reply, GROUP), PROTOCOL)
        return with_creation(make_collection(info, GROUP, MAP_GROUP, (), True, parameters, 1),
                             reply)


def constrained_group(info, args, ranks):
    """A group with branches on some ranks."""
    proxy = make_collection(info, GROUP, MAP_HASH, (), False, b"", 1)
    reply = creation_reply()
    parameters = dumps((args, reply, GROUP), PROTOCOL)
    for rank in sorted(set(ranks)):
        insert(proxy, rank, rank, parameters)
    return finished(proxy, reply)


def finished(proxy, reply):
    """A collection that has got its first elements."""
    job.library.done_inserting(proxy.collection)
    return with_creation(proxy, reply)


def with_creation(proxy, reply):
    if reply is not None:
        proxy.creation_future = reply.future
    return proxy


class Array:
    """`Array(C, dims, args=[...])` makes an array with a chare for each index, or one without
    elements if there is only a number of dimensions (`ndims`)."""

    def __new__(cls, C, dims=None, ndims=-1, args=(), map=None, useAtSync=False):
        info = job.class_of(C)
        if dims is None and ndims == -1:
            raise CharmError("Array needs dims, or ndims for an array without elements")
        dims = (dims,) if isinstance(dims, int) else dims if dims is None else tuple(dims)
        if dims is not None and ndims not in (-1, len(dims)):
            raise CharmError(f"{len(dims)} dimensions do not fit to ndims={ndims}")
        proxy = new_array(info, dims, ndims, tuple(args), map)
        if useAtSync:
            job.library.join_balancing(proxy.collection)
        return proxy


def new_array(info, dims, ndims, args, map):
    if dims is None or not any(dims):
        return make_collection(info, ARRAY, MAP_HASH, (), False, b"", len(dims or ()) or ndims)
    if map is not None:
        return placed_array(info, dims, args, map)
    reply = creation_reply()
    parameters = dumps((args, reply, ARRAY), PROTOCOL)
    proxy = make_collection(info, ARRAY, MAP_BLOCK, dims, True, parameters, len(dims))
    return with_creation(proxy, reply)


def placed_array(info, dims, args, map):
    """An array whose elements begin where a map says."""
    place = map.ckLocalBranch().procNum
    proxy = make_collection(info, ARRAY, MAP_HASH, (), False, b"", len(dims))
    reply = creation_reply()
    parameters = dumps((args, reply, ARRAY), PROTOCOL)
    for index in indices(dims):
        insert(proxy, index, place(index), parameters)
    return finished(proxy, reply)


def indices(dims):
    """All indices of an array, in row-major order."""
    if not dims:
        yield ()
        return
    for first in range(dims[0]):
        for others in indices(dims[1:]):
            yield (first, *others)


def new_single(chare_class, args, rank):
    """An array of one element, which has its own proxy."""
    info = job.class_of(chare_class)
    array = make_collection(info, ARRAY, MAP_HASH, (), False, b"", 1)
    reply = creation_reply()
    parameters = dumps((tuple(args), reply, SINGLE), PROTOCOL)
    insert(array, (0,), rank, parameters)
    array.ckDoneInserting()
    return with_creation(array.of_element((0,)), reply)
