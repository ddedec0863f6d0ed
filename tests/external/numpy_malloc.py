"""NumPy's large arrays under TOWPATH_MALLOC=1: they lie in shared memory, travel unharmed, and a forked child has its own.

Run by tests/packaging.py on two ranks.
"""

import os

import numpy
from mpi4py import MPI

COMM = MPI.COMM_WORLD
LARGE = 1 << 17


def is_shared(array):
    """Whether the page of an array is mapped shared, as the system says."""
    address = array.ctypes.data
    with open("/proc/self/maps") as maps:
        for line in maps:
            place, modes = line.split()[:2]
            begin, end = (int(part, 16) for part in place.split("-"))
            if begin <= address < end:
                return modes[3] == "s"
    raise AssertionError(f"{address:#x} is not mapped")


def main():
    peer = COMM.rank ^ 1
    for number in range(20):
        mine = numpy.arange(LARGE, dtype=float) * (COMM.rank + 1) + number
        theirs = numpy.zeros(LARGE)
        assert is_shared(mine) and is_shared(theirs) and not is_shared(numpy.zeros(100)), number
        assert not theirs.any()
        COMM.Sendrecv(mine, peer, recvbuf=theirs, source=peer)
        assert (theirs == numpy.arange(LARGE) * (peer + 1) + number).all(), number
    rank = COMM.rank
    child = os.fork()
    if child == 0:
        # A child may not call MPI.
        same = (mine == numpy.arange(LARGE) * (rank + 1) + number).all()
        mine[:] = -1
        os._exit(0 if same else 1)
    mine += 1
    status = os.waitpid(child, 0)[1]
    assert status == 0 and mine.min() >= 0, (status, mine.min())
    print("ok", flush=True)


main()
