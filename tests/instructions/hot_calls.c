/*
 * The calls whose instructions tests/instructions/run.py counts. Usage: hot_calls FLAGS_FILE
 *
 * Two ranks. Each function `count_NAME` holds one call (or one call and its completion) and is called ROUNDS times. What a call
 * waits for has arrived before it begins: the ranks take turns by words in a file that both map, outside MPI, so that no round
 * waits and every run executes the same instructions.
 */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 32, WARM = 100 };

static char out[8], in[8], pair[16];
static MPI_Request again, neighbors;
static MPI_Comm oneway;
static int rank, peer, turns;
static int *turn;

#define COUNTED __attribute__((noinline)) static void

COUNTED count_send(void) { MPI_Send(out, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD); }
COUNTED count_recv(void) { MPI_Recv(in, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

COUNTED count_isend_wait(void)
{
    MPI_Request request;
    MPI_Isend(out, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

COUNTED count_irecv_wait(void)
{
    MPI_Request request;
    MPI_Irecv(in, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

COUNTED count_iprobe(void)
{
    int flag;
    MPI_Iprobe(peer, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

COUNTED count_comm_rank(void)
{
    int mine;
    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
}

COUNTED count_barrier_self(void) { MPI_Barrier(MPI_COMM_SELF); }

COUNTED count_allreduce_self(void) { MPI_Allreduce(out, in, 8, MPI_CHAR, MPI_MAX, MPI_COMM_SELF); }

static void ibcast(void)
{
    MPI_Request request;
    MPI_Ibcast(pair, 8, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

COUNTED count_ibcast_root(void) { ibcast(); }
COUNTED count_ibcast_leaf(void) { ibcast(); }

static void scatterv(void)
{
    static const int counts[2] = {8, 8}, places[2] = {0, 8};
    MPI_Scatterv(pair, counts, places, MPI_BYTE, in, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void gatherv(void)
{
    static const int counts[2] = {8, 8}, places[2] = {0, 8};
    MPI_Gatherv(out, 8, MPI_BYTE, pair, counts, places, MPI_BYTE, 1, MPI_COMM_WORLD);
}

COUNTED count_scatterv_root(void) { scatterv(); }
COUNTED count_scatterv_leaf(void) { scatterv(); }
COUNTED count_gatherv_leaf(void) { gatherv(); }
COUNTED count_gatherv_root(void) { gatherv(); }

COUNTED count_start_send_wait(void)
{
    MPI_Start(&again);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
}

COUNTED count_start_recv_wait(void)
{
    MPI_Start(&again);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
}

/* Two edges, both from rank 0 to rank 1: one rank only sends and the other one only receives, so neither waits. */
static void neighbor_alltoall(void) { MPI_Neighbor_alltoall(pair, 8, MPI_BYTE, pair, 8, MPI_BYTE, oneway); }

static void neighbor_alltoallv(void)
{
    static const int counts[2] = {8, 8}, places[2] = {0, 8};
    MPI_Neighbor_alltoallv(pair, counts, places, MPI_BYTE, pair, counts, places, MPI_BYTE, oneway);
}

static void ineighbor_alltoall(void)
{
    MPI_Request request;
    MPI_Ineighbor_alltoall(pair, 8, MPI_BYTE, pair, 8, MPI_BYTE, oneway, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void start_neighbors(void)
{
    MPI_Start(&neighbors);
    MPI_Wait(&neighbors, MPI_STATUS_IGNORE);
}

COUNTED count_neighbor_alltoall_2_sends(void) { neighbor_alltoall(); }
COUNTED count_neighbor_alltoall_2_recvs(void) { neighbor_alltoall(); }
COUNTED count_neighbor_alltoallv_2_sends(void) { neighbor_alltoallv(); }
COUNTED count_neighbor_alltoallv_2_recvs(void) { neighbor_alltoallv(); }
COUNTED count_ineighbor_alltoall_2_sends(void) { ineighbor_alltoall(); }
COUNTED count_ineighbor_alltoall_2_recvs(void) { ineighbor_alltoall(); }
COUNTED count_start_neighbors_2_sends(void) { start_neighbors(); }
COUNTED count_start_neighbors_2_recvs(void) { start_neighbors(); }

/* Rank 0 goes first; the other one follows when it is done. */
static void in_turn(void (*first)(void), void (*second)(void))
{
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0 && first)
            first();
        turns++;
        __atomic_store_n(&turn[rank * 16], turns + (rank == 1 ? -1 : 0), __ATOMIC_RELEASE);
        while (__atomic_load_n(&turn[(1 - rank) * 16], __ATOMIC_ACQUIRE) < turns + (rank == 0 ? -1 : 0))
            sched_yield();
        if (rank == 1 && second)
            second();
        __atomic_store_n(&turn[rank * 16], turns, __ATOMIC_RELEASE);
        while (__atomic_load_n(&turn[(1 - rank) * 16], __ATOMIC_ACQUIRE) < turns)
            sched_yield();
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    int file = open(argv[1], O_RDWR);
    turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (turn == MAP_FAILED)
        return 2;
    /* Every function once before it is counted: symbols are found, tables grow, the pair gets its ring. */
    for (int i = 0; i < WARM; i++) {
        MPI_Request request;
        MPI_Sendrecv(out, 8, MPI_BYTE, peer, 1, in, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0) {
            MPI_Send(out, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(in, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Isend(out, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            MPI_Irecv(in, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    int flag, other[2] = {peer, peer};
    MPI_Iprobe(peer, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Allreduce(out, in, 8, MPI_CHAR, MPI_MAX, MPI_COMM_SELF);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank ? 2 : 0, other, MPI_UNWEIGHTED, rank ? 0 : 2, other, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &oneway);
    MPI_Neighbor_alltoall_init(pair, 8, MPI_BYTE, pair, 8, MPI_BYTE, oneway, MPI_INFO_NULL, &neighbors);
    if (rank == 0)
        MPI_Send_init(out, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &again);
    else
        MPI_Recv_init(in, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &again);
    for (int i = 0; i < WARM; i++) {
        neighbor_alltoall();
        neighbor_alltoallv();
        ineighbor_alltoall();
        start_neighbors();
        ibcast();
        scatterv();
        gatherv();
        MPI_Start(&again);
        MPI_Wait(&again, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    in_turn(count_send, count_recv);
    in_turn(count_isend_wait, count_irecv_wait);
    in_turn(count_iprobe, NULL);
    in_turn(count_comm_rank, NULL);
    in_turn(count_barrier_self, NULL);
    in_turn(count_allreduce_self, NULL);
    in_turn(count_ibcast_root, count_ibcast_leaf);
    in_turn(count_scatterv_root, count_scatterv_leaf);
    in_turn(count_gatherv_leaf, count_gatherv_root);
    in_turn(count_start_send_wait, count_start_recv_wait);
    in_turn(count_neighbor_alltoall_2_sends, count_neighbor_alltoall_2_recvs);
    in_turn(count_neighbor_alltoallv_2_sends, count_neighbor_alltoallv_2_recvs);
    in_turn(count_ineighbor_alltoall_2_sends, count_ineighbor_alltoall_2_recvs);
    in_turn(count_start_neighbors_2_sends, count_start_neighbors_2_recvs);
    MPI_Request_free(&again);
    MPI_Request_free(&neighbors);
    MPI_Comm_free(&oneway);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("ok");
    MPI_Finalize();
    return 0;
}
