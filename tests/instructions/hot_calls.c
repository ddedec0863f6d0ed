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

static char out[8], in[8];
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
    int flag;
    MPI_Iprobe(peer, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_SELF);
    in_turn(count_send, count_recv);
    in_turn(count_isend_wait, count_irecv_wait);
    in_turn(count_iprobe, NULL);
    in_turn(count_comm_rank, NULL);
    in_turn(count_barrier_self, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("ok");
    MPI_Finalize();
    return 0;
}
