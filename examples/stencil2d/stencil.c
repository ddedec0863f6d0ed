/*
 * Stencil2D, after the public description of SHOC's benchmark of that name: a 9-point stencil on a
 * grid that is distributed over ranks, in two buffers. The outermost cells are fixed.
 *
 *     stencil2d [--rows N] [--columns N] [--grid RxC] [--halo N] [--iterations N] [--seed N]
 *
 * Rows and columns are those of one rank. All cells are compared in the end with the same
 * iterations on one process, bit by bit: by a plain loop on the host, or, where that would take
 * long, by `step`. Rank 0 prints seconds per iteration: the slowest rank's, the median of batches.
 */
#include "stencil.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 5, PAD = 32, AXES = 2 };
/* Cells times iterations that a plain loop checks in about a second. */
static const double FEW = 2e8;
static const struct weights WEIGHTS = {(REAL)0.25, (REAL)0.15, (REAL)0.0375};

struct options {
    int rows, columns, halo, iterations;
    int grid[AXES];
    unsigned long long seed;
};

/* A part of the whole grid in host memory, or a whole buffer. */
struct shape {
    int rows, columns, halo;
    size_t pitch, cells, origin; /* origin: where the cell (0, 0) is */
};

static struct shape shape_of(int rows, int columns, int halo)
{
    struct shape shape = {rows, columns, halo, 0, 0, 0};
    shape.pitch = ((size_t)columns + 2 * halo + PAD - 1) / PAD * PAD;
    shape.cells = ((size_t)rows + 2 * halo) * shape.pitch;
    shape.origin = halo * shape.pitch + halo;
    return shape;
}

/* A number in [0, 1) for each cell of the whole grid. */
static REAL first_value(unsigned long long seed, long row, long column)
{
    unsigned long long value = seed + (unsigned long long)row * 0x9e3779b97f4a7c15ull +
                               (unsigned long long)column * 0xd1342543de82ef95ull;
    value = (value ^ (value >> 31)) * 0xbf58476d1ce4e5b9ull;
    return (REAL)(value >> 40) / (REAL)(1 << 24);
}

/* Writes the first values of the part that begins at this row and column of the whole grid. */
static void write_first(REAL *to, struct shape shape, long row, long column,
                        unsigned long long seed)
{
    memset(to, 0, shape.cells * sizeof(REAL));
    for (long i = -shape.halo; i < shape.rows + shape.halo; i++)
        for (long j = -shape.halo; j < shape.columns + shape.halo; j++)
            to[shape.origin + i * (long)shape.pitch + j] = first_value(seed, row + i, column + j);
}

int exchange_is_due(const struct stencil *s)
{
    return s->iterations_done % s->halo == 0;
}

void advance(struct stencil *s)
{
    int more = s->halo - 1 - s->iterations_done % s->halo;
    struct region region = {
        s->north == MPI_PROC_NULL ? 0 : -more,
        s->south == MPI_PROC_NULL ? s->rows : s->rows + more,
        s->west == MPI_PROC_NULL ? 0 : -more,
        s->east == MPI_PROC_NULL ? s->columns : s->columns + more,
    };
    step(s->next, s->now, s->pitch, region, s->weights);
    REAL *done = s->next;
    s->next = s->now;
    s->now = done;
    s->iterations_done++;
}

static void read_options(struct options *options, int count, char **words)
{
    for (int i = 1; i + 1 < count; i += 2) {
        const char *value = words[i + 1];
        if (!strcmp(words[i], "--rows"))
            options->rows = atoi(value);
        else if (!strcmp(words[i], "--columns"))
            options->columns = atoi(value);
        else if (!strcmp(words[i], "--halo"))
            options->halo = atoi(value);
        else if (!strcmp(words[i], "--iterations"))
            options->iterations = atoi(value);
        else if (!strcmp(words[i], "--seed"))
            options->seed = strtoull(value, NULL, 10);
        else if (strcmp(words[i], "--grid") ||
                 sscanf(value, "%dx%d", &options->grid[0], &options->grid[1]) != AXES)
            options->rows = 0;
    }
    if (count % 2 == 0 || options->halo < 1 || options->rows < options->halo ||
        options->columns < options->halo || options->iterations < BATCHES) {
        fprintf(stderr,
                "stencil2d: rows and columns are at least the halo, which is at least 1, "
                "there are %d iterations at least, and a grid is ROWSxCOLUMNS\n",
                BATCHES);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* Places the ranks on the process grid; `place` gets this rank's row and column of it. */
static void make_grid(struct stencil *s, struct options *options, int place[AXES])
{
    int size, rank, periods[AXES] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (options->grid[0] * options->grid[1] == 0)
        MPI_Dims_create(size, AXES, options->grid);
    if (options->grid[0] * options->grid[1] != size) {
        fprintf(stderr, "stencil2d: a grid of %d x %d does not have %d ranks\n", options->grid[0],
                options->grid[1], size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Cart_create(MPI_COMM_WORLD, AXES, options->grid, periods, 0, &s->comm);
    MPI_Comm_rank(s->comm, &rank);
    MPI_Cart_coords(s->comm, rank, AXES, place);
    MPI_Cart_shift(s->comm, 0, 1, &s->north, &s->south);
    MPI_Cart_shift(s->comm, 1, 1, &s->west, &s->east);
}

/* Puts the same values into two buffers, whose cells (0, 0) are returned. */
static void make_buffers(REAL *buffers[2], struct shape shape, const REAL *values)
{
    for (int i = 0; i < 2; i++) {
        buffers[i] = (REAL *)allocate(shape.cells * sizeof(REAL)) + shape.origin;
        /* The second from the first: on a GPU that takes no time. */
        copy(buffers[i] - shape.origin, i ? buffers[0] - shape.origin : values,
             shape.cells * sizeof(REAL));
    }
}

static void free_buffers(REAL *const buffers[2], struct shape shape)
{
    release(buffers[0] - shape.origin);
    release(buffers[1] - shape.origin);
}

/* The plain loop that all is compared with. */
static void plain_step(REAL *to, const REAL *from, struct shape shape)
{
    const struct weights w = WEIGHTS;
    for (int row = 0; row < shape.rows; row++) {
        const REAL *c = from + shape.pitch * row, *n = c - shape.pitch, *s = c + shape.pitch;
        for (int i = 0; i < shape.columns; i++)
            to[shape.pitch * row + i] = w.centre * c[i] +
                                        w.cardinal * (n[i] + s[i] + c[i - 1] + c[i + 1]) +
                                        w.diagonal * (n[i - 1] + n[i + 1] + s[i - 1] + s[i + 1]);
    }
}

/* All iterations of the whole grid; the result replaces `values`. */
static void compute_whole(REAL *values, struct shape whole, int iterations)
{
    int on_host = (double)whole.cells * iterations <= FEW;
    REAL *buffers[2];
    if (on_host) {
        buffers[0] = values + whole.origin;
        REAL *memory = malloc(whole.cells * sizeof(REAL));
        memcpy(memory, values, whole.cells * sizeof(REAL));
        buffers[1] = memory + whole.origin;
        for (int i = 0; i < iterations; i++)
            plain_step(buffers[(i + 1) % 2], buffers[i % 2], whole);
        if (iterations % 2)
            memcpy(values, memory, whole.cells * sizeof(REAL));
        free(memory);
        return;
    }
    make_buffers(buffers, whole, values);
    for (int i = 0; i < iterations; i++)
        step(buffers[(i + 1) % 2], buffers[i % 2], whole.pitch,
             (struct region){0, whole.rows, 0, whole.columns}, WEIGHTS);
    finish_steps();
    copy(values, buffers[iterations % 2] - whole.origin, whole.cells * sizeof(REAL));
    free_buffers(buffers, whole);
}

/* Cells of this rank that differ from those of one process that computes the whole grid. */
static long wrong_cells(const struct stencil *s, struct shape part, const struct options *options,
                        const int place[AXES])
{
    struct shape whole =
        shape_of(options->grid[0] * part.rows, options->grid[1] * part.columns, part.halo);
    REAL *expected = malloc(whole.cells * sizeof(REAL)), *found = malloc(part.cells * sizeof(REAL));
    long wrong = 0;
    if (!expected || !found) {
        fprintf(stderr, "stencil2d: there is no memory to check a grid of %zu cells\n",
                whole.cells);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    write_first(expected, whole, 0, 0, options->seed);
    compute_whole(expected, whole, s->iterations_done);
    copy(found, s->now - part.origin, part.cells * sizeof(REAL));
    for (int row = 0; row < part.rows; row++) {
        const REAL *right = expected + whole.origin +
                            ((size_t)place[0] * part.rows + row) * whole.pitch +
                            (size_t)place[1] * part.columns;
        const REAL *mine = found + part.origin + row * part.pitch;
        for (int i = 0; i < part.columns; i++)
            wrong += right[i] != mine[i];
    }
    free(expected);
    free(found);
    return wrong;
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Seconds per iteration, after a first batch that is not counted. */
static double run(struct stencil *s, int iterations)
{
    double values[BATCHES];
    int each = iterations / BATCHES;
    iterate(s, each);
    for (int batch = 0; batch < BATCHES; batch++) {
        MPI_Barrier(s->comm);
        double started = MPI_Wtime(), mine;
        iterate(s, each);
        mine = (MPI_Wtime() - started) / each;
        MPI_Allreduce(&mine, &values[batch], 1, MPI_DOUBLE, MPI_MAX, s->comm);
    }
    qsort(values, BATCHES, sizeof *values, ascending);
    return values[BATCHES / 2];
}

int main(int count, char **words)
{
    struct options options = {.rows = 512, .columns = 512, .halo = 1, .iterations = 100};
    struct stencil s = {.weights = WEIGHTS,
                        .type = sizeof(REAL) == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT};
    int place[AXES], rank;
    long wrong, all_wrong;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        options.seed = (unsigned long long)(MPI_Wtime() * 1e6);
    read_options(&options, count, words);
    MPI_Bcast(&options.seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    make_grid(&s, &options, place);

    struct shape part = shape_of(options.rows, options.columns, options.halo);
    REAL *buffers[2], *values = malloc(part.cells * sizeof(REAL));
    if (!values) {
        fprintf(stderr, "stencil2d: there is no memory for %zu cells\n", part.cells);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    write_first(values, part, (long)place[0] * part.rows, (long)place[1] * part.columns,
                options.seed);
    make_buffers(buffers, part, values);
    free(values);
    s.now = buffers[0];
    s.next = buffers[1];
    s.rows = part.rows;
    s.columns = part.columns;
    s.halo = part.halo;
    s.pitch = part.pitch;

    prepare(&s);
    double seconds = run(&s, options.iterations);
    clean_up(&s);
    wrong = wrong_cells(&s, part, &options, place);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s %s %d x %d grid %d x %d halo %d: %.6g s per iteration, %ld wrong cells\n",
               version_name, memory_name(), sizeof(REAL) == sizeof(double) ? "double" : "float",
               s.rows, s.columns, options.grid[0], options.grid[1], s.halo, seconds, all_wrong);
    free_buffers(buffers, part);
    MPI_Comm_free(&s.comm);
    MPI_Finalize();
    return all_wrong != 0;
}
