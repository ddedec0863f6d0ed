/*
 * Buffers whose every byte is known: what a collective must write, and what it must leave alone.
 *
 * A layout is a datatype with the offsets of its items, worked out here without MPI. Layouts of one family have the same sequence
 * of basic types ("unit"), so that one can be sent and another received. An area is a buffer of one layout in three images: as the
 * collective finds it, as it must leave it, and as it is. Gaps of the layout and a margin on both sides belong to the images.
 */
#ifndef TOWPATH_TESTS_AREAS_H
#define TOWPATH_TESTS_AREAS_H

#include "../check.h"
#include <stddef.h>

/* Families 0 to 2 have one basic type, the last has structures of three. */
enum { STRUCTURES = 3, FAMILIES = 4, ITEMS = 24, MARGIN = 96, UNTOUCHED = 0xa5 };

struct item {
    long offset;
    int size;
};

struct layout {
    const char *name;
    MPI_Datatype type;
    int family;
    int units; /* per element */
    int items; /* per element */
    struct item item[ITEMS];
    long extent, lowest, highest; /* bytes */
};

static struct layout layouts[FAMILIES * 8];
static int layout_count;

/* Adds a layout whose unit i lies at `places[i]` times `pitch` bytes. */
static void layout_add(const char *name, int family, MPI_Datatype type, int units, const long *places, long extent, const struct item *unit,
                       int items, long pitch)
{
    struct layout *layout = &layouts[layout_count++];
    *layout = (struct layout){.name = name, .family = family, .type = type, .units = units, .extent = extent};
    for (int i = 0; i < units; i++)
        for (int j = 0; j < items; j++) {
            struct item item = {places[i] * pitch + unit[j].offset, unit[j].size};
            layout->item[layout->items++] = item;
            if (item.offset < layout->lowest)
                layout->lowest = item.offset;
            if (item.offset + item.size > layout->highest)
                layout->highest = item.offset + item.size;
        }
    CALL(MPI_Type_commit(&layout->type));
    MPI_Aint bound, found;
    CALL(MPI_Type_get_extent(layout->type, &bound, &found));
    CHECK(found == extent, "extent of %s of family %d is %ld, expected %ld", name, family, (long)found, extent);
}

/* The layouts of a unit that is one basic type of `size` bytes. */
static void layouts_of(int family, MPI_Datatype basic, int size)
{
    static const long one[] = {0}, three[] = {0, 1, 2}, strided[] = {0, 3, 6, 9}, backward[] = {5, 1}, square[] = {6, 7, 8, 11, 12, 13};
    const struct item unit = {0, size};
    MPI_Datatype type, inner;
    CALL(MPI_Type_dup(basic, &type));
    layout_add("basic", family, type, 1, one, size, &unit, 1, size);
    CALL(MPI_Type_contiguous(3, basic, &type));
    layout_add("contiguous", family, type, 3, three, 3L * size, &unit, 1, size);
    CALL(MPI_Type_vector(4, 1, 3, basic, &type));
    layout_add("vector", family, type, 4, strided, 10L * size, &unit, 1, size);
    CALL(MPI_Type_create_hindexed_block(2, 1, (MPI_Aint[]){5L * size, size}, basic, &inner));
    CALL(MPI_Type_create_resized(inner, -size, 8L * size, &type));
    CALL(MPI_Type_free(&inner));
    layout_add("backward", family, type, 2, backward, 8L * size, &unit, 1, size);
    CALL(MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 3}, (int[]){1, 1}, MPI_ORDER_C, basic, &type));
    layout_add("subarray", family, type, 6, square, 20L * size, &unit, 1, size);
}

/* The layouts of a unit of a double, an int and a char. */
static void layouts_of_structures(int family)
{
    static const long one[] = {0}, two[] = {0, 2};
    const struct item aligned[] = {{0, 8}, {8, 4}, {12, 1}}, shuffled[] = {{8, 8}, {0, 4}, {20, 1}};
    MPI_Datatype basics[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, inner, type, structure;
    CALL(MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, 8, 12}, basics, &inner));
    CALL(MPI_Type_create_resized(inner, 0, 16, &structure));
    CALL(MPI_Type_free(&inner));
    CALL(MPI_Type_vector(2, 1, 2, structure, &type));
    layout_add("structure", family, structure, 1, one, 16, aligned, 3, 16);
    layout_add("structures", family, type, 2, two, 48, aligned, 3, 16);
    CALL(MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){8, 0, 20}, basics, &inner));
    CALL(MPI_Type_create_resized(inner, 0, 24, &type));
    CALL(MPI_Type_free(&inner));
    layout_add("shuffled", family, type, 1, one, 24, shuffled, 3, 24);
}

__attribute__((unused)) static void layouts_make(void)
{
    layouts_of(0, MPI_INT, 4);
    layouts_of(1, MPI_BYTE, 1);
    layouts_of(2, MPI_DOUBLE, 8);
    layouts_of_structures(STRUCTURES);
}

__attribute__((unused)) static void layouts_free(void)
{
    while (layout_count > 0)
        CALL(MPI_Type_free(&layouts[--layout_count].type));
}

/* The `choice`-th layout of a family that can hold exactly `units` units. */
__attribute__((unused)) static const struct layout *layout_choose(int family, long units, unsigned choice)
{
    int fitting = 0;
    for (int pass = 0; pass < 2; pass++) {
        int number = pass ? (int)(choice % (unsigned)fitting) : 0;
        for (int i = 0; i < layout_count; i++)
            if (layouts[i].family == family && units % layouts[i].units == 0) {
                if (pass && number-- == 0)
                    return &layouts[i];
                fitting++;
            }
    }
    return NULL;
}

struct area {
    const struct layout *layout;
    long bytes;
    unsigned char *initial, *expected, *now;
    unsigned char *buffer; /* the address to hand to MPI: element 0 */
};

static unsigned char area_byte(unsigned stream, long position)
{
    unsigned x = (unsigned)position * 2654435761u + stream * 2246822519u;
    x ^= x >> 15;
    x *= 2654435761u;
    return (unsigned char)(x >> 24);
}

/* An untouched area for `elements` elements. */
__attribute__((unused)) static struct area area_new(const struct layout *layout, long elements)
{
    struct area area = {.layout = layout};
    long before = MARGIN - layout->lowest, last = elements > 0 ? (elements - 1) * layout->extent : 0;
    area.bytes = before + last + layout->highest + MARGIN;
    area.initial = malloc((size_t)area.bytes * 3);
    area.expected = area.initial + area.bytes;
    area.now = area.expected + area.bytes;
    memset(area.initial, UNTOUCHED, (size_t)area.bytes * 3);
    area.buffer = area.now + before;
    return area;
}

__attribute__((unused)) static void area_free(struct area *area)
{
    free(area->initial);
    area->initial = NULL;
}

/* Writes `units` units of a stream into an image, from element `first` on. */
static void area_write(const struct area *area, unsigned char *image, long first, long units, unsigned stream)
{
    const struct layout *layout = area->layout;
    unsigned char *origin = image + (area->buffer - area->now);
    long position = 0;
    for (long element = 0; element < units / layout->units; element++) {
        unsigned char *place = origin + (first + element) * layout->extent;
        for (int i = 0; i < layout->items; i++)
            for (int byte = 0; byte < layout->item[i].size; byte++)
                place[layout->item[i].offset + byte] = area_byte(stream, position++);
    }
}

/* The collective finds these units of a stream, and must leave them unless area_expect says otherwise. */
__attribute__((unused)) static void area_fill(struct area *area, long first, long units, unsigned stream)
{
    area_write(area, area->initial, first, units, stream);
    area_write(area, area->expected, first, units, stream);
}

/* The collective must leave these units of a stream. */
__attribute__((unused)) static void area_expect(struct area *area, long first, long units, unsigned stream)
{
    area_write(area, area->expected, first, units, stream);
}

/* Brings the buffer back to what the collective must find. */
__attribute__((unused)) static void area_reset(struct area *area)
{
    if (area->initial)
        memcpy(area->now, area->initial, (size_t)area->bytes);
}

/* Offset from element 0 of the first byte that is not as it must be, or the constant AREA_RIGHT. */
#define AREA_RIGHT (-(1L << 60))
__attribute__((unused)) static long area_differs(const struct area *area)
{
    if (!area->initial || memcmp(area->now, area->expected, (size_t)area->bytes) == 0)
        return AREA_RIGHT;
    long at = 0;
    while (area->now[at] == area->expected[at])
        at++;
    return at - (area->buffer - area->now);
}

/* A small generator: the same sequence for the same state on every rank. */
__attribute__((unused)) static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    unsigned mixed = (*state ^ *state >> 16) * 2246822519u;
    return (mixed ^ mixed >> 13) % below;
}

#endif
