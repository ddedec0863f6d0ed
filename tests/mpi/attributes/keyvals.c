/* Attributes of communicators and datatypes: copied by dup as the copy function says, deleted with the object. MPI 5.0, 7.7 */
#include "check.h"

static int copies, deletions, refuse_copy, refuse_delete;

static int copy_comm(MPI_Comm comm, int keyval, void *extra, void *value, void *out, int *flag)
{
    (void)comm, (void)keyval;
    copies++;
    CHECK(extra == &copies, "extra state %p", extra);
    if (refuse_copy)
        return MPI_ERR_OTHER;
    *flag = (long)value % 2;
    *(void **)out = (void *)((long)value + 100);
    return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    if (refuse_delete)
        return MPI_ERR_OTHER;
    deletions++;
    return MPI_SUCCESS;
}

static void communicator(void)
{
    MPI_Comm comm, copy;
    int odd, even, dropped, flag;
    void *value;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_create_keyval(copy_comm, delete_comm, &odd, &copies));
    CALL(MPI_Comm_create_keyval(copy_comm, delete_comm, &even, &copies));
    CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &dropped, NULL));
    CALL(MPI_Comm_get_attr(comm, odd, &value, &flag));
    CHECK(!flag, "an attribute that was never set");
    CALL(MPI_Comm_set_attr(comm, odd, (void *)11));
    CALL(MPI_Comm_set_attr(comm, even, (void *)12));
    CALL(MPI_Comm_set_attr(comm, dropped, (void *)13));
    CALL(MPI_Comm_get_attr(comm, odd, &value, &flag));
    CHECK(flag && value == (void *)11, "value %p", value);
    CALL(MPI_Comm_dup(comm, &copy));
    CHECK(copies == 2, "%d copies", copies);
    CALL(MPI_Comm_get_attr(copy, odd, &value, &flag));
    CHECK(flag && value == (void *)111, "copied value %p", value);
    CALL(MPI_Comm_get_attr(copy, even, &value, &flag));
    CHECK(!flag, "an attribute whose copy function says no was copied");
    CALL(MPI_Comm_get_attr(copy, dropped, &value, &flag));
    CHECK(!flag, "MPI_COMM_NULL_COPY_FN copied");
    /* Setting again deletes the old value; deleting deletes. */
    CALL(MPI_Comm_set_attr(comm, odd, (void *)15));
    CHECK(deletions == 1, "%d deletions after a second set", deletions);
    CALL(MPI_Comm_delete_attr(comm, even));
    CHECK(deletions == 2, "%d deletions after a delete", deletions);
    CALL(MPI_Comm_free(&copy));
    CHECK(deletions == 3, "%d deletions after the free of the copy", deletions);
    /* A freed keyval lives on in the attributes that use it. */
    int kept = odd;
    CALL(MPI_Comm_free_keyval(&odd));
    CHECK(odd == MPI_KEYVAL_INVALID, "keyval %d after its free", odd);
    (void)kept;
    CALL(MPI_Comm_free(&comm));
    CHECK(deletions == 4, "%d deletions after the free", deletions);
    CALL(MPI_Comm_free_keyval(&even));
    CALL(MPI_Comm_free_keyval(&dropped));
}

static void refusals(void)
{
    MPI_Comm comm, copy = MPI_COMM_NULL;
    int keyval;
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_create_keyval(copy_comm, delete_comm, &keyval, &copies));
    CALL(MPI_Comm_set_attr(comm, keyval, (void *)1));
    refuse_copy = 1;
    CHECK(MPI_Comm_dup(comm, &copy) != MPI_SUCCESS, "MPI_Comm_dup in spite of the copy function's error");
    refuse_copy = 0;
    refuse_delete = 1;
    CHECK(MPI_Comm_delete_attr(comm, keyval) != MPI_SUCCESS, "MPI_Comm_delete_attr in spite of the delete function's error");
    refuse_delete = 0;
    CALL(MPI_Comm_free_keyval(&keyval));
    CALL(MPI_Comm_free(&comm));
}

static void duplicates(void)
{
    MPI_Comm comm, copy;
    int keyval, flag, target;
    void *value;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    CALL(MPI_Comm_set_attr(comm, keyval, &target));
    CALL(MPI_Comm_dup(comm, &copy));
    CALL(MPI_Comm_get_attr(copy, keyval, &value, &flag));
    CHECK(flag && value == &target, "MPI_COMM_DUP_FN: %p", value);
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Comm_split(comm, 0, 0, &copy));
    CALL(MPI_Comm_get_attr(copy, keyval, &value, &flag));
    CHECK(!flag, "MPI_Comm_split copied an attribute");
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Comm_free_keyval(&keyval));
    CALL(MPI_Comm_free(&comm));
}

static int copy_type(MPI_Datatype type, int keyval, void *extra, void *value, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra;
    *flag = 1;
    *(void **)out = (void *)((long)value + 1);
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value;
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static void datatype(void)
{
    MPI_Datatype type, copy;
    int keyval, flag, deleted = 0;
    void *value;
    CALL(MPI_Type_contiguous(3, MPI_INT, &type));
    CALL(MPI_Type_create_keyval(copy_type, delete_type, &keyval, &deleted));
    CALL(MPI_Type_set_attr(type, keyval, (void *)5));
    CALL(MPI_Type_dup(type, &copy));
    CALL(MPI_Type_get_attr(copy, keyval, &value, &flag));
    CHECK(flag && value == (void *)6, "value %p", value);
    CALL(MPI_Type_delete_attr(copy, keyval));
    CHECK(deleted == 1, "%d deleted", deleted);
    CALL(MPI_Type_free(&copy));
    CALL(MPI_Type_free(&type));
    CHECK(deleted == 2, "%d deleted", deleted);
    CALL(MPI_Type_set_attr(MPI_INT, keyval, (void *)9));
    CALL(MPI_Type_get_attr(MPI_INT, keyval, &value, &flag));
    CHECK(flag && value == (void *)9, "value of a predefined type %p", value);
    CALL(MPI_Type_delete_attr(MPI_INT, keyval));
    CALL(MPI_Type_free_keyval(&keyval));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    communicator();
    refusals();
    duplicates();
    datatype();
    return finish();
}
