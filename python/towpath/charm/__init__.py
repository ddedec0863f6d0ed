"""Message-driven objects (chares), with the interface of charm4py: programs for it run by another
import, `from towpath.charm import charm, Chare, ...`. Start them with mpiexec."""

try:
    import greenlet  # noqa: F401
except ImportError as error:
    raise ImportError("towpath.charm needs the package greenlet: pip install greenlet") from error

from .channel import Channel
from .chare import ArrayMap, Chare
from .creation import Array, Group
from .entries import coro, coro_ext, when
from .futures import LocalFuture, NotThreadedError, create_future
from .job import job
from .lending import empty_shared, nocopy
from .library import CharmError
from .options import Options
from .runtime import charm, readonlies, register

# The version of charm4py whose interface this is.
charm4py_version = "1.1"
Charm4PyError = CharmError
Future = create_future
Reducer = job.reducers
threaded = coro


def checkCharmStarted():
    """Warns of a program that ends without charm.start."""
    if not charm.started:
        print("The program ends, and has not called charm.start.")


__all__ = ["Array", "ArrayMap", "Channel", "Chare", "Charm4PyError", "CharmError", "Future",
           "Group", "LocalFuture", "NotThreadedError", "Options", "Reducer", "charm",
           "charm4py_version", "checkCharmStarted", "coro", "coro_ext", "empty_shared", "nocopy",
           "readonlies", "register", "threaded", "when"]
