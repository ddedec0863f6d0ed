/*
 * What the two versions of the stencil share. Each of them supplies `prepare`, `iterate` and
 * `clean_up`.
 */
#ifndef STENCIL2D_STENCIL_H
#define STENCIL2D_STENCIL_H

#include "memory.h"

#include <mpi.h>

/* One rank's part of the grid, with a halo of `halo` cells on each side, in two buffers. */
struct stencil {
    MPI_Comm comm;
    int north, south, west, east; /* ranks, or MPI_PROC_NULL at the edge of the grid */
    int rows, columns, halo;
    size_t pitch;     /* cells from one row to the next */
    REAL *now, *next; /* the cells (0, 0) of the two buffers */
    struct weights weights;
    int iterations_done;
    MPI_Datatype type; /* of a cell */
};

extern const char *const version_name;
/* Makes and frees what the version's exchange needs. */
void prepare(struct stencil *s);
void clean_up(struct stencil *s);
/* Computes so many iterations; the result is complete, in `now`. */
void iterate(struct stencil *s, int iterations);

/* A cell of the newest buffer. */
static inline REAL *cell(const struct stencil *s, int row, int column)
{
    return s->now + (ptrdiff_t)s->pitch * row + column;
}

/* Whether the halo is used up. */
int exchange_is_due(const struct stencil *s);
/* Computes the next iteration, and makes its result the newest buffer. The halo shrinks by one
 * cell, on the sides that have a neighbour. */
void advance(struct stencil *s);

#endif
