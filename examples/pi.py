"""Pi by midpoints, each rank a share of them, summed with allreduce of a Python number. Run with: mpiexec -n 4 python pi.py"""

import math

import numpy
from mpi4py import MPI

POINTS = 4_000_000

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
x = (numpy.arange(rank, POINTS, size) + 0.5) / POINTS
part = float((4 / (1 + x * x)).sum()) / POINTS
pi = comm.allreduce(part)
everyone = comm.gather((rank, len(x)), root=0)
if rank == 0:
    assert abs(pi - math.pi) < 1e-9
    print(f"pi is about {pi:.12f}, from {everyone}")
