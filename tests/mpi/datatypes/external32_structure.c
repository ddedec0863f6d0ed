/* A structure loses its padding in "external32". MPI 5.0, 5.3 and 14.5.2 */
#include "../check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static unsigned char space[64];
    struct {
        char c;
        double d;
        short s;
    } structure = {'x', 1.0, 7};
    static const unsigned char dense[] = {'x', 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 7};
    MPI_Datatype type;
    MPI_Aint position = 0;
    CALL(MPI_Type_create_struct(3, (int[]){1, 1, 1},
                                (MPI_Aint[]){0, (char *)&structure.d - (char *)&structure, (char *)&structure.s - (char *)&structure},
                                (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, &type));
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Pack_external("external32", &structure, 1, type, space, sizeof space, &position));
    CHECK(position == sizeof dense && memcmp(space, dense, sizeof dense) == 0, "a structure packs to %ld bytes", (long)position);
    memset(&structure, 0, sizeof structure);
    position = 0;
    CALL(MPI_Unpack_external("external32", dense, sizeof dense, &position, &structure, 1, type));
    CHECK(structure.c == 'x' && structure.d == 1.0 && structure.s == 7, "unpacked %c, %f, %d", structure.c, structure.d, structure.s);
    CALL(MPI_Type_free(&type));
    return finish();
}
