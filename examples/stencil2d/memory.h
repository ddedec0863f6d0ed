/*
 * The memory that the stencil works in: host memory (host.c) or a GPU's (cuda.cu), chosen by which
 * of the two is linked.
 */
#ifndef STENCIL2D_MEMORY_H
#define STENCIL2D_MEMORY_H

#include <stddef.h>

/* float or double: cc -DREAL=double */
#ifndef REAL
#define REAL float
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Rows and columns that one step writes, relative to the cell at (0, 0); the ends are excluded. */
struct region {
    int top, bottom, left, right;
};

/* Weights of a cell, of its four neighbours, and of its four diagonal neighbours. */
struct weights {
    REAL centre, cardinal, diagonal;
};

/* Where the memory is, for the printed line. */
const char *memory_name(void);
/* All of these end the program with a sentence when they fail. */
void *allocate(size_t bytes);
void release(void *memory);
/* Host memory that copies are fast to and from. */
void *allocate_staging(size_t bytes);
void release_staging(void *memory);
/* Copies in any direction; complete on return. */
void copy(void *to, const void *from, size_t bytes);
void copy2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
            size_t height);
/* Computes a region of `to` out of `from`: pointers to the cells (0, 0), and cells per row. */
void step(REAL *to, const REAL *from, size_t pitch, struct region region, struct weights weights);
/* Waits until all steps are done. */
void finish_steps(void);

#ifdef __cplusplus
}
#endif

#endif
