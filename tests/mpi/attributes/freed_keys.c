/*
 * A key that is freed while objects have attributes with it: they can still be read and deleted, duplicates get them, and freeing
 * the key once more through a copy of its number is harmless. MPI 5.0, 7.7.2
 */
#include "check.h"

static int deletions;

static int delete_comm(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void communicators(void)
{
    MPI_Comm comm, copy;
    int keyval, first, second, flag;
    void *value;
    deletions = 0;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete_comm, &keyval, NULL));
    CALL(MPI_Comm_set_attr(comm, keyval, (void *)7));
    first = second = keyval;
    CALL(MPI_Comm_free_keyval(&first));
    CALL(MPI_Comm_get_attr(comm, keyval, &value, &flag));
    CHECK(flag && value == (void *)7, "value %p of a freed key", value);
    CALL(MPI_Comm_free_keyval(&second));
    CHECK(second == MPI_KEYVAL_INVALID, "the second free left %d", second);
    CALL(MPI_Comm_dup(comm, &copy));
    CALL(MPI_Comm_get_attr(copy, keyval, &value, &flag));
    CHECK(flag && value == (void *)7, "value %p of a freed key in the duplicate", value);
    CALL(MPI_Comm_delete_attr(comm, keyval));
    CHECK(deletions == 1, "%d deletions", deletions);
    CALL(MPI_Comm_get_attr(copy, keyval, &value, &flag));
    CHECK(flag && value == (void *)7, "value %p after the delete from another communicator", value);
    CALL(MPI_Comm_free(&copy));
    CHECK(deletions == 2, "%d deletions", deletions);
    CALL(MPI_Comm_free(&comm));
    CHECK(deletions == 2, "%d deletions", deletions);
}

static void datatypes(void)
{
    MPI_Datatype type;
    int keyval, first, second, flag;
    void *value;
    deletions = 0;
    CALL(MPI_Type_contiguous(2, MPI_INT, &type));
    CALL(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_type, &keyval, NULL));
    CALL(MPI_Type_set_attr(type, keyval, (void *)9));
    first = second = keyval;
    CALL(MPI_Type_free_keyval(&first));
    CALL(MPI_Type_get_attr(type, keyval, &value, &flag));
    CHECK(flag && value == (void *)9, "value %p of a freed key", value);
    CALL(MPI_Type_free_keyval(&second));
    CALL(MPI_Type_delete_attr(type, keyval));
    CHECK(deletions == 1, "%d deletions", deletions);
    CALL(MPI_Type_free(&type));
    CHECK(deletions == 1, "%d deletions", deletions);
}

/* Many keys that are freed before their objects: the library forgets each with its last attribute. */
static void many(void)
{
    MPI_Datatype type;
    for (int i = 0; i < 3000; i++) {
        int keyval, kept, flag;
        void *value;
        CALL(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL));
        CALL(MPI_Type_contiguous(2, MPI_INT, &type));
        CALL(MPI_Type_set_attr(type, keyval, &type));
        kept = keyval;
        CALL(MPI_Type_free_keyval(&keyval));
        CALL(MPI_Type_get_attr(type, kept, &value, &flag));
        CHECK(flag && value == &type, "key %d", i);
        CALL(MPI_Type_free(&type));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    communicators();
    datatypes();
    many();
    return finish();
}
