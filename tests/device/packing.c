/*
 * MPI_Pack, MPI_Unpack and their external forms with elements, packed bytes or both in device
 * memory, one message behind another; compared with what the same calls give in host memory.
 *
 *     packing ROUNDS SEED
 */
#include "memory.h"
#include "random_types.h"

static size_t reach(MPI_Datatype type, int count)
{
    MPI_Aint lower, extent, true_lower, true_extent;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    return (size_t)(true_lower + true_extent + extent * (count - 1)) + 16;
}

/* Whether both hold the same bytes. */
static bool equal(Memory memory, const unsigned char *expected)
{
    unsigned char *bytes = malloc(memory.size);
    read_memory(memory, bytes);
    bool same = memcmp(bytes, expected, memory.size) == 0;
    free(bytes);
    return same;
}

static void internal(Random *random, MPI_Datatype type, int count, bool elements, bool packed)
{
    size_t span = reach(type, count);
    int bytes, position = between(random, 0, 9), ends[2];
    MPI_Pack_size(count, type, MPI_COMM_WORLD, &bytes);
    bytes += 20;
    const int begins = position;
    Memory from = pattern_in(elements, span, 1), to = pattern_in(packed, bytes, 2);
    Memory host = pattern_in(false, span, 1), expected = pattern_in(false, bytes, 2);
    CALL(MPI_Pack(from.bytes, count, type, to.bytes, bytes, &position, MPI_COMM_WORLD));
    ends[0] = position;
    position = begins;
    MPI_Pack(host.bytes, count, type, expected.bytes, bytes, &position, MPI_COMM_WORLD);
    CHECK(ends[0] == position, "position %d, not %d", ends[0], position);
    CHECK(equal(to, expected.bytes), "packed bytes are wrong");
    set_pattern(from, 3);
    set_pattern(host, 3);
    position = begins;
    CALL(MPI_Unpack(to.bytes, bytes, &position, from.bytes, count, type, MPI_COMM_WORLD));
    ends[1] = position;
    position = begins;
    MPI_Unpack(expected.bytes, bytes, &position, host.bytes, count, type, MPI_COMM_WORLD);
    CHECK(ends[1] == position && equal(from, host.bytes), "unpacked bytes are wrong");
    free_memory(from);
    free_memory(to);
    free_memory(host);
    free_memory(expected);
}

static void external(MPI_Datatype type, int count, bool elements, bool packed)
{
    size_t span = reach(type, count);
    MPI_Aint bytes, position = 0;
    MPI_Pack_external_size("external32", count, type, &bytes);
    Memory from = pattern_in(elements, span, 1), to = pattern_in(packed, bytes, 2);
    Memory host = pattern_in(false, span, 1), expected = pattern_in(false, bytes, 2);
    CALL(MPI_Pack_external("external32", from.bytes, count, type, to.bytes, bytes, &position));
    position = 0;
    MPI_Pack_external("external32", host.bytes, count, type, expected.bytes, bytes, &position);
    CHECK(equal(to, expected.bytes), "bytes packed for external32 are wrong");
    set_pattern(from, 3);
    set_pattern(host, 3);
    position = 0;
    CALL(MPI_Unpack_external("external32", to.bytes, bytes, &position, from.bytes, count, type));
    position = 0;
    MPI_Unpack_external("external32", expected.bytes, bytes, &position, host.bytes, count, type);
    CHECK(equal(from, host.bytes), "bytes unpacked from external32 are wrong");
    free_memory(from);
    free_memory(to);
    free_memory(host);
    free_memory(expected);
}

int main(int count, char **words)
{
    start(&count, &words);
    int rounds = count > 1 ? atoi(words[1]) : 100;
    Random random = {count > 2 ? strtoull(words[2], NULL, 10) : 1};
    start_device(check_rank);
    for (int round = 0; round < rounds; round++) {
        MPI_Datatype type = random_type(&random);
        int elements = between(&random, 1, 3), spaces = between(&random, 1, 3);
        internal(&random, type, elements, spaces & 1, spaces & 2);
        if (round % 4 == 0)
            external(type, elements, spaces & 1, spaces & 2);
        REQUIRE(!check_failures, "round %d, spaces %d", round, spaces);
        MPI_Type_free(&type);
    }
    return finish();
}
