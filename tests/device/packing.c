/*
 * MPI_Pack, MPI_Unpack and their external forms with elements, packed bytes or both in device
 * memory, one message behind another; compared with what the same calls give in host memory.
 *
 *     packing ROUNDS SEED
 */
#include "random_types.h"

static void internal(unsigned *random, MPI_Datatype type, int count, bool elements, bool packed)
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
    CHECK(holds(to, expected.bytes), "packed bytes are wrong");
    set_pattern(from, 3);
    set_pattern(host, 3);
    position = begins;
    CALL(MPI_Unpack(to.bytes, bytes, &position, from.bytes, count, type, MPI_COMM_WORLD));
    ends[1] = position;
    position = begins;
    MPI_Unpack(expected.bytes, bytes, &position, host.bytes, count, type, MPI_COMM_WORLD);
    CHECK(ends[1] == position && holds(from, host.bytes), "unpacked bytes are wrong");
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
    CHECK(holds(to, expected.bytes), "bytes packed for external32 are wrong");
    set_pattern(from, 3);
    set_pattern(host, 3);
    position = 0;
    CALL(MPI_Unpack_external("external32", to.bytes, bytes, &position, from.bytes, count, type));
    position = 0;
    MPI_Unpack_external("external32", expected.bytes, bytes, &position, host.bytes, count, type);
    CHECK(holds(from, host.bytes), "bytes unpacked from external32 are wrong");
    free_memory(from);
    free_memory(to);
    free_memory(host);
    free_memory(expected);
}

static bool round_is_wrong(unsigned *random, int round)
{
    MPI_Datatype type = random_type(random);
    int elements = between(random, 1, 3), spaces = between(random, 1, 3);
    internal(random, type, elements, spaces & 1, spaces & 2);
    if (round % 4 == 0)
        external(type, elements, spaces & 1, spaces & 2);
    MPI_Type_free(&type);
    return !CHECK(!check_failures, "elements in %s memory, packed bytes in %s memory",
                  spaces & 1 ? "device" : "host", spaces & 2 ? "device" : "host");
}

int main(int count, char **words)
{
    return run_rounds(count, words, round_is_wrong);
}
