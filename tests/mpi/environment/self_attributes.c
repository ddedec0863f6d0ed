/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, in the reverse order, while MPI still works. MPI 5.0, 11.2.4 */
#include "check.h"

static int deleted[3], count;

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    int flag = 1, sum = 0, one = 1;
    MPI_Finalized(&flag);
    CHECK(!flag, "MPI_Finalized is true while attributes are deleted");
    CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == check_size, "sum %d", sum);
    if (count < 3)
        deleted[count] = (int)(long)value;
    count++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (long i = 1; i <= 3; i++) {
        int keyval;
        CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL));
        CALL(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, (void *)i));
        CALL(MPI_Comm_free_keyval(&keyval));
    }
    CALL(MPI_Finalize());
    CHECK(count == 3 && deleted[0] == 3 && deleted[1] == 2 && deleted[2] == 1, "%d deleted: %d %d %d", count, deleted[0], deleted[1], deleted[2]);
    return verdict();
}
