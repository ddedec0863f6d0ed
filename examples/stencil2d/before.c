/*
 * The stencil with MPI that knows host memory only: edges are copied to host memory and sent from
 * there, and halos come back the same way.
 */
#include "stencil.h"

enum { TAG_ROWS = 1, TAG_COLUMNS };

const char *const version_name = "before";

/* Host memory for the edges and halos of two opposite sides: of rows, then of columns. */
struct staging {
    REAL *first_edge, *last_edge, *first_halo, *last_halo;
};
static struct staging rows, columns;

static struct staging make_staging(size_t cells)
{
    REAL *memory = allocate_staging(4 * cells * sizeof(REAL));
    return (struct staging){memory, memory + cells, memory + 2 * cells, memory + 3 * cells};
}

void prepare(struct stencil *s)
{
    rows = make_staging(s->halo * s->pitch);
    columns = make_staging((size_t)(s->rows + 2 * s->halo) * s->halo);
}

void clean_up(struct stencil *s)
{
    (void)s;
    release_staging(rows.first_edge);
    release_staging(columns.first_edge);
}

/* main loop */

static void exchange_rows(struct stencil *s)
{
    int h = s->halo, count = h * (int)s->pitch;
    size_t bytes = count * sizeof(REAL);
    MPI_Request requests[4];
    if (s->north != MPI_PROC_NULL)
        copy(rows.first_edge, cell(s, 0, -h), bytes);
    if (s->south != MPI_PROC_NULL)
        copy(rows.last_edge, cell(s, s->rows - h, -h), bytes);
    MPI_Irecv(rows.first_halo, count, s->type, s->north, TAG_ROWS, s->comm, &requests[0]);
    MPI_Irecv(rows.last_halo, count, s->type, s->south, TAG_ROWS, s->comm, &requests[1]);
    MPI_Isend(rows.first_edge, count, s->type, s->north, TAG_ROWS, s->comm, &requests[2]);
    MPI_Isend(rows.last_edge, count, s->type, s->south, TAG_ROWS, s->comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (s->north != MPI_PROC_NULL)
        copy(cell(s, -h, -h), rows.first_halo, bytes);
    if (s->south != MPI_PROC_NULL)
        copy(cell(s, s->rows, -h), rows.last_halo, bytes);
}

/* With the halos of the rows, which bring the corners. */
static void exchange_columns(struct stencil *s)
{
    int h = s->halo, last = s->columns - h, height = s->rows + 2 * h, count = height * h;
    size_t width = h * sizeof(REAL), pitch = s->pitch * sizeof(REAL);
    MPI_Request requests[4];
    if (s->west != MPI_PROC_NULL)
        copy2d(columns.first_edge, width, cell(s, -h, 0), pitch, width, height);
    if (s->east != MPI_PROC_NULL)
        copy2d(columns.last_edge, width, cell(s, -h, last), pitch, width, height);
    MPI_Irecv(columns.first_halo, count, s->type, s->west, TAG_COLUMNS, s->comm, &requests[0]);
    MPI_Irecv(columns.last_halo, count, s->type, s->east, TAG_COLUMNS, s->comm, &requests[1]);
    MPI_Isend(columns.first_edge, count, s->type, s->west, TAG_COLUMNS, s->comm, &requests[2]);
    MPI_Isend(columns.last_edge, count, s->type, s->east, TAG_COLUMNS, s->comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (s->west != MPI_PROC_NULL)
        copy2d(cell(s, -h, -h), pitch, columns.first_halo, width, width, height);
    if (s->east != MPI_PROC_NULL)
        copy2d(cell(s, -h, s->columns), pitch, columns.last_halo, width, width, height);
}

void iterate(struct stencil *s, int iterations)
{
    for (int i = 0; i < iterations; i++) {
        if (exchange_is_due(s)) {
            finish_steps();
            exchange_rows(s);
            exchange_columns(s);
        }
        advance(s);
    }
    finish_steps();
}

/* end of main loop */
