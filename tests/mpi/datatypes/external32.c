/* The representation "external32": big-endian, IEEE, of the sizes in the standard's table. MPI 5.0, 5.3 and 14.5.2 */
#include "../check.h"
#include <stdint.h>

static unsigned char space[4096];

/* Packs, compares with the bytes that the standard prescribes, and unpacks again. */
static void same(const char *name, MPI_Datatype type, const void *data, int count, const unsigned char *expected, long size, size_t in_memory)
{
    MPI_Aint position = 0, room = -1;
    unsigned char back[256];
    CALL(MPI_Pack_external_size("external32", count, type, &room));
    CHECK(room == size, "%s: size %ld instead of %ld", name, (long)room, size);
    memset(space, 0xcc, sizeof space);
    CALL(MPI_Pack_external("external32", data, count, type, space, sizeof space, &position));
    CHECK(position == size && memcmp(space, expected, (size_t)size) == 0, "%s: %ld bytes, first %02x %02x, expected %ld and %02x %02x", name, (long)position,
          space[0], space[1], size, expected[0], expected[1]);
    position = 0;
    memset(back, 0, sizeof back);
    CALL(MPI_Unpack_external("external32", expected, size, &position, back, count, type));
    CHECK(position == size && memcmp(back, data, in_memory) == 0, "%s is not what was packed", name);
}

#define SAME(type, data, count, ...)                                                                                                   \
    do {                                                                                                                               \
        static const unsigned char bytes[] = {__VA_ARGS__};                                                                            \
        same(#type, type, data, count, bytes, sizeof bytes, sizeof *(data) * (size_t)(count));                                         \
    } while (0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char c = 'A';
    short s = 0x1234;
    int i[] = {0x01020304, -2};
    unsigned u = 0xfffefdfc;
    long long ll = 0x0102030405060708;
    float f = 1.5f;
    double d[] = {-2.0, 1.0};
    int16_t i16 = -2;
    uint32_t u32 = 0x0a0b0c0d;
    float complex_number[2] = {1.0f, -1.0f};
    SAME(MPI_CHAR, &c, 1, 'A');
    SAME(MPI_BYTE, &c, 1, 'A');
    SAME(MPI_SHORT, &s, 1, 0x12, 0x34);
    SAME(MPI_INT, i, 2, 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe);
    SAME(MPI_UNSIGNED, &u, 1, 0xff, 0xfe, 0xfd, 0xfc);
    SAME(MPI_LONG_LONG_INT, &ll, 1, 1, 2, 3, 4, 5, 6, 7, 8);
    SAME(MPI_FLOAT, &f, 1, 0x3f, 0xc0, 0, 0);
    SAME(MPI_DOUBLE, d, 2, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0);
    SAME(MPI_INT16_T, &i16, 1, 0xff, 0xfe);
    SAME(MPI_UINT32_T, &u32, 1, 10, 11, 12, 13);
    SAME(MPI_C_FLOAT_COMPLEX, complex_number, 2 / 2, 0x3f, 0x80, 0, 0, 0xbf, 0x80, 0, 0);
    return finish();
}
