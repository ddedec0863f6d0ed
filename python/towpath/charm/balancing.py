"""Load balancing: the option `+balancer`, and chares that are ready for it."""

from .job import job
from .library import RESUMES, CharmError, Entry

OPTION = "+balancer"
# Those of the library that do what these do in Charm++.
BALANCERS = {"GreedyLB": "greedy", "GreedyRefineLB": "refine", "RefineLB": "refine",
             "HybridLB": "hierarchical", "DistributedLB": "hierarchical", "TreeLB": "greedy",
             "RotateLB": "rotate", "RandCentLB": "random", "DummyLB": "none", "NullLB": "none"}


def take_balancer(words):
    """Takes the option out of the words with which the program was started, and returns the
    balancer for which it asks, or None."""
    if OPTION not in words:
        return None
    place = words.index(OPTION)
    name = words[place + 1] if place + 1 < len(words) else None
    if name not in BALANCERS:
        raise CharmError(f"{OPTION} asks for {name}; there are {', '.join(BALANCERS)}")
    del words[place:place + 2]
    return BALANCERS[name]


def at_sync(chare):
    """A chare is ready; one that must not migrate, or belongs to a section, stays where it is."""
    stays = not chare.migratable or hasattr(chare, "_sections")
    if stays and not chare._stays:
        job.library.check(job.library.pin(chare._address))
        chare._stays = True
    job.library.check(job.library.at_sync(chare._address))


def may_migrate(chare):
    if chare._stays:
        job.library.unpin(chare._address)
        chare._stays = False


class Resuming:
    """An entry method of all chares, by which the library lets them go on."""

    NAME = "resumeFromSync"

    def __init__(self):
        self.context = (self, None)

    def accept(self, chare, arguments, reply):
        if not hasattr(chare, self.NAME):
            raise CharmError(f"{type(chare).__name__} has no method {self.NAME}, with which its "
                             "chares go on after load balancing")
        job.classes[type(chare)].named(self.NAME).accept(chare, arguments, reply)


METHOD = Resuming()


def resuming(functions):
    """What the library knows of it."""
    return Entry(name=f"towpath.charm::{Resuming.NAME}".encode(), context=id(METHOD.context),
                 flags=RESUMES, invoke=functions.invoke)
