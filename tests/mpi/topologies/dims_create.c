/*
 * MPI_Dims_create: the product fits, given sizes stay, the rest is as balanced as can be and does not rise. MPI 5.0, 8.5.2
 * With an argument also dimensions whose product overflows.
 */
#include "check.h"

/* The least difference between the largest and the smallest of so many factors that do not rise, by trying all. */
static int least_difference(int nodes, int number, int largest, int smallest)
{
    int least = 1 << 30;
    if (number == 0)
        return nodes == 1 ? largest - smallest : least;
    for (int factor = 1; factor <= nodes && factor <= smallest; factor++) {
        if (nodes % factor)
            continue;
        int difference = least_difference(nodes / factor, number - 1, largest > factor ? largest : factor, factor);
        least = difference < least ? difference : least;
    }
    return least;
}

static void balanced(int nodes, int number)
{
    int dims[4] = {0}, least = least_difference(nodes, number, 0, nodes);
    CALL(MPI_Dims_create(nodes, number, dims));
    CHECK(dims[0] - dims[number - 1] == least, "%d nodes in %d dimensions: %d to %d, but a difference of %d is possible", nodes,
          number, dims[0], dims[number - 1], least);
}

static void all_of(int nodes, int number)
{
    int dims[6] = {0}, product = 1;
    CALL(MPI_Dims_create(nodes, number, dims));
    for (int i = 0; i < number; i++) {
        CHECK(dims[i] > 0, "dimension %d of %d nodes is %d", i, nodes, dims[i]);
        CHECK(i == 0 || dims[i] <= dims[i - 1], "%d nodes: dimension %d rises", nodes, i);
        product *= dims[i];
    }
    CHECK(product == nodes, "%d nodes in %d dimensions: product %d", nodes, number, product);
}

static void expect(int nodes, int number, const int *given, const int *expected)
{
    int dims[4];
    memcpy(dims, given, sizeof(int) * (size_t)number);
    CALL(MPI_Dims_create(nodes, number, dims));
    for (int i = 0; i < number; i++)
        CHECK(dims[i] == expected[i], "%d nodes: dimension %d is %d, expected %d", nodes, i, dims[i], expected[i]);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int nodes = 1; nodes <= 300; nodes++)
        for (int number = 1; number <= 5; number++)
            all_of(nodes, number);
    for (int number = 2; number <= 4; number++) {
        for (int nodes = 1; nodes <= 1000; nodes++)
            balanced(nodes, number);
        balanced(7488, number);
        balanced(9240, number);
        balanced(10000, number);
    }
    expect(6, 2, (int[]){0, 0}, (int[]){3, 2});
    expect(7, 2, (int[]){0, 0}, (int[]){7, 1});
    expect(6, 3, (int[]){0, 3, 0}, (int[]){2, 3, 1});
    expect(16, 2, (int[]){0, 0}, (int[]){4, 4});
    expect(64, 3, (int[]){0, 0, 0}, (int[]){4, 4, 4});
    expect(48, 2, (int[]){0, 0}, (int[]){8, 6});
    expect(12, 3, (int[]){2, 0, 3}, (int[]){2, 2, 3});
    expect(4, 2, (int[]){2, 2}, (int[]){2, 2});
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    int impossible[3] = {0, 3, 0};
    FAILS_EITHER(MPI_Dims_create(7, 3, impossible), MPI_ERR_DIMS, MPI_ERR_ARG);
    /* Dimensions whose product is beyond every integer. */
    if (argc > 1)
        FAILS_EITHER(MPI_Dims_create(7, 5, (int[]){65536, 65536, 65536, 65536, 0}), MPI_ERR_DIMS, MPI_ERR_ARG);
    return finish();
}
