/* Freed and foreign handles are errors, not crashes, and a reused place is not taken for the old object. */
#include "check.h"

#define WRONG(type, number) (*(type[]){*(type *)(uint64_t[]){(uint64_t)(number)}})

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    int value = 0, size;
    MPI_Comm comm, old_comm;
    MPI_Datatype type, old_type;
    MPI_Group group, old_group;
    MPI_Request request, old_request;
    MPI_Info info, old_info;
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    old_comm = comm;
    CALL(MPI_Comm_free(&comm));
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, 1, old_comm), MPI_ERR_COMM);
    FAILS(MPI_Comm_size(old_comm, &size), MPI_ERR_COMM);
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm)); /* may take the place of the freed one */
    FAILS(MPI_Comm_free(&old_comm), MPI_ERR_COMM);
    CALL(MPI_Comm_size(comm, &size));
    CALL(MPI_Comm_free(&comm));

    CALL(MPI_Type_contiguous(2, MPI_INT, &type));
    old_type = type;
    FAILS(MPI_Send(&value, 1, type, 0, 1, MPI_COMM_SELF), MPI_ERR_TYPE); /* not committed */
    CALL(MPI_Type_free(&type));
    FAILS(MPI_Type_size(old_type, &size), MPI_ERR_TYPE);
    FAILS(MPI_Type_commit(&old_type), MPI_ERR_TYPE);

    CALL(MPI_Comm_group(MPI_COMM_WORLD, &group));
    CALL(MPI_Group_excl(group, 1, (int[]){0}, &old_group));
    CALL(MPI_Group_free(&group));
    group = old_group;
    if (check_size > 1) {
        CALL(MPI_Group_free(&group));
        FAILS(MPI_Group_size(old_group, &size), MPI_ERR_GROUP);
    }

    CALL(MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    old_request = request;
    CALL(MPI_Cancel(&request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FAILS(MPI_Wait(&old_request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);

    CALL(MPI_Info_create(&info));
    old_info = info;
    CALL(MPI_Info_free(&info));
    FAILS(MPI_Info_set(old_info, "key", "value"), MPI_ERR_INFO);

    /* Handles of the wrong kind and numbers that are no handle at all. */
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, 1, WRONG(MPI_Comm, 0xC0FFEE11)), MPI_ERR_COMM);
    FAILS(MPI_Send(&value, 1, WRONG(MPI_Datatype, 0xDEADBEEF), 0, 1, MPI_COMM_SELF), MPI_ERR_TYPE);
    FAILS(MPI_Allreduce(&value, &size, 1, MPI_INT, WRONG(MPI_Op, 0xFFFFFFFF), MPI_COMM_SELF), MPI_ERR_OP);
    FAILS(MPI_Group_size(WRONG(MPI_Group, 0x77777777), &size), MPI_ERR_GROUP);
    return finish();
}
