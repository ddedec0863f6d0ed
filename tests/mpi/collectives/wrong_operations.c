/* An operation that the standard does not allow on a type is an error of class MPI_ERR_OP. MPI 5.0, 6.9.2 */
#include "numbers.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char in[64] = {0}, out[64] = {0};
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    const struct {
        MPI_Datatype type;
        MPI_Op op;
    } wrong[] = {
        {MPI_DOUBLE, MPI_BAND}, {MPI_FLOAT, MPI_LAND},     {MPI_C_DOUBLE_COMPLEX, MPI_MAX}, {MPI_BYTE, MPI_SUM},       {MPI_C_BOOL, MPI_SUM},
        {MPI_INT, MPI_MINLOC},  {MPI_DOUBLE_INT, MPI_SUM}, {MPI_2INT, MPI_BXOR},            {MPI_PACKED, MPI_BOR},     {MPI_WCHAR, MPI_MAX},
        {MPI_INT, MPI_OP_NULL}, {MPI_INTEGER, MPI_LAND},   {MPI_LOGICAL, MPI_SUM},           {MPI_CHAR, MPI_MAXLOC},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int code = MPI_Allreduce(in, out, 1, wrong[i].type, wrong[i].op, MPI_COMM_WORLD);
        CHECK(class_of(code) == MPI_ERR_OP, "row %d: class %d instead of MPI_ERR_OP", (int)i, class_of(code));
        code = MPI_Reduce_local(in, out, 1, wrong[i].type, wrong[i].op);
        CHECK(class_of(code) == MPI_ERR_OP, "row %d, local: class %d instead of MPI_ERR_OP", (int)i, class_of(code));
    }
    /* A derived type has no predefined operation. */
    MPI_Datatype pair;
    CALL(MPI_Type_contiguous(2, MPI_INT, &pair));
    CALL(MPI_Type_commit(&pair));
    FAILS(MPI_Allreduce(in, out, 1, pair, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
    CALL(MPI_Type_free(&pair));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    return finish();
}
