/* MPI_Reduce_local: every predefined operation on every type, in place of the standard's table. MPI 5.0, 6.9.7 */
#include "numbers.h"

enum { MOST = 1000, EDGE = 64 };

static unsigned char in[MOST * 32 + EDGE], before[MOST * 32 + EDGE], inout[MOST * 32 + EDGE], expected[MOST * 32 + EDGE];

static void one(const struct number *number, enum operation operation, int count, int large)
{
    size_t size = number->size;
    memset(before, 0xa5, sizeof before);
    for (int i = 0; i < count; i++) {
        number_set(number, operation, in + (size_t)i * size, 0, i, 1);
        number_set(number, operation, before + (size_t)i * size, 1, i, 2);
    }
    memcpy(inout, before, sizeof before);
    memcpy(expected, before, sizeof before);
    for (int i = 0; i < count; i++)
        number->combine(operation, in + (size_t)i * size, expected + (size_t)i * size);
    if (large)
        CALL(MPI_Reduce_local_c(in, inout, count, number->type, operation_handle(operation)));
    else
        CALL(MPI_Reduce_local(in, inout, count, number->type, operation_handle(operation)));
    for (int i = 0; i < count; i++)
        if (!CHECK(number->same(inout + (size_t)i * size, expected + (size_t)i * size), "%s on %s, element %d of %d", operation_names[operation],
                   number->name, i, count))
            break;
    CHECK(memcmp(inout + (size_t)count * size, before + (size_t)count * size, EDGE) == 0, "%s on %s wrote behind %d elements",
          operation_names[operation], number->name, count);
}

/* The in buffer is the left operand. */
static void subtract(void *left, void *right, int *count, MPI_Datatype *type)
{
    int given = *type == MPI_INT;
    for (int i = 0; given && i < *count; i++)
        ((int *)right)[i] = ((int *)left)[i] - ((int *)right)[i];
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 2, 3, 8, 15, 100, MOST};
    start(&argc, &argv);
    numbers_make();
    for (int type = 0; type < number_count; type++)
        for (int operation = 0; operation < OPERATIONS; operation++)
            for (size_t i = 0; allowed((enum operation)operation, numbers[type].group) && i < sizeof counts / sizeof *counts; i++)
                one(&numbers[type], (enum operation)operation, counts[i], (int)i % 2);
    MPI_Op op;
    int left[3] = {10, 20, 30}, right[3] = {1, 2, 3};
    CALL(MPI_Op_create(subtract, 0, &op));
    CALL(MPI_Reduce_local(left, right, 3, MPI_INT, op));
    CHECK(right[0] == 9 && right[1] == 18 && right[2] == 27, "%d %d %d: the operands are exchanged", right[0], right[1], right[2]);
    CALL(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL, "MPI_Op_free leaves a handle");
    return finish();
}
