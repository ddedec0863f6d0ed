"""The C functions of chares (towpath/actors.h), by ctypes.

Structures are made once and used again: making one costs as much as several calls. What the library
calls gets addresses, and reads them through views that are kept by address.
"""

import ctypes
import operator
import os
import sys
import sysconfig
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int32, c_size_t, c_ssize_t,
                    c_uint32, c_uint64, c_void_p, py_object)

RESULT = 8
# Flag of an entry method.
RESUMES = 2
CALL_CHARE, CALL_ALL = 2, 3
MAP_BLOCK, MAP_HASH, MAP_GROUP = 0, 2, 3
NAME = "libtowpath_actors.so.0"
QUICK_NAME = "libtowpath_actors_python.so.0"


class Index(Structure):
    _fields_ = [("words", c_int32 * 6), ("length", c_int32)]


class ChareId(Structure):
    _fields_ = [("collection", c_uint64), ("index", Index)]


class Message(Structure):
    _fields_ = [("payload", c_void_p), ("bytes", c_size_t), ("entry", c_uint32),
                ("flags", c_uint32), ("priority", c_int32), ("reference", c_uint32),
                ("memory", c_void_p), ("arrays", c_void_p), ("array_count", c_size_t)]


# Contexts are Python objects, and so are the chares; the library only passes them on.
PackedBytes = CFUNCTYPE(c_size_t, c_void_p, py_object)
Pack = CFUNCTYPE(None, c_void_p, py_object, c_void_p, c_size_t)
Unpack = CFUNCTYPE(c_void_p, py_object, c_void_p, c_void_p, c_size_t)
Destroy = CFUNCTYPE(None, c_void_p, c_void_p)
Construct = CFUNCTYPE(c_void_p, py_object, c_void_p, c_void_p)
Combine = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_size_t)
ReadOnly = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class Type(Structure):
    _fields_ = [("name", c_char_p), ("context", c_void_p), ("packed_bytes", PackedBytes),
                ("pack", Pack), ("unpack", Unpack), ("destroy", Destroy), ("number", c_uint32)]


class Entry(Structure):
    _fields_ = [("name", c_char_p), ("context", c_void_p), ("flags", c_uint32),
                ("number", c_uint32), ("type", POINTER(Type)), ("construct", Construct),
                ("invoke", c_void_p)]


class ReducerOfLibrary(Structure):
    _fields_ = [("name", c_char_p), ("context", c_void_p), ("combine", Combine),
                ("number", c_uint32)]


class Interface(Structure):
    """What libtowpath_actors_python.so calls."""

    functions = ("message_new", "message_free", "message_hold", "invoke", "broadcast",
                 "message_add_array", "message_add_copy", "message_add_new", "message_array",
                 "message_own_array", "rank", "call_after")
    _fields_ = [*((name, c_void_p) for name in functions),
                ("accept", py_object), ("other", py_object), ("failed", py_object),
                ("flush", py_object), ("ndarray", c_void_p), ("types", py_object),
                ("lent", py_object), ("job", py_object)]


class Program(Structure):
    _fields_ = [("context", c_void_p), ("read_only", ReadOnly), ("call_back", c_void_p)]


class Collection(Structure):
    _fields_ = [("type", c_uint32), ("constructor", c_uint32), ("map", c_uint32),
                ("dimensions", c_uint32), ("extents", c_uint32 * 6), ("is_filled", c_int32)]


class Callback(Structure):
    _fields_ = [("kind", c_uint32), ("entry", c_uint32), ("reference", c_uint32),
                ("rank", c_uint32), ("collection", c_uint64), ("index", Index),
                ("function", c_uint64)]


FUNCTIONS = {
    "message_new": (None, [c_size_t, c_void_p]),
    "message_free": (None, [c_void_p]),
    "message_hold": (None, [c_void_p]),
    "message_add_array": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "message_add_copy": (c_int, [c_void_p, c_void_p, c_size_t]),
    "message_add_new": (c_int, [c_void_p, c_size_t]),
    "message_array": (c_void_p, [c_void_p, c_uint32, c_void_p]),
    "message_own_array": (c_void_p, [c_void_p, c_uint32, c_void_p]),
    "value_data": (c_void_p, [c_void_p]),
    "value_bytes": (c_size_t, [c_void_p]),
    "value_resize": (None, [c_void_p, c_size_t]),
    "register_type": (None, [POINTER(Type)]),
    "register_entry": (None, [POINTER(Entry)]),
    "register_reducer": (None, [POINTER(ReducerOfLibrary)]),
    "fail": (None, [c_char_p]),
    "error": (c_char_p, []),
    "start": (c_int, [POINTER(Program)]),
    "rank": (c_uint32, []),
    "ranks": (c_uint32, []),
    "begin": (c_int, [c_char_p, c_size_t]),
    "stop": (None, []),
    "exit": (None, [c_int]),
    "create_collection": (c_int, [POINTER(Collection), c_char_p, c_size_t, POINTER(c_uint64)]),
    "create_chare": (c_int, [c_uint32, c_int, c_char_p, c_size_t, c_void_p]),
    "insert": (c_int, [c_void_p, c_uint32, c_int, c_char_p, c_size_t]),
    "done_inserting": (None, [c_uint64]),
    "local": (c_void_p, [c_void_p]),
    "migrate": (c_int, [c_void_p, c_uint32]),
    "invoke": (c_int, [c_void_p, c_void_p]),
    "broadcast": (c_int, [c_uint64, c_void_p]),
    "contribute": (c_int, [c_void_p, c_uint32, c_char_p, c_size_t, c_void_p]),
    "start_quiescence": (c_int, [c_void_p]),
    "call_after": (c_int, [c_uint64, c_void_p]),
    "pin": (c_int, [c_void_p]),
    "unpin": (None, [c_void_p]),
    "set_balancer": (c_int, [c_char_p]),
    "join_balancing": (None, [c_uint64]),
    "at_sync": (c_int, [c_void_p]),
    "leaves": (c_int, []),
    "enter": (c_int, [c_void_p]),
    "leave": (None, [c_void_p]),
}


class CharmError(Exception):
    """A program of chares asks for what cannot be done."""

    def __init__(self, message):
        super().__init__(message)
        self.message = message


def candidates(name):
    """Where a library may be: in the directory lib/python of which this package is, in the Python
    environment, or as the loader finds it."""
    package = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(package))), name)
    yield os.path.join(sys.prefix, "lib", name)
    yield name


def opened(loader, name):
    reasons = []
    for path in candidates(name):
        try:
            return loader(path)
        except OSError as error:
            reasons.append(str(error))
    raise CharmError(f"{name} cannot be loaded: {'; '.join(reasons)}. Install Towpath, or set "
                     "LD_LIBRARY_PATH to the directory of its libraries.")


class Library:
    """The functions, by their names without "towpath_". They keep the lock of the interpreter,
    except `run`, so that other threads of Python run while it waits."""

    def __init__(self):
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            raise CharmError("chares need a Python with its global lock; this one was built "
                             "without")
        keeping = opened(ctypes.PyDLL, NAME)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(keeping, "towpath_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.run = opened(ctypes.CDLL, NAME).towpath_run
        self.run.restype, self.run.argtypes = c_int, [POINTER(c_int)]

    def open_quick(self, **objects):
        """Opens the library for the path of messages: its functions that send and hold them, and
        that allocate memory, and the addresses of those that receive them and take back arrays."""
        quick = opened(ctypes.PyDLL, QUICK_NAME)
        addresses = {name: ctypes.cast(getattr(self, name), c_void_p)
                     for name in Interface.functions}
        quick.towpath_python_open.restype = py_object
        # It keeps the objects.
        self.interface = Interface(**addresses, **objects)
        send, hold, allocate = quick.towpath_python_open(ctypes.byref(self.interface))
        invoke, returned = (ctypes.cast(function, c_void_p).value for function in
                            (quick.towpath_python_invoke, quick.towpath_python_returned))
        return send, hold, allocate, invoke, returned

    def check(self, status):
        """Raises the reason for which a function has failed."""
        if status:
            raise CharmError(self.error().decode())


memory_view = ctypes.pythonapi.PyMemoryView_FromMemory
memory_view.restype, memory_view.argtypes = py_object, [c_void_p, c_ssize_t, c_int]
READABLE, WRITABLE = 0x100, 0x200


class Views:
    """Views of structures at addresses, kept because the library passes the same few addresses
    again and again."""

    def __init__(self, structure, most=256):
        self.structure, self.most, self.known = structure, most, {}

    def __call__(self, address):
        if len(self.known) >= self.most:
            self.known.clear()
        view = self.known[address] = self.structure.from_address(address)
        return view


def index_of(identity):
    """The index in a name, as a tuple."""
    index = identity.index
    return tuple(index.words[:index.length])


def fill_index(index, words):
    try:
        for place, word in enumerate(words):
            number = operator.index(word)
            if not -2**31 <= number < 2**31:
                raise CharmError(f"an index has integers of 32 bits, not {number}")
            # ctypes would cut off what is too much.
            index.words[place] = number
    except (IndexError, TypeError):
        raise CharmError(f"an index has one to six integers, not {words!r}") from None
    index.length = len(words)
