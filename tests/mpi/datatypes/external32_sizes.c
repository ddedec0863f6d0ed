/* In "external32" long has 4 bytes, long double 16 and wchar_t 2. MPI 5.0, table 14.2 */
#include "../check.h"

static void size_is(const char *name, MPI_Datatype type, long expected)
{
    MPI_Aint size = -1;
    CALL(MPI_Pack_external_size("external32", 1, type, &size));
    CHECK(size == expected, "%s has %ld bytes instead of %ld", name, (long)size, expected);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    size_is("MPI_LONG", MPI_LONG, 4);
    size_is("MPI_UNSIGNED_LONG", MPI_UNSIGNED_LONG, 4);
    size_is("MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, 16);
    size_is("MPI_WCHAR", MPI_WCHAR, 2);
    size_is("MPI_AINT", MPI_AINT, 8);
    return finish();
}
