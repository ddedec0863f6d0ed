"""Two ranks exchange the columns at their common border, in GPU memory, with CuPy arrays.

The arrays are passed to MPI as they are (mpi4py reads their __cuda_array_interface__), and a
datatype describes the column (halo.py): no copy to host memory, and no packing by hand.

    mpiexec -n 2 python halo_cupy.py
"""

import sys

from halo import COLUMNS, ROWS, check_border, exchange
from mpi4py import MPI


def gpus():
    """CuPy, and the number of GPUs that it finds; or the end of the program, with a sentence."""
    try:
        import cupy
    except ImportError as error:
        sys.exit(f"This example needs CuPy (pip install cupy-cuda12x), but: {error}.")
    try:
        return cupy, cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        sys.exit(f"This example needs an NVIDIA GPU, but CuPy finds none: {error}.")


def main():
    comm = MPI.COMM_WORLD
    rank = comm.Get_rank()
    cupy, count = gpus()
    if comm.Get_size() != 2:
        sys.exit("This example needs two ranks: mpiexec -n 2 python halo_cupy.py")
    cupy.cuda.Device(rank % count).use()
    field = cupy.full((ROWS, COLUMNS), float(rank))
    # The kernel that fills the array must be complete before MPI reads it.
    cupy.cuda.get_current_stream().synchronize()
    exchange(comm, field)
    check_border(field, rank)
    print(f"rank {rank}: its border has the other rank's {ROWS} values, on GPU {rank % count}")


if __name__ == "__main__":
    main()
