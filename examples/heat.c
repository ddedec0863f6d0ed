/*
 * Heat in a square plate: Jacobi iteration on a two-dimensional grid of ranks.
 *
 * Shows what a typical simulation uses: MPI_Dims_create and MPI_Cart_create for the decomposition, a derived datatype for the
 * columns of the halo, nonblocking exchange with the four neighbours, and MPI_Allreduce for the residual.
 *
 *     mpicc -O2 heat.c -o heat -lm && mpiexec -n 4 ./heat 200 1000
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct plate {
    int rows, columns;          /* of this rank's part, without the halo */
    MPI_Comm grid;
    int up, down, left, right;  /* neighbours, MPI_PROC_NULL at the rim */
    MPI_Datatype column;
    double *now, *next;
};

static double *at(const struct plate *plate, double *field, int row, int column)
{
    return field + (size_t)row * (size_t)(plate->columns + 2) + (size_t)column;
}

static void exchange_halo(struct plate *plate)
{
    MPI_Request requests[8];
    double *field = plate->now;
    int rows = plate->rows, columns = plate->columns;
    MPI_Irecv(at(plate, field, 0, 1), columns, MPI_DOUBLE, plate->up, 0, plate->grid, &requests[0]);
    MPI_Irecv(at(plate, field, rows + 1, 1), columns, MPI_DOUBLE, plate->down, 1, plate->grid, &requests[1]);
    MPI_Irecv(at(plate, field, 1, 0), 1, plate->column, plate->left, 2, plate->grid, &requests[2]);
    MPI_Irecv(at(plate, field, 1, columns + 1), 1, plate->column, plate->right, 3, plate->grid, &requests[3]);
    MPI_Isend(at(plate, field, rows, 1), columns, MPI_DOUBLE, plate->down, 0, plate->grid, &requests[4]);
    MPI_Isend(at(plate, field, 1, 1), columns, MPI_DOUBLE, plate->up, 1, plate->grid, &requests[5]);
    MPI_Isend(at(plate, field, 1, columns), 1, plate->column, plate->right, 2, plate->grid, &requests[6]);
    MPI_Isend(at(plate, field, 1, 1), 1, plate->column, plate->left, 3, plate->grid, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

/* One step; returns the sum of squared changes of this part. */
static double relax(struct plate *plate)
{
    double change = 0;
    for (int row = 1; row <= plate->rows; row++)
        for (int column = 1; column <= plate->columns; column++) {
            double mean = (*at(plate, plate->now, row - 1, column) + *at(plate, plate->now, row + 1, column) +
                           *at(plate, plate->now, row, column - 1) + *at(plate, plate->now, row, column + 1)) / 4;
            double difference = mean - *at(plate, plate->now, row, column);
            change += difference * difference;
            *at(plate, plate->next, row, column) = mean;
        }
    return change;
}

static void make_plate(struct plate *plate, int length)
{
    int size, rank, dims[2] = {0, 0}, periods[2] = {0, 0}, place[2];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &plate->grid);
    MPI_Comm_rank(plate->grid, &rank);
    MPI_Cart_coords(plate->grid, rank, 2, place);
    MPI_Cart_shift(plate->grid, 0, 1, &plate->up, &plate->down);
    MPI_Cart_shift(plate->grid, 1, 1, &plate->left, &plate->right);
    plate->rows = length * (place[0] + 1) / dims[0] - length * place[0] / dims[0];
    plate->columns = length * (place[1] + 1) / dims[1] - length * place[1] / dims[1];
    MPI_Type_vector(plate->rows, 1, plate->columns + 2, MPI_DOUBLE, &plate->column);
    MPI_Type_commit(&plate->column);
    size_t cells = (size_t)(plate->rows + 2) * (size_t)(plate->columns + 2);
    plate->now = calloc(cells, sizeof *plate->now);
    plate->next = calloc(cells, sizeof *plate->next);
    /* The upper rim is hot. */
    for (int column = 0; column < plate->columns + 2 && plate->up == MPI_PROC_NULL; column++)
        *at(plate, plate->now, 0, column) = *at(plate, plate->next, 0, column) = 100;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int length = argc > 1 ? atoi(argv[1]) : 200, steps = argc > 2 ? atoi(argv[2]) : 500, rank;
    struct plate plate;
    make_plate(&plate, length);
    MPI_Comm_rank(plate.grid, &rank);
    double started = MPI_Wtime(), residual = 0;
    for (int step = 0; step < steps; step++) {
        exchange_halo(&plate);
        double change = relax(&plate);
        double *swap = plate.now;
        plate.now = plate.next;
        plate.next = swap;
        if (step % 100 == 99 || step == steps - 1)
            MPI_Allreduce(&change, &residual, 1, MPI_DOUBLE, MPI_SUM, plate.grid);
    }
    if (rank == 0)
        printf("%d x %d cells, %d steps: residual %.6f in %.3f s\n", length, length, steps, sqrt(residual), MPI_Wtime() - started);
    free(plate.now);
    free(plate.next);
    MPI_Type_free(&plate.column);
    MPI_Comm_free(&plate.grid);
    MPI_Finalize();
    return 0;
}
