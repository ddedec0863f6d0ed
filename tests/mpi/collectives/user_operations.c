/*
 * User-defined operations: combined in rank order when they do not commute, on types with gaps, in every reduction, with large counts;
 * freed while in use. MPI 5.0, 6.9.5
 */
#include "reductions.h"

/* 2 x 2 matrices modulo a prime, with a gap before the last number: multiplication is associative and does not commute. */
struct matrix {
    int a, b, c, gap, d;
};

enum { PRIME = 10007 };

static struct matrix product(struct matrix x, struct matrix y)
{
    struct matrix r = {(x.a * y.a + x.b * y.c) % PRIME, (x.a * y.b + x.b * y.d) % PRIME, (x.c * y.a + x.d * y.c) % PRIME, y.gap,
                       (x.c * y.b + x.d * y.d) % PRIME};
    return r;
}

static MPI_Datatype matrix_type;
static int calls_with_another_type;

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    if (*type != matrix_type)
        calls_with_another_type++;
    for (int i = 0; i < *count; i++)
        ((struct matrix *)inout)[i] = product(((struct matrix *)in)[i], ((struct matrix *)inout)[i]);
}

static void multiply_large(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    (void)type;
    for (MPI_Count i = 0; i < *count; i++)
        ((struct matrix *)inout)[i] = product(((struct matrix *)in)[i], ((struct matrix *)inout)[i]);
}

static void matrix_set(void *place, long value, long index)
{
    struct matrix m = {(int)(value + 7), (int)(index % 5), (int)(value * index % 11 + 11), -1, (int)(index + 2)};
    *(struct matrix *)place = m;
}

static void matrix_combine(enum operation operation, const void *in, void *inout)
{
    (void)operation;
    *(struct matrix *)inout = product(*(const struct matrix *)in, *(struct matrix *)inout);
}

static bool matrix_same(const void *left, const void *right)
{
    const struct matrix *x = left, *y = right;
    return x->a == y->a && x->b == y->b && x->c == y->c && x->d == y->d;
}

static void all_reductions(MPI_Op op)
{
    static const struct number matrices = {"matrices", MPI_DATATYPE_NULL, PAIR, sizeof(struct matrix), matrix_set, matrix_combine, matrix_same};
    static const long counts[] = {0, 1, 3, 64, 1001, 20000};
    struct number number = matrices;
    number.type = matrix_type;
    unsigned stream = 0;
    for (int kind = 0; kind < REDUCTIONS; kind++)
        for (int form = 0; form < FORMS; form++)
            for (int in_place = 0; in_place < 2; in_place++)
                for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                    stream++;
                    struct reduction_plan plan = {.kind = (enum reduction_kind)kind, .form = (enum form)form, .in_place = in_place, .number = &number,
                                                  .operation = SUM, .handle = op, .count = counts[i], .stream = stream, .large = (int)(stream % 2),
                                                  .root = (int)stream};
                    reduction_run(MPI_COMM_WORLD, &plan);
                }
}

static void sum_of_ints(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* The operation and the type may be freed as soon as the nonblocking call has returned. */
static void freed_in_use(void)
{
    MPI_Op op;
    MPI_Datatype type;
    MPI_Request request;
    int in = check_rank + 1, out = -1, flag = 0;
    CALL(MPI_Op_create(sum_of_ints, 1, &op));
    CALL(MPI_Type_dup(MPI_INT, &type));
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Iallreduce(&in, &out, 1, type, op, MPI_COMM_WORLD, &request));
    CALL(MPI_Op_free(&op));
    CALL(MPI_Type_free(&type));
    while (!flag)
        CALL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(out == check_size * (check_size + 1) / 2, "the sum is %d", out);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Op op, large;
    MPI_Datatype packed;
    CALL(MPI_Type_create_struct(2, (int[]){3, 1}, (MPI_Aint[]){0, offsetof(struct matrix, d)}, (MPI_Datatype[]){MPI_INT, MPI_INT}, &packed));
    CALL(MPI_Type_create_resized(packed, 0, sizeof(struct matrix), &matrix_type));
    CALL(MPI_Type_commit(&matrix_type));
    CALL(MPI_Type_free(&packed));
    CALL(MPI_Op_create(multiply, 0, &op));
    CALL(MPI_Op_create_c(multiply_large, 0, &large));
    int commutative = -1;
    CALL(MPI_Op_commutative(op, &commutative));
    CHECK(!commutative, "an operation that does not commute is called commutative");
    CALL(MPI_Op_commutative(MPI_SUM, &commutative));
    CHECK(commutative, "MPI_SUM is said not to commute");
    all_reductions(op);
    CHECK(calls_with_another_type == 0, "the function got another datatype than the call %d times", calls_with_another_type);
    all_reductions(large);
    freed_in_use();
    CALL(MPI_Op_free(&op));
    CALL(MPI_Op_free(&large));
    CALL(MPI_Type_free(&matrix_type));
    return finish();
}
