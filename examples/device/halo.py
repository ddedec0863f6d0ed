"""The exchange of columns between neighbours, for arrays of any package whose memory mpi4py can
find: NumPy, CuPy, PyTorch. The examples beside this file import it.
"""

from mpi4py import MPI

ROWS, COLUMNS = 2048, 1024


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


def check_border(field, rank):
    """Of two ranks that fill their arrays with their numbers, each has the other's in its halo."""
    border = field[:, -1] if rank == 0 else field[:, 0]
    assert bool((border == 1.0 - rank).all()), border
