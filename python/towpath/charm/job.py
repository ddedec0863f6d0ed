"""What this process knows of its job."""

import operator

from .library import CharmError
from .options import default_options
from .reductions import ReducerContainer


class Job:
    """One for each process. Most of it is set by charm.start."""

    def __init__(self):
        self.library = None
        self.packer = None
        # Sends small messages.
        self.send = None
        # Gives the memory of the message that is received.
        self.hold = None
        # Gives so many bytes of memory that ranks share; None if arrays of that size are copied.
        self.allocate = None
        self.reducer_number = 0
        self.rank, self.ranks = -1, -1
        self.options = default_options()
        self.reducers = ReducerContainer()
        self.classes = {}
        self.by_number = []
        self.entries = {}
        # The chare whose code runs.
        self.current = None
        # The objects that the library knows, by their addresses.
        self.live = {}
        self.futures = {}
        self.last_future = 0
        # By collection, of this process.
        self.proxies = {}
        self.remote = None
        self.sections = self.pool = None
        self.main_function = None

    def check_started(self):
        if self.library is None:
            raise CharmError("charm.start has not been called yet")

    def rank_of(self, rank):
        """The number of a rank that the program has named."""
        number = operator.index(rank)
        if not 0 <= number < self.ranks:
            raise CharmError(f"rank {number} was named, but the job has {self.ranks} ranks")
        return number

    def class_of(self, chare_class):
        """What was registered for a class of chares."""
        self.check_started()
        if chare_class not in self.classes:
            raise CharmError(f"{chare_class!r} is no chare class that charm.start has found: "
                             "name its module in the argument `modules`, or it in `classes`")
        return self.classes[chare_class]


job = Job()
