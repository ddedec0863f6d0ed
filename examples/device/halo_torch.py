"""Two ranks exchange the columns at their common border, in GPU memory, with PyTorch tensors.

The tensors are passed to MPI as they are (mpi4py reads them by DLPack), and a datatype describes
the column (halo.py): no copy to host memory, and no packing by hand.

    mpiexec -n 2 python halo_torch.py
"""

import sys

from halo import COLUMNS, ROWS, check_border, exchange
from mpi4py import MPI


def gpus():
    """PyTorch, and the number of GPUs that it finds; or the end of the program, with a sentence."""
    try:
        import torch
    except ImportError as error:
        sys.exit(f"This example needs PyTorch (pip install torch), but: {error}.")
    if not torch.cuda.is_available():
        sys.exit("This example needs an NVIDIA GPU, but PyTorch finds none that it can use.")
    return torch, torch.cuda.device_count()


def main():
    comm = MPI.COMM_WORLD
    rank = comm.Get_rank()
    torch, count = gpus()
    if comm.Get_size() != 2:
        sys.exit("This example needs two ranks: mpiexec -n 2 python halo_torch.py")
    device = torch.device("cuda", rank % count)
    field = torch.full((ROWS, COLUMNS), float(rank), dtype=torch.float64, device=device)
    # The kernel that fills the tensor must be complete before MPI reads it.
    torch.cuda.synchronize(device)
    exchange(comm, field)
    check_border(field, rank)
    print(f"rank {rank}: its border has the other rank's {ROWS} values, on GPU {rank % count}")


if __name__ == "__main__":
    main()
