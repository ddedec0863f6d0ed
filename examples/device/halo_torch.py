"""Two ranks exchange the columns at their common border, in GPU memory, with PyTorch tensors.

The tensors are passed to MPI as they are (mpi4py reads them by DLPack), and a datatype describes
the column: no copy to host memory, and no packing by hand.

    mpiexec -n 2 python halo_torch.py
"""

import sys

from mpi4py import MPI

ROWS, COLUMNS = 2048, 1024


def gpus():
    """PyTorch, and the number of GPUs that it finds; or the end of the program, with a sentence."""
    try:
        import torch
    except ImportError as error:
        sys.exit(f"This example needs PyTorch (pip install torch), but: {error}.")
    if not torch.cuda.is_available():
        sys.exit("This example needs an NVIDIA GPU, but PyTorch finds none that it can use.")
    return torch, torch.cuda.device_count()


def exchange(comm, field):
    """Fills the outermost columns with the neighbours' columns next to theirs."""
    rows, columns = field.shape
    rank, size = comm.Get_rank(), comm.Get_size()
    left = rank - 1 if rank > 0 else MPI.PROC_NULL
    right = rank + 1 if rank + 1 < size else MPI.PROC_NULL
    vector = MPI.DOUBLE.Create_vector(rows, 1, columns)
    # An extent of one element, so that a displacement is the number of a column.
    column = vector.Create_resized(0, MPI.DOUBLE.Get_size()).Commit()

    def place(number):
        return [field, (1, number), column]

    comm.Sendrecv(place(columns - 2), right, 0, place(0), left, 0)
    comm.Sendrecv(place(1), left, 1, place(columns - 1), right, 1)
    column.Free()
    vector.Free()


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
    border = field[:, COLUMNS - 1] if rank == 0 else field[:, 0]
    assert bool((border == 1.0 - rank).all()), border
    print(f"rank {rank}: its border has the other rank's {ROWS} values, on GPU {rank % count}")


if __name__ == "__main__":
    main()
