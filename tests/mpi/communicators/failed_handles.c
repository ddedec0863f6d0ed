/* A constructor that fails leaves a null handle. The standard does not say so; programs test for it. "all": constructors of other objects too */
#include "check.h"

#define NULLED(call, handle, null)                                             \
    do {                                                                       \
        CHECK((call) != MPI_SUCCESS, "success");                               \
        CHECK((handle) == (null), "the handle is not " #null " after " #call); \
    } while (0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI_Comm cart = MPI_COMM_WORLD, split = MPI_COMM_WORLD;
    MPI_Group group, made = MPI_GROUP_EMPTY;
    MPI_Datatype type = MPI_INT;
    int many[1] = {check_size + 1}, periods[1] = {0}, ranks[1] = {check_size};
    NULLED(MPI_Cart_create(MPI_COMM_WORLD, 1, many, periods, 0, &cart), cart, MPI_COMM_NULL);
    if (argc < 2)
        return finish();
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &group));
    NULLED(MPI_Comm_split_type(MPI_COMM_WORLD, -12345, 0, MPI_INFO_NULL, &split), split, MPI_COMM_NULL);
    NULLED(MPI_Group_incl(group, 1, ranks, &made), made, MPI_GROUP_NULL);
    NULLED(MPI_Type_contiguous(-1, MPI_INT, &type), type, MPI_DATATYPE_NULL);
    CALL(MPI_Group_free(&group));
    return finish();
}
