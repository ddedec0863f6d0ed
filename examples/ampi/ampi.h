/* MPI programs whose ranks are chares: more ranks than processes, each on a user-level thread.
 *
 *     cc -include ampi.h program.c -o program libampi.a -lstdc++ ...
 *     mpiexec -n 2 ./program +vp8
 *
 * The calls below are renamed by macros, and so is main. Other functions that name communicators or
 * requests reach the MPI library itself, which refuses the handles of these ranks; functions that
 * name neither (MPI_Wtime, MPI_Type_*, MPI_Op_*) work as they are. README.md says more.
 */
#ifndef AMPI_H
#define AMPI_H

#include <mpi.h>

#ifndef MPI_ABI_VERSION
#error "ampi.h needs the mpi.h of the standard ABI (pkg-config towpath-standard)"
#endif

#ifdef __cplusplus
extern "C" {
int ampi_main(int argc, char **argv);
#endif

int AMPI_Init(int *argc, char ***argv);
int AMPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int AMPI_Initialized(int *flag);
int AMPI_Finalize(void);
int AMPI_Finalized(int *flag);
int AMPI_Abort(MPI_Comm comm, int code);

int AMPI_Send(const void *data, int count, MPI_Datatype type, int destination, int tag,
              MPI_Comm comm);
int AMPI_Recv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Status *status);
int AMPI_Isend(const void *data, int count, MPI_Datatype type, int destination, int tag,
               MPI_Comm comm, MPI_Request *request);
int AMPI_Irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
               MPI_Request *request);
int AMPI_Sendrecv(const void *data, int count, MPI_Datatype type, int destination, int tag,
                  void *into, int into_count, MPI_Datatype into_type, int source, int into_tag,
                  MPI_Comm comm, MPI_Status *status);
int AMPI_Wait(MPI_Request *request, MPI_Status *status);
int AMPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses);
int AMPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status);
int AMPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int AMPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses);
int AMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status);
int AMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int AMPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);

int AMPI_Barrier(MPI_Comm comm);
int AMPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int AMPI_Reduce(const void *data, void *into, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm);
int AMPI_Allreduce(const void *data, void *into, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm);
int AMPI_Scan(const void *data, void *into, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int AMPI_Gather(const void *data, int count, MPI_Datatype type, void *into, int into_count,
                MPI_Datatype into_type, int root, MPI_Comm comm);
int AMPI_Gatherv(const void *data, int count, MPI_Datatype type, void *into,
                 const int into_counts[], const int places[], MPI_Datatype into_type, int root,
                 MPI_Comm comm);
int AMPI_Allgather(const void *data, int count, MPI_Datatype type, void *into, int into_count,
                   MPI_Datatype into_type, MPI_Comm comm);
int AMPI_Scatter(const void *data, int count, MPI_Datatype type, void *into, int into_count,
                 MPI_Datatype into_type, int root, MPI_Comm comm);
int AMPI_Alltoall(const void *data, int count, MPI_Datatype type, void *into, int into_count,
                  MPI_Datatype into_type, MPI_Comm comm);

int AMPI_Comm_rank(MPI_Comm comm, int *rank);
int AMPI_Comm_size(MPI_Comm comm, int *size);
int AMPI_Comm_dup(MPI_Comm comm, MPI_Comm *made);
int AMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made);
int AMPI_Comm_free(MPI_Comm *comm);
int AMPI_Cart_create(MPI_Comm comm, int dimensions, const int extents[], const int periods[],
                     int reorder, MPI_Comm *made);
int AMPI_Cart_coords(MPI_Comm comm, int rank, int dimensions, int place[]);
int AMPI_Cart_shift(MPI_Comm comm, int direction, int distance, int *source, int *destination);

#ifdef __cplusplus
}
#endif

/* No handles of the MPI library. */
#define AMPI_COMM_WORLD ((MPI_Comm)0x1f1)
#define AMPI_COMM_SELF ((MPI_Comm)0x1f2)

#ifndef AMPI_RUNTIME
#define main ampi_main

#undef MPI_COMM_WORLD
#undef MPI_COMM_SELF
#define MPI_COMM_WORLD AMPI_COMM_WORLD
#define MPI_COMM_SELF AMPI_COMM_SELF

#define MPI_Init AMPI_Init
#define MPI_Init_thread AMPI_Init_thread
#define MPI_Initialized AMPI_Initialized
#define MPI_Finalize AMPI_Finalize
#define MPI_Finalized AMPI_Finalized
#define MPI_Abort AMPI_Abort

#define MPI_Send AMPI_Send
#define MPI_Rsend AMPI_Send
#define MPI_Recv AMPI_Recv
#define MPI_Isend AMPI_Isend
#define MPI_Irsend AMPI_Isend
#define MPI_Irecv AMPI_Irecv
#define MPI_Sendrecv AMPI_Sendrecv
#define MPI_Wait AMPI_Wait
#define MPI_Waitall AMPI_Waitall
#define MPI_Waitany AMPI_Waitany
#define MPI_Test AMPI_Test
#define MPI_Testall AMPI_Testall
#define MPI_Probe AMPI_Probe
#define MPI_Iprobe AMPI_Iprobe
#define MPI_Get_count AMPI_Get_count

#define MPI_Barrier AMPI_Barrier
#define MPI_Bcast AMPI_Bcast
#define MPI_Reduce AMPI_Reduce
#define MPI_Allreduce AMPI_Allreduce
#define MPI_Scan AMPI_Scan
#define MPI_Gather AMPI_Gather
#define MPI_Gatherv AMPI_Gatherv
#define MPI_Allgather AMPI_Allgather
#define MPI_Scatter AMPI_Scatter
#define MPI_Alltoall AMPI_Alltoall

#define MPI_Comm_rank AMPI_Comm_rank
#define MPI_Comm_size AMPI_Comm_size
#define MPI_Comm_dup AMPI_Comm_dup
#define MPI_Comm_split AMPI_Comm_split
#define MPI_Comm_free AMPI_Comm_free
#define MPI_Cart_create AMPI_Cart_create
#define MPI_Cart_coords AMPI_Cart_coords
#define MPI_Cart_shift AMPI_Cart_shift
#endif

#endif
