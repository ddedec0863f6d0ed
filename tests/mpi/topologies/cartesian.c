/* Cartesian topologies: create, all queries, shift, sub, and who is left out. MPI 5.0, 8.5 */
#include "check.h"

static void grid(int reorder)
{
    int dims[2] = {2, 2}, periods[2] = {1, 0}, got_dims[2], got_periods[2], coords[2], rank, number, kind;
    MPI_Comm comm;
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &comm));
    if (check_size == 5 && comm == MPI_COMM_NULL)
        return;
    REQUIRE(comm != MPI_COMM_NULL, "no communicator");
    CALL(MPI_Topo_test(comm, &kind));
    CHECK(kind == MPI_CART, "topology %d", kind);
    CALL(MPI_Topo_test(MPI_COMM_WORLD, &kind));
    CHECK(kind == MPI_UNDEFINED, "topology of the world %d", kind);
    CALL(MPI_Cartdim_get(comm, &number));
    CHECK(number == 2, "%d dimensions", number);
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Cart_get(comm, 2, got_dims, got_periods, coords));
    CHECK(got_dims[0] == 2 && got_dims[1] == 2 && got_periods[0] && !got_periods[1], "dims %d %d", got_dims[0], got_dims[1]);
    CHECK(coords[0] == rank / 2 && coords[1] == rank % 2, "coordinates %d %d of rank %d", coords[0], coords[1], rank);
    for (int other = 0; other < 4; other++) {
        int back;
        CALL(MPI_Cart_coords(comm, other, 2, coords));
        CALL(MPI_Cart_rank(comm, coords, &back));
        CHECK(back == other && coords[0] == other / 2, "rank %d -> %d", other, back);
    }
    /* Periodic coordinates may lie outside. */
    coords[0] = -1, coords[1] = 1;
    CALL(MPI_Cart_rank(comm, coords, &number));
    CHECK(number == 3, "rank of (-1, 1): %d", number);
    int source, destination;
    CALL(MPI_Cart_shift(comm, 0, 1, &source, &destination));
    CHECK(source == (rank + 2) % 4 && destination == (rank + 2) % 4, "periodic shift: %d %d", source, destination);
    CALL(MPI_Cart_shift(comm, 1, 1, &source, &destination));
    CHECK(source == (rank % 2 ? rank - 1 : MPI_PROC_NULL) && destination == (rank % 2 ? MPI_PROC_NULL : rank + 1), "open shift: %d %d", source,
          destination);
    CALL(MPI_Cart_shift(comm, 1, -1, &source, &destination));
    CHECK(destination == (rank % 2 ? rank - 1 : MPI_PROC_NULL), "shift back: %d", destination);
    CALL(MPI_Cart_shift(comm, 0, 4, &source, &destination));
    CHECK(source == rank && destination == rank, "shift around twice: %d %d", source, destination);
    MPI_Comm row;
    int remain[2] = {0, 1}, size, sub_rank;
    CALL(MPI_Cart_sub(comm, remain, &row));
    CALL(MPI_Comm_size(row, &size));
    CALL(MPI_Comm_rank(row, &sub_rank));
    CHECK(size == 2 && sub_rank == rank % 2, "row: rank %d of %d", sub_rank, size);
    CALL(MPI_Cartdim_get(row, &number));
    CHECK(number == 1, "a row has %d dimensions", number);
    CALL(MPI_Comm_free(&row));
    remain[1] = 0;
    CALL(MPI_Cart_sub(comm, remain, &row));
    CALL(MPI_Comm_size(row, &size));
    CALL(MPI_Cartdim_get(row, &number));
    CHECK(size == 1 && number == 0, "no dimension: size %d dimensions %d", size, number);
    CALL(MPI_Comm_free(&row));
    MPI_Comm copy;
    CALL(MPI_Comm_dup(comm, &copy));
    CALL(MPI_Topo_test(copy, &kind));
    CHECK(kind == MPI_CART, "a duplicate has lost its topology: %d", kind);
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Comm_free(&comm));
}

static void smaller(void)
{
    int dims[1] = {check_size - 1}, periods[1] = {1}, rank, kind;
    MPI_Comm comm;
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    CHECK((comm == MPI_COMM_NULL) == (check_rank == check_size - 1), "a grid of one rank fewer");
    if (comm != MPI_COMM_NULL)
        CALL(MPI_Comm_free(&comm));
    /* No dimension at all: one rank. */
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &comm));
    CHECK((comm != MPI_COMM_NULL) == (check_rank == 0), "a grid without dimensions");
    if (comm != MPI_COMM_NULL) {
        CALL(MPI_Topo_test(comm, &kind));
        CHECK(kind == MPI_CART, "topology %d", kind);
        CALL(MPI_Cart_rank(comm, NULL, &rank));
        CHECK(rank == 0, "rank %d", rank);
        CALL(MPI_Comm_free(&comm));
    }
}

static void map(void)
{
    int dims[2] = {2, 2}, periods[2] = {0, 0}, rank = -7;
    CALL(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &rank));
    CHECK(rank == MPI_UNDEFINED || (rank >= 0 && rank < 4), "mapped to %d", rank);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    grid(0);
    grid(1);
    smaller();
    map();
    return finish();
}
