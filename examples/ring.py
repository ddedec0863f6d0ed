"""A numpy array travels around all ranks; each adds its rank. Run with: mpiexec -n 4 python ring.py"""

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
data = numpy.zeros(1000)
if rank == 0:
    comm.Send(data, dest=(rank + 1) % size)
comm.Recv(data, source=(rank - 1) % size)
data += rank
if rank != 0:
    comm.Send(data, dest=(rank + 1) % size)
else:
    expected = size * (size - 1) / 2
    assert (data == expected).all(), data
    name = MPI.Get_library_version().split("\n")[0].rstrip("\0 ")
    print(f"a ring of {size} ranks brought back {data[0]:.0f}, as it should be, with {name}")
