/*
 * MPI_Sendrecv, MPI_Sendrecv_replace and their nonblocking forms of MPI 4.0, in rings, in pairs, with MPI_PROC_NULL and derived types. MPI 5.0, 3.11
 * With an argument the status of the nonblocking forms is checked too.
 */
#include "pattern.h"

enum { LARGEST = 200000 };

static int check_all_statuses;

static void ring(int bytes, char *out, char *in)
{
    int next = (check_rank + 1) % check_size, previous = (check_rank + check_size - 1) % check_size;
    MPI_Status status;
    MPI_Request request;
    int count;
    for (int form = 0; form < 4; form++) {
        unsigned mine = (unsigned)(check_rank * 10 + form), theirs = (unsigned)(previous * 10 + form);
        char *result = form < 2 ? in : out;
        pattern_fill(out, (size_t)bytes, mine);
        memset(in, 0, (size_t)bytes);
        memset(&status, 0, sizeof status);
        if (form == 0)
            CALL(MPI_Sendrecv(out, bytes, MPI_BYTE, next, form, in, LARGEST, MPI_BYTE, previous, form, MPI_COMM_WORLD, &status));
        else if (form == 1)
            CALL(MPI_Isendrecv(out, bytes, MPI_BYTE, next, form, in, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, form, MPI_COMM_WORLD, &request));
        else if (form == 2)
            CALL(MPI_Sendrecv_replace(out, bytes, MPI_BYTE, next, form, previous, form, MPI_COMM_WORLD, &status));
        else
            CALL(MPI_Isendrecv_replace(out, bytes, MPI_BYTE, next, form, previous, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
        if (form % 2)
            CALL(MPI_Wait(&request, &status));
        CALL(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK((form % 2 && !check_all_statuses) || (count == bytes && status.MPI_SOURCE == previous && status.MPI_TAG == form),
              "form %d: count %d of %d source %d tag %d", form, count, bytes, status.MPI_SOURCE, status.MPI_TAG);
        CHECK_PATTERN(result, (size_t)bytes, theirs);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void line(void)
{
    int right = check_rank + 1 < check_size ? check_rank + 1 : MPI_PROC_NULL;
    int left = check_rank > 0 ? check_rank - 1 : MPI_PROC_NULL;
    int out = check_rank, in = -7;
    MPI_Status status;
    CALL(MPI_Sendrecv(&out, 1, MPI_INT, right, 1, &in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status));
    CHECK(in == (left == MPI_PROC_NULL ? -7 : left), "received %d from %d", in, left);
    CHECK(status.MPI_SOURCE == left, "source %d, expected %d", status.MPI_SOURCE, left);
    out = check_rank;
    CALL(MPI_Sendrecv_replace(&out, 1, MPI_INT, left, 2, right, 2, MPI_COMM_WORLD, &status));
    CHECK(out == (right == MPI_PROC_NULL ? check_rank : right), "replaced by %d from %d", out, right);
}

/* The nonblocking forms with one half only: the status is that of a receive from MPI_PROC_NULL. MPI 5.0, 3.10 and 3.11 */
static void half(void)
{
    int left = check_rank > 0 ? check_rank - 1 : MPI_PROC_NULL, out = check_rank, in = -7, count = -1;
    int right = check_rank + 1 < check_size ? check_rank + 1 : MPI_PROC_NULL;
    MPI_Status status;
    MPI_Request request;
    for (int form = 0; form < 3; form++) {
        out = check_rank;
        memset(&status, 0x55, sizeof status);
        if (form == 0)
            CALL(MPI_Isendrecv(&out, 1, MPI_INT, right, 5, &in, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &request));
        else if (form == 1)
            CALL(MPI_Isendrecv_replace(&out, 1, MPI_INT, right, 5, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &request));
        else
            CALL(MPI_Sendrecv(&out, 1, MPI_INT, right, 5, &in, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status));
        if (left != MPI_PROC_NULL) {
            CALL(MPI_Recv(&in, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(in == left, "received %d from %d", in, left);
        }
        if (form == 0) {
            int flag = 0;
            while (!flag)
                CALL(MPI_Request_get_status(request, &flag, &status));
            CHECK(status.MPI_SOURCE == MPI_PROC_NULL, "the request says source %d", status.MPI_SOURCE);
        }
        if (form < 2)
            CALL(MPI_Wait(&request, &status));
        CALL(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0, "form %d: source %d tag %d count %d",
              form, status.MPI_SOURCE, status.MPI_TAG, count);
    }
}

/* Replacing in place with gaps: the gaps stay. */
static void replace_strided(void)
{
    MPI_Datatype strided;
    int data[30], next = (check_rank + 1) % check_size, previous = (check_rank + check_size - 1) % check_size;
    CALL(MPI_Type_vector(10, 1, 3, MPI_INT, &strided));
    CALL(MPI_Type_commit(&strided));
    for (int i = 0; i < 30; i++)
        data[i] = check_rank * 100 + i;
    CALL(MPI_Sendrecv_replace(data, 1, strided, next, 4, previous, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 30; i++) {
        int owner = i % 3 ? check_rank : previous;
        CHECK(data[i] == owner * 100 + i, "element %d is %d", i, data[i]);
    }
    CALL(MPI_Type_free(&strided));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    check_all_statuses = argc > 1;
    char *out = malloc(LARGEST), *in = malloc(LARGEST);
    static const int sizes[] = {0, 1, 100, 5000, 70000, LARGEST};
    for (int i = 0; i < 6; i++)
        ring(sizes[i], out, in);
    line();
    if (check_all_statuses)
        half();
    replace_strided();
    free(out);
    free(in);
    return finish();
}
