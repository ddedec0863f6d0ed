/* MPI_Get_count and MPI_Get_elements after messages that end inside an element, and on statuses that were set. MPI 5.0, 3.2.5 and 5.1.11 */
#include "../check.h"

/* Sends some ints to myself, receives them as `type`, and checks both answers. */
static void ints_as(const char *name, MPI_Datatype type, int sent, int room, int count, int elements)
{
    int out[64] = {0}, in[256], found;
    MPI_Count found_c;
    MPI_Status status;
    CALL(MPI_Sendrecv(out, sent, MPI_INT, 0, 1, in, room, type, 0, 1, MPI_COMM_SELF, &status));
    CALL(MPI_Get_count(&status, type, &found));
    CHECK(found == count, "%s: count %d of %d ints, expected %d", name, found, sent, count);
    CALL(MPI_Get_elements(&status, type, &found));
    CHECK(found == elements, "%s: %d elements of %d ints, expected %d", name, found, sent, elements);
    CALL(MPI_Get_elements_c(&status, type, &found_c));
    CHECK(found_c == elements, "%s: %ld elements of %d ints (large), expected %d", name, (long)found_c, sent, elements);
}

/* A structure of an int and two chars, received in part. */
static void mixed(void)
{
    struct {
        int i;
        char c[2];
    } out[3] = {{1, "a"}, {2, "b"}, {3, "c"}}, in[3];
    MPI_Datatype whole, part;
    MPI_Status status;
    int found;
    CALL(MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 4}, (MPI_Datatype[]){MPI_INT, MPI_CHAR}, &whole));
    CALL(MPI_Type_commit(&whole));
    CALL(MPI_Type_create_struct(3, (int[]){1, 2, 1}, (MPI_Aint[]){0, 4, 8}, (MPI_Datatype[]){MPI_INT, MPI_CHAR, MPI_INT}, &part));
    CALL(MPI_Type_commit(&part));
    CALL(MPI_Sendrecv(out, 1, part, 0, 1, in, 3, whole, 0, 1, MPI_COMM_SELF, &status));
    CALL(MPI_Get_count(&status, whole, &found));
    CHECK(found == MPI_UNDEFINED, "count %d of one and a half structures", found);
    CALL(MPI_Get_elements(&status, whole, &found));
    CHECK(found == 4, "%d elements of one and a half structures", found);
    CALL(MPI_Sendrecv(out, 3, whole, 0, 1, in, 3, whole, 0, 1, MPI_COMM_SELF, &status));
    CALL(MPI_Get_elements(&status, whole, &found));
    CHECK(found == 9, "%d elements of three structures", found);
    CALL(MPI_Type_free(&whole));
    CALL(MPI_Type_free(&part));
}

static void set(void)
{
    MPI_Status status;
    int found;
    MPI_Count found_c;
    memset(&status, 0, sizeof status);
    CALL(MPI_Status_set_elements(&status, MPI_DOUBLE, 17));
    CALL(MPI_Get_elements(&status, MPI_DOUBLE, &found));
    CHECK(found == 17, "%d elements were set to 17", found);
    CALL(MPI_Get_count(&status, MPI_DOUBLE, &found));
    CHECK(found == 17, "count %d was set to 17", found);
    CALL(MPI_Status_set_elements_c(&status, MPI_BYTE, 6000000000LL));
    CALL(MPI_Get_count_c(&status, MPI_BYTE, &found_c));
    CHECK(found_c == 6000000000LL, "count %ld was set to 6000000000", (long)found_c);
    CALL(MPI_Get_count(&status, MPI_BYTE, &found));
    CHECK(found == MPI_UNDEFINED, "count %d of 6000000000 bytes in an int", found);
    CALL(MPI_Get_count(&status, MPI_INT, &found));
    CHECK(found == 1500000000, "count %d of 6000000000 bytes as ints", found);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Datatype two, gapped;
    CALL(MPI_Type_contiguous(2, MPI_INT, &two));
    CALL(MPI_Type_commit(&two));
    CALL(MPI_Type_vector(3, 1, 2, MPI_INT, &gapped));
    CALL(MPI_Type_commit(&gapped));
    ints_as("two ints", two, 4, 5, 2, 4);
    ints_as("two ints", two, 3, 5, MPI_UNDEFINED, 3);
    ints_as("two ints", two, 0, 5, 0, 0);
    ints_as("vector", gapped, 6, 4, 2, 6);
    ints_as("vector", gapped, 7, 4, MPI_UNDEFINED, 7);
    ints_as("int", MPI_INT, 5, 9, 5, 5);
    mixed();
    set();
    CALL(MPI_Type_free(&two));
    CALL(MPI_Type_free(&gapped));
    return finish();
}
