/*
 * Random nested datatypes against naive type maps: size, bounds, true bounds, packing in one piece and in pieces, and messages from and to
 * dense bytes. MPI 5.0, chapter 5. Arguments: seed, number of types, and the
 * word "portable" to leave out MPI_Get_elements, which MPICH gets wrong on nested structures.
 */
#include "typemap.h"

enum { SPACE = 1 << 18 };

static unsigned char memory[SPACE], expected[SPACE], dense[SPACE], packed[SPACE];
static struct map map;
static int portable;

/* The dense bytes of `count` elements at `origin`, in the order of the map. */
static long gather_bytes(const unsigned char *origin, long count, unsigned char *to)
{
    long used = 0;
    for (long element = 0; element < count; element++)
        for (int i = 0; i < map.entries; i++) {
            memcpy(to + used, origin + element * map_extent(&map) + map.entry[i].offset, (size_t)map.entry[i].size);
            used += map.entry[i].size;
        }
    return used;
}

static void scatter_bytes(unsigned char *origin, long count, const unsigned char *from)
{
    for (long element = 0; element < count; element++)
        for (int i = 0; i < map.entries; i++) {
            memcpy(origin + element * map_extent(&map) + map.entry[i].offset, from, (size_t)map.entry[i].size);
            from += map.entry[i].size;
        }
}

static void true_bounds(long *low, long *high)
{
    *low = map.entries ? map.entry[0].offset : 0, *high = *low;
    for (int i = 0; i < map.entries; i++) {
        long end = map.entry[i].offset + map.entry[i].size;
        *low = map.entry[i].offset < *low ? map.entry[i].offset : *low;
        *high = end > *high || i == 0 ? end : *high;
    }
}

static void check_numbers(void)
{
    int size;
    MPI_Count size_c, low_c, extent_c;
    MPI_Aint low, extent;
    long true_low, true_high;
    true_bounds(&true_low, &true_high);
    CALL(MPI_Type_size(map.type, &size));
    CALL(MPI_Type_size_c(map.type, &size_c));
    CHECK(size == map_size(&map) && size_c == size, "size %d, expected %ld", size, map_size(&map));
    CALL(MPI_Type_get_extent(map.type, &low, &extent));
    CHECK(low == map.low && extent == map_extent(&map), "bounds %ld + %ld, expected %ld + %ld", (long)low, (long)extent, map.low, map_extent(&map));
    CALL(MPI_Type_get_extent_c(map.type, &low_c, &extent_c));
    CHECK(low_c == map.low && extent_c == map_extent(&map), "large bounds %ld + %ld", (long)low_c, (long)extent_c);
    CALL(MPI_Type_get_true_extent(map.type, &low, &extent));
    CHECK(low == true_low && extent == true_high - true_low, "true bounds %ld + %ld, expected %ld + %ld", (long)low, (long)extent, true_low,
          true_high - true_low);
    CALL(MPI_Type_get_true_extent_c(map.type, &low_c, &extent_c));
    CHECK(low_c == true_low && extent_c == true_high - true_low, "large true bounds %ld + %ld", (long)low_c, (long)extent_c);
}

static void check_packing(unsigned char *origin, int count, long bytes)
{
    int position = 0, room;
    CALL(MPI_Pack_size(count, map.type, MPI_COMM_SELF, &room));
    CHECK(room >= bytes, "MPI_Pack_size says %d for %ld bytes", room, bytes);
    CALL(MPI_Pack(origin, count, map.type, packed, SPACE, &position, MPI_COMM_SELF));
    CHECK(position == bytes && memcmp(packed, dense, (size_t)bytes) == 0, "%d elements packed to %d other bytes, expected %ld", count, position, bytes);
    /* One element after the other gives the same. */
    memset(packed, 0, (size_t)bytes);
    position = 0;
    for (int i = 0; i < count; i++)
        CALL(MPI_Pack(origin + i * map_extent(&map), 1, map.type, packed, SPACE, &position, MPI_COMM_SELF));
    CHECK(position == bytes && memcmp(packed, dense, (size_t)bytes) == 0, "packed in pieces to %d other bytes", position);
}

static void check_unpacking(unsigned char *origin, int count, long bytes)
{
    MPI_Count position = 0;
    memset(memory, 0xee, SPACE);
    memset(expected, 0xee, SPACE);
    scatter_bytes(expected + (origin - memory), count, dense);
    CALL(MPI_Unpack_c(dense, bytes, &position, origin, count, map.type, MPI_COMM_SELF));
    CHECK(position == bytes && memcmp(memory, expected, SPACE) == 0, "unpacked %ld of %ld bytes, or to the wrong place", (long)position, bytes);
}

/* Through a message to myself: typed to dense, dense to typed, typed to typed; a cursor stops wherever the protocol cuts. */
static void check_messages(unsigned char *origin, int count, long bytes)
{
    MPI_Status status;
    int got;
    MPI_Count elements;
    memset(packed, 0, (size_t)bytes);
    CALL(MPI_Sendrecv(origin, count, map.type, 0, 1, packed, (int)bytes, MPI_PACKED, 0, 1, MPI_COMM_SELF, &status));
    CHECK(memcmp(packed, dense, (size_t)bytes) == 0, "%d elements of %ld bytes arrived as other bytes", count, bytes);
    memset(memory, 0xee, SPACE);
    CALL(MPI_Sendrecv(dense, (int)bytes, MPI_PACKED, 0, 1, origin, count, map.type, 0, 1, MPI_COMM_SELF, &status));
    memset(expected, 0xee, SPACE);
    scatter_bytes(expected + (origin - memory), count, dense);
    CHECK(memcmp(memory, expected, SPACE) == 0, "%ld bytes arrived in the wrong places of %d elements", bytes, count);
    CALL(MPI_Get_count(&status, map.type, &got));
    CHECK(got == (bytes ? count : 0), "count %d instead of %d", got, count);
    if (portable)
        return;
    CALL(MPI_Get_elements_c(&status, map.type, &elements));
    CHECK(elements == (MPI_Count)map.entries * got, "%ld basic elements instead of %d", (long)elements, map.entries * got);
}

/* The same between two processes. */
static void check_exchange(unsigned char *origin, int count)
{
    int peer = check_rank ^ 1;
    if (peer >= check_size)
        return;
    memset(memory, 0xee, SPACE);
    memset(expected, 0xee, SPACE);
    scatter_bytes(expected + (origin - memory), count, dense);
    if (check_rank & 1) {
        scatter_bytes(origin, count, dense);
        CALL(MPI_Send(origin, count, map.type, peer, 2, MPI_COMM_WORLD));
        memset(memory, 0xee, SPACE);
        CALL(MPI_Recv(origin, count, map.type, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        CALL(MPI_Recv(origin, count, map.type, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(memcmp(memory, expected, SPACE) == 0, "%d elements from rank %d lie wrong", count, peer);
        CALL(MPI_Send(origin, count, map.type, peer, 3, MPI_COMM_WORLD));
    }
    CHECK(memcmp(memory, expected, SPACE) == 0, "%d elements exchanged with rank %d lie wrong", count, peer);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    unsigned state = argc > 1 ? (unsigned)atoi(argv[1]) * 7919u + 1 : 1;
    portable = argc > 3 && strcmp(argv[3], "portable") == 0;
    int types = argc > 2 ? atoi(argv[2]) : 300, used = 0;
    for (int number = 0; number < types; number++) {
        map_draw(&map, &state, 1 + (int)draw_below(&state, 4));
        check_numbers();
        int count = draw_below(&state, 8) ? 1 + (int)draw_below(&state, 4) : (int)draw_below(&state, 40);
        long low, high, bytes, reach;
        true_bounds(&low, &high);
        reach = (count + 1) * (labs(map_extent(&map)) + labs(low) + labs(high));
        if (map_disjoint(&map) && reach < SPACE / 2) {
            unsigned char *origin = memory + SPACE / 2;
            used++;
            pattern_fill(memory, SPACE, (unsigned)number);
            bytes = gather_bytes(origin, count, dense);
            check_packing(origin, count, bytes);
            check_unpacking(origin, count, bytes);
            memcpy(memory, expected, SPACE);
            check_messages(origin, count, bytes);
            check_exchange(origin, count);
        }
        if (check_failures)
            fprintf(stderr, "that was type %d of seed %s\n", number, argc > 1 ? argv[1] : "0");
        if (check_failures)
            break;
        map_free(&map);
    }
    CHECK(used * 4 > types || check_failures, "only %d of %d types could be used", used, types);
    return finish();
}
