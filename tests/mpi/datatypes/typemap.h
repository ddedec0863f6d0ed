/*
 * Datatypes with their type maps worked out naively: a list of (offset, bytes) in the order of the map, and explicit bounds.
 *
 * A map grows with the numbers of the constructor's definition in MPI 5.0, section 5.1, one block after the other. Byte displacements are
 * multiples of 8, so that the padding of section 5.1.6 never decides; structures are resized to explicit bounds for the same reason.
 */
#ifndef TOWPATH_TESTS_TYPEMAP_H
#define TOWPATH_TESTS_TYPEMAP_H

#include "../pattern.h"

enum { MAP_ENTRIES = 4000, BLOCKS = 8, KINDS = 14 };

struct entry {
    long offset;
    int size;
};

struct map {
    MPI_Datatype type;
    int derived; /* has to be freed */
    int entries;
    struct entry entry[MAP_ENTRIES];
    long low, high;
    int any;    /* low and high say something */
    int sticky; /* the bounds are explicit */
};

static long map_extent(const struct map *map)
{
    return map->high - map->low;
}

static long map_size(const struct map *map)
{
    long size = 0;
    for (int i = 0; i < map->entries; i++)
        size += map->entry[i].size;
    return size;
}

static void map_basic(struct map *map, MPI_Datatype type, int size)
{
    *map = (struct map){.type = type, .entries = 1, .high = size, .any = 1};
    map->entry[0] = (struct entry){0, size};
}

static void map_empty(struct map *map)
{
    *map = (struct map){.type = MPI_DATATYPE_NULL};
}

/* Appends `length` elements of another type at a byte displacement. False when the map is full. */
static int map_append(struct map *map, const struct map *old, long place, long length)
{
    for (long i = 0; i < length; i++) {
        long at = place + i * map_extent(old), low = at + old->low, high = at + old->high;
        if (map->entries + old->entries > MAP_ENTRIES)
            return 0;
        for (int j = 0; j < old->entries; j++)
            map->entry[map->entries++] = (struct entry){at + old->entry[j].offset, old->entry[j].size};
        if (old->sticky && !map->sticky)
            map->sticky = 1, map->any = 0; /* explicit bounds silence the others */
        if (map->sticky && !old->sticky)
            continue;
        if (!map->any || low < map->low)
            map->low = low;
        if (!map->any || high > map->high)
            map->high = high;
        map->any = 1;
    }
    return 1;
}

static long round_to_8(long value)
{
    return value / 8 * 8;
}

/* One of the basic types. */
static void map_draw_basic(struct map *map, unsigned *state)
{
    const struct {
        MPI_Datatype type;
        int size;
    } basics[] = {{MPI_CHAR, 1},   {MPI_BYTE, 1},    {MPI_SHORT, 2}, {MPI_INT, 4},         {MPI_FLOAT, 4},
                  {MPI_DOUBLE, 8}, {MPI_INT64_T, 8}, {MPI_INT, 4},   {MPI_C_DOUBLE_COMPLEX, 16}};
    unsigned choice = draw_below(state, sizeof basics / sizeof *basics);
    map_basic(map, basics[choice].type, basics[choice].size);
}

/* The numbers that a constructor is called with. */
struct draw_numbers {
    int count, length, stride;
    int lengths[BLOCKS], places[BLOCKS];
    MPI_Aint bytes[BLOCKS];
    MPI_Count lengths_c[BLOCKS], places_c[BLOCKS], bytes_c[BLOCKS];
};

static void numbers_draw(struct draw_numbers *n, unsigned *state, long extent)
{
    n->count = 1 + (int)draw_below(state, BLOCKS - 1);
    n->length = 1 + (int)draw_below(state, 3);
    n->stride = (int)draw_below(state, 9) - 4;
    for (int i = 0; i < BLOCKS; i++) {
        n->lengths_c[i] = n->lengths[i] = 1 + (int)draw_below(state, 3);
        /* Blocks that overlap may be sent but not received: keep them apart. */
        n->places_c[i] = n->places[i] = (i * 7 % BLOCKS) * 4 - 5;
        n->bytes_c[i] = n->bytes[i] = (MPI_Aint)(round_to_8(extent) + 8) * 4 * (i * 5 % BLOCKS) - 24;
    }
    if (n->stride >= -n->length && n->stride <= n->length)
        n->stride = n->length + 1;
}

static void build_vectors(struct map *map, const struct map *old, const struct draw_numbers *n, int kind, int large)
{
    long extent = map_extent(old), stride = kind == 0 ? n->stride * extent : (round_to_8(extent) + 8) * (n->stride);
    if (kind == 0)
        CALL(large ? MPI_Type_vector_c(n->count, n->length, n->stride, old->type, &map->type)
                   : MPI_Type_vector(n->count, n->length, n->stride, old->type, &map->type));
    else
        CALL(large ? MPI_Type_create_hvector_c(n->count, n->length, stride, old->type, &map->type)
                   : MPI_Type_create_hvector(n->count, n->length, stride, old->type, &map->type));
    for (int i = 0; i < n->count; i++)
        map_append(map, old, i * stride, n->length);
}

static void build_indexed(struct map *map, const struct map *old, const struct draw_numbers *n, int kind, int large)
{
    int bytes = kind % 2, block = kind >= 2;
    if (kind == 0)
        CALL(large ? MPI_Type_indexed_c(n->count, n->lengths_c, n->places_c, old->type, &map->type)
                   : MPI_Type_indexed(n->count, n->lengths, n->places, old->type, &map->type));
    else if (kind == 1)
        CALL(large ? MPI_Type_create_hindexed_c(n->count, n->lengths_c, n->bytes_c, old->type, &map->type)
                   : MPI_Type_create_hindexed(n->count, n->lengths, n->bytes, old->type, &map->type));
    else if (kind == 2)
        CALL(large ? MPI_Type_create_indexed_block_c(n->count, n->length, n->places_c, old->type, &map->type)
                   : MPI_Type_create_indexed_block(n->count, n->length, n->places, old->type, &map->type));
    else
        CALL(large ? MPI_Type_create_hindexed_block_c(n->count, n->length, n->bytes_c, old->type, &map->type)
                   : MPI_Type_create_hindexed_block(n->count, n->length, n->bytes, old->type, &map->type));
    for (int i = 0; i < n->count; i++)
        map_append(map, old, bytes ? (long)n->bytes[i] : n->places[i] * map_extent(old), block ? n->length : n->lengths[i]);
}

static void build_subarray(struct map *map, const struct map *old, unsigned *state, int large)
{
    int dims = 1 + (int)draw_below(state, 3), sizes[3], parts[3], starts[3], order = draw_below(state, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    MPI_Count sizes_c[3], parts_c[3], starts_c[3];
    long all = 1, chosen = 1, extent = map_extent(old);
    for (int d = 0; d < dims; d++) {
        sizes_c[d] = sizes[d] = 1 + (int)draw_below(state, 4);
        parts_c[d] = parts[d] = 1 + (int)draw_below(state, (unsigned)sizes[d]);
        starts_c[d] = starts[d] = (int)draw_below(state, (unsigned)(sizes[d] - parts[d] + 1));
        all *= sizes[d], chosen *= parts[d];
    }
    CALL(large ? MPI_Type_create_subarray_c(dims, sizes_c, parts_c, starts_c, order, old->type, &map->type)
               : MPI_Type_create_subarray(dims, sizes, parts, starts, order, old->type, &map->type));
    for (long i = 0; i < chosen; i++) {
        long rest = i, place = 0, pitch = 1;
        for (int k = 0; k < dims; k++) {
            int d = order == MPI_ORDER_C ? dims - 1 - k : k;
            place += (starts[d] + rest % parts[d]) * pitch;
            rest /= parts[d];
            pitch *= sizes[d];
        }
        map_append(map, old, place * extent, 1);
    }
    map->low = 0, map->high = all * extent;
    map->sticky = map->any = 1;
}

static void build_structure(struct map *map, const struct map *old, const struct map *other, const struct draw_numbers *n, int large)
{
    MPI_Datatype types[BLOCKS], bare;
    MPI_Aint bytes[BLOCKS];
    MPI_Count bytes_c[BLOCKS];
    long place = 16;
    for (int i = 0; i < n->count; i++) {
        const struct map *member = i % 2 ? other : old;
        types[i] = member->type;
        bytes_c[i] = bytes[i] = round_to_8(place - member->low + 7);
        map_append(map, member, bytes[i], n->lengths[i]);
        place = bytes[i] + member->high + (n->lengths[i] - 1) * map_extent(member) + 8;
        for (int e = 0; e < map->entries; e++)
            if (map->entry[e].offset + map->entry[e].size > place)
                place = map->entry[e].offset + map->entry[e].size;
    }
    CALL(large ? MPI_Type_create_struct_c(n->count, n->lengths_c, bytes_c, types, &bare)
               : MPI_Type_create_struct(n->count, n->lengths, bytes, types, &bare));
    map->low = -8, map->high = round_to_8(place) + 16;
    map->sticky = map->any = 1;
    CALL(MPI_Type_create_resized(bare, map->low, map_extent(map), &map->type));
    CALL(MPI_Type_free(&bare));
}

/* Whether no two entries overlap and elements do not run into each other: only then may the type be received. */
static int map_disjoint(const struct map *map)
{
    static unsigned char seen[1 << 20];
    long low = 0, high = 0;
    for (int i = 0; i < map->entries; i++) {
        long end = map->entry[i].offset + map->entry[i].size;
        low = map->entry[i].offset < low ? map->entry[i].offset : low;
        high = end > high ? end : high;
    }
    if (high - low + 2 * labs(map_extent(map)) >= (long)sizeof seen)
        return 0;
    memset(seen, 0, sizeof seen);
    for (int element = 0; element < 2; element++)
        for (int i = 0; i < map->entries; i++)
            for (int b = 0; b < map->entry[i].size; b++) {
                long at = map->entry[i].offset + b - low + element * map_extent(map);
                if (at < 0 || at >= (long)sizeof seen || seen[at]++)
                    return 0;
            }
    return 1;
}

static void map_free(struct map *map)
{
    if (map->derived)
        CALL(MPI_Type_free(&map->type));
}

/* Makes one type over another; false (and no type) when the map would grow too large. */
static int map_derive(struct map *map, const struct map *old, const struct map *other, unsigned *state)
{
    struct draw_numbers n;
    int kind = (int)draw_below(state, KINDS), large = (int)draw_below(state, 2);
    numbers_draw(&n, state, map_extent(old));
    if ((long)(old->entries + other->entries) * 64 > MAP_ENTRIES)
        return 0;
    map_empty(map);
    map->derived = 1;
    if (kind < 2) {
        CALL(large ? MPI_Type_contiguous_c(n.count, old->type, &map->type) : MPI_Type_contiguous(n.count, old->type, &map->type));
        map_append(map, old, 0, n.count);
    } else if (kind < 4)
        build_vectors(map, old, &n, kind - 2, large);
    else if (kind < 8)
        build_indexed(map, old, &n, kind - 4, large);
    else if (kind < 10)
        build_subarray(map, old, state, large);
    else if (kind < 12)
        build_structure(map, old, other, &n, large);
    else if (kind == 12) {
        *map = *old;
        map->derived = map->sticky = 1;
        map->low = old->low - 8;
        map->high = old->high + 8 * (long)draw_below(state, 4);
        CALL(large ? MPI_Type_create_resized_c(old->type, map->low, map_extent(map), &map->type)
                   : MPI_Type_create_resized(old->type, map->low, map_extent(map), &map->type));
    } else {
        *map = *old;
        map->derived = 1;
        CALL(MPI_Type_dup(old->type, &map->type));
    }
    return 1;
}

/* A random committed type of up to `depth` levels. The types in between are freed: the last one keeps what it needs. */
__attribute__((unused)) static void map_draw(struct map *map, unsigned *state, int depth)
{
    static struct map next, other;
    map_draw_basic(map, state);
    for (int level = 0; level < depth; level++) {
        map_draw_basic(&other, state);
        if (!map_derive(&next, map, &other, state))
            break;
        map_free(map);
        *map = next;
    }
    if (map->derived)
        CALL(MPI_Type_commit(&map->type));
}

#endif
