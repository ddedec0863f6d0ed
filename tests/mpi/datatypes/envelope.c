/* MPI_Type_get_envelope and MPI_Type_get_contents give back what a constructor was called with, small and large. MPI 5.0, 5.1.13 */
#include "../check.h"

enum { MOST = 64 };

static int integers[MOST], numbers[4];
static MPI_Aint addresses[MOST];
static MPI_Count counts[MOST], numbers_c[4];
static MPI_Datatype types[MOST];
static int combiner;

/* Reads envelope and contents; checks the numbers of each kind. */
static void look(MPI_Datatype type, int expected, int ints, int addrs, int inner, const char *name)
{
    CALL(MPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner));
    CHECK(combiner == expected, "%s: combiner %d instead of %d", name, combiner, expected);
    REQUIRE(numbers[0] == ints && numbers[1] == addrs && numbers[2] == inner, "%s: %d integers, %d addresses, %d datatypes", name, numbers[0], numbers[1],
            numbers[2]);
    CALL(MPI_Type_get_contents(type, ints, addrs, inner, integers, addresses, types));
    MPI_Count a, b, c, d;
    CALL(MPI_Type_get_envelope_c(type, &a, &b, &c, &d, &combiner));
    CHECK(combiner == expected && a + c == ints + 0 && b == addrs && d == inner, "%s: large envelope %ld %ld %ld %ld", name, (long)a, (long)b, (long)c, (long)d);
}

static void integers_are(const char *name, int n, const int *expected)
{
    for (int i = 0; i < n; i++)
        CHECK(integers[i] == expected[i], "%s: integer %d is %d instead of %d", name, i, integers[i], expected[i]);
}

static void free_both(MPI_Datatype *type)
{
    CALL(MPI_Type_free(type));
}

static void simple(void)
{
    MPI_Datatype t;
    MPI_Type_get_envelope(MPI_DOUBLE, &numbers[0], &numbers[1], &numbers[2], &combiner);
    CHECK(combiner == MPI_COMBINER_NAMED && !numbers[0] && !numbers[1] && !numbers[2], "MPI_DOUBLE has combiner %d", combiner);
    CALL(MPI_Type_dup(MPI_INT, &t));
    look(t, MPI_COMBINER_DUP, 0, 0, 1, "dup");
    CHECK(types[0] == MPI_INT, "dup of another type");
    free_both(&t);
    CALL(MPI_Type_contiguous(7, MPI_CHAR, &t));
    look(t, MPI_COMBINER_CONTIGUOUS, 1, 0, 1, "contiguous");
    CHECK(integers[0] == 7 && types[0] == MPI_CHAR, "contiguous of %d", integers[0]);
    free_both(&t);
    CALL(MPI_Type_vector(3, 2, -5, MPI_SHORT, &t));
    look(t, MPI_COMBINER_VECTOR, 3, 0, 1, "vector");
    integers_are("vector", 3, (int[]){3, 2, -5});
    free_both(&t);
    CALL(MPI_Type_create_hvector(4, 1, -100, MPI_FLOAT, &t));
    look(t, MPI_COMBINER_HVECTOR, 2, 1, 1, "hvector");
    integers_are("hvector", 2, (int[]){4, 1});
    CHECK(addresses[0] == -100 && types[0] == MPI_FLOAT, "hvector by %ld", (long)addresses[0]);
    free_both(&t);
    CALL(MPI_Type_create_resized(MPI_INT, -4, 40, &t));
    look(t, MPI_COMBINER_RESIZED, 0, 2, 1, "resized");
    CHECK(addresses[0] == -4 && addresses[1] == 40, "resized to %ld + %ld", (long)addresses[0], (long)addresses[1]);
    free_both(&t);
}

static void blocks(void)
{
    MPI_Datatype t;
    CALL(MPI_Type_indexed(2, (int[]){3, 4}, (int[]){-1, 9}, MPI_INT, &t));
    look(t, MPI_COMBINER_INDEXED, 5, 0, 1, "indexed");
    integers_are("indexed", 5, (int[]){2, 3, 4, -1, 9});
    free_both(&t);
    CALL(MPI_Type_create_hindexed(2, (int[]){3, 4}, (MPI_Aint[]){-8, 1000}, MPI_INT, &t));
    look(t, MPI_COMBINER_HINDEXED, 3, 2, 1, "hindexed");
    integers_are("hindexed", 3, (int[]){2, 3, 4});
    CHECK(addresses[0] == -8 && addresses[1] == 1000, "hindexed at %ld and %ld", (long)addresses[0], (long)addresses[1]);
    free_both(&t);
    CALL(MPI_Type_create_indexed_block(3, 2, (int[]){5, 0, 9}, MPI_INT, &t));
    look(t, MPI_COMBINER_INDEXED_BLOCK, 5, 0, 1, "indexed_block");
    integers_are("indexed_block", 5, (int[]){3, 2, 5, 0, 9});
    free_both(&t);
    CALL(MPI_Type_create_hindexed_block(2, 6, (MPI_Aint[]){64, 0}, MPI_INT, &t));
    look(t, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 1, "hindexed_block");
    integers_are("hindexed_block", 2, (int[]){2, 6});
    CHECK(addresses[0] == 64 && addresses[1] == 0, "hindexed_block at %ld", (long)addresses[0]);
    free_both(&t);
}

static void composed(void)
{
    MPI_Datatype t, inner;
    CALL(MPI_Type_contiguous(2, MPI_INT, &inner));
    CALL(MPI_Type_create_struct(3, (int[]){1, 2, 3}, (MPI_Aint[]){0, 16, 64}, (MPI_Datatype[]){MPI_DOUBLE, inner, MPI_CHAR}, &t));
    CALL(MPI_Type_free(&inner));
    look(t, MPI_COMBINER_STRUCT, 4, 3, 3, "struct");
    integers_are("struct", 4, (int[]){3, 1, 2, 3});
    CHECK(addresses[1] == 16 && addresses[2] == 64 && types[0] == MPI_DOUBLE && types[2] == MPI_CHAR, "struct has other members");
    /* The inner type has been freed by the program; the handle of the contents is a new one, to be freed, and usable. */
    int size = -1;
    inner = types[1];
    CALL(MPI_Type_size(inner, &size));
    CHECK(size == 8, "the member has size %d", size);
    look(inner, MPI_COMBINER_CONTIGUOUS, 1, 0, 1, "member");
    CHECK(integers[0] == 2 && types[0] == MPI_INT, "the member is another type");
    CALL(MPI_Type_free(&inner));
    free_both(&t);
    CALL(MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 3}, (int[]){1, 2}, MPI_ORDER_FORTRAN, MPI_INT, &t));
    look(t, MPI_COMBINER_SUBARRAY, 8, 0, 1, "subarray");
    integers_are("subarray", 8, (int[]){2, 4, 5, 2, 3, 1, 2, MPI_ORDER_FORTRAN});
    free_both(&t);
    CALL(MPI_Type_create_darray(4, 1, 2, (int[]){8, 9}, (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, (int[]){MPI_DISTRIBUTE_DFLT_DARG, 2},
                                (int[]){2, 2}, MPI_ORDER_C, MPI_INT, &t));
    look(t, MPI_COMBINER_DARRAY, 12, 0, 1, "darray");
    integers_are("darray", 12, (int[]){4, 1, 2, 8, 9, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 2, 2, 2, MPI_ORDER_C});
    free_both(&t);
    CALL(MPI_Type_get_envelope(MPI_DOUBLE_INT, &numbers[0], &numbers[1], &numbers[2], &combiner));
    CHECK(combiner == MPI_COMBINER_NAMED, "MPI_DOUBLE_INT has combiner %d", combiner);
}

/* Types made by the large constructors: counts come back as MPI_Count. */
static void large(void)
{
    MPI_Datatype t;
    MPI_Count huge = 5000000000LL;
    CALL(MPI_Type_contiguous_c(huge, MPI_CHAR, &t));
    CALL(MPI_Type_get_envelope_c(t, &numbers_c[0], &numbers_c[1], &numbers_c[2], &numbers_c[3], &combiner));
    CHECK(combiner == MPI_COMBINER_CONTIGUOUS && numbers_c[0] == 0 && numbers_c[1] == 0 && numbers_c[2] == 1 && numbers_c[3] == 1,
          "large contiguous: %ld %ld %ld %ld", (long)numbers_c[0], (long)numbers_c[1], (long)numbers_c[2], (long)numbers_c[3]);
    CALL(MPI_Type_get_contents_c(t, 0, 0, 1, 1, integers, addresses, counts, types));
    CHECK(counts[0] == huge && types[0] == MPI_CHAR, "large contiguous of %ld", (long)counts[0]);
    free_both(&t);
    CALL(MPI_Type_create_hindexed_c(2, (MPI_Count[]){1, huge}, (MPI_Count[]){-8, huge}, MPI_INT, &t));
    CALL(MPI_Type_get_envelope_c(t, &numbers_c[0], &numbers_c[1], &numbers_c[2], &numbers_c[3], &combiner));
    CHECK(combiner == MPI_COMBINER_HINDEXED && numbers_c[0] == 0 && numbers_c[1] == 0 && numbers_c[2] == 5 && numbers_c[3] == 1, "large hindexed: %ld counts",
          (long)numbers_c[2]);
    CALL(MPI_Type_get_contents_c(t, 0, 0, 5, 1, integers, addresses, counts, types));
    CHECK(counts[0] == 2 && counts[1] == 1 && counts[2] == huge && counts[3] == -8 && counts[4] == huge, "large hindexed has other numbers");
    free_both(&t);
    CALL(MPI_Type_create_subarray_c(1, (MPI_Count[]){huge}, (MPI_Count[]){9}, (MPI_Count[]){1000}, MPI_ORDER_C, MPI_INT, &t));
    CALL(MPI_Type_get_envelope_c(t, &numbers_c[0], &numbers_c[1], &numbers_c[2], &numbers_c[3], &combiner));
    CHECK(numbers_c[0] == 2 && numbers_c[2] == 3, "large subarray: %ld integers and %ld counts", (long)numbers_c[0], (long)numbers_c[2]);
    CALL(MPI_Type_get_contents_c(t, 2, 0, 3, 1, integers, addresses, counts, types));
    CHECK(integers[0] == 1 && integers[1] == MPI_ORDER_C && counts[0] == huge && counts[1] == 9 && counts[2] == 1000, "large subarray has other numbers");
    free_both(&t);
}

static void look_large(MPI_Datatype type, const char *name, int expected, int ints, int large, int inner)
{
    int i, a, d, k;
    CALL(MPI_Type_get_envelope_c(type, &numbers_c[0], &numbers_c[1], &numbers_c[2], &numbers_c[3], &combiner));
    CHECK(combiner == expected && numbers_c[0] == ints && numbers_c[1] == 0 && numbers_c[2] == large && numbers_c[3] == inner,
          "%s: combiner %d, %ld integers, %ld addresses, %ld counts, %ld datatypes", name, combiner, (long)numbers_c[0], (long)numbers_c[1],
          (long)numbers_c[2], (long)numbers_c[3]);
    CALL(MPI_Type_get_contents_c(type, ints, 0, large, inner, integers, addresses, counts, types));
    /* The small functions have no place for the counts. Errors of calls without a communicator go to MPI_COMM_SELF. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    FAILS(MPI_Type_get_envelope(type, &i, &a, &d, &k), MPI_ERR_TYPE);
    FAILS(MPI_Type_get_contents(type, MOST, MOST, MOST, integers, addresses, types), MPI_ERR_TYPE);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    CALL(MPI_Type_free(&type));
}

static void counts_are(const char *name, int n, const MPI_Count *expected)
{
    for (int i = 0; i < n; i++)
        CHECK(counts[i] == expected[i], "%s: count %d is %ld instead of %ld", name, i, (long)counts[i], (long)expected[i]);
}

/* The form of the constructor decides, not whether the numbers would fit into ints. */
static void large_form_of_small_numbers(void)
{
    MPI_Datatype t;
    const MPI_Count lengths[] = {3, 4}, places[] = {-8, 64};
    CALL(MPI_Type_contiguous_c(7, MPI_CHAR, &t));
    look_large(t, "contiguous_c", MPI_COMBINER_CONTIGUOUS, 0, 1, 1);
    counts_are("contiguous_c", 1, (MPI_Count[]){7});
    CALL(MPI_Type_vector_c(3, 2, -5, MPI_SHORT, &t));
    look_large(t, "vector_c", MPI_COMBINER_VECTOR, 0, 3, 1);
    counts_are("vector_c", 3, (MPI_Count[]){3, 2, -5});
    CALL(MPI_Type_create_hvector_c(4, 1, -100, MPI_FLOAT, &t));
    look_large(t, "hvector_c", MPI_COMBINER_HVECTOR, 0, 3, 1);
    counts_are("hvector_c", 3, (MPI_Count[]){4, 1, -100});
    CALL(MPI_Type_indexed_c(2, lengths, places, MPI_INT, &t));
    look_large(t, "indexed_c", MPI_COMBINER_INDEXED, 0, 5, 1);
    counts_are("indexed_c", 5, (MPI_Count[]){2, 3, 4, -8, 64});
    CALL(MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &t));
    look_large(t, "hindexed_c", MPI_COMBINER_HINDEXED, 0, 5, 1);
    counts_are("hindexed_c", 5, (MPI_Count[]){2, 3, 4, -8, 64});
    CALL(MPI_Type_create_indexed_block_c(2, 6, places, MPI_INT, &t));
    look_large(t, "indexed_block_c", MPI_COMBINER_INDEXED_BLOCK, 0, 4, 1);
    counts_are("indexed_block_c", 4, (MPI_Count[]){2, 6, -8, 64});
    CALL(MPI_Type_create_hindexed_block_c(2, 6, places, MPI_INT, &t));
    look_large(t, "hindexed_block_c", MPI_COMBINER_HINDEXED_BLOCK, 0, 4, 1);
    counts_are("hindexed_block_c", 4, (MPI_Count[]){2, 6, -8, 64});
    CALL(MPI_Type_create_struct_c(2, lengths, places, (MPI_Datatype[]){MPI_INT, MPI_CHAR}, &t));
    look_large(t, "struct_c", MPI_COMBINER_STRUCT, 0, 5, 2);
    counts_are("struct_c", 5, (MPI_Count[]){2, 3, 4, -8, 64});
    CALL(MPI_Type_create_subarray_c(1, (MPI_Count[]){9}, (MPI_Count[]){4}, (MPI_Count[]){2}, MPI_ORDER_C, MPI_INT, &t));
    look_large(t, "subarray_c", MPI_COMBINER_SUBARRAY, 2, 3, 1);
    counts_are("subarray_c", 3, (MPI_Count[]){9, 4, 2});
    integers_are("subarray_c", 2, (int[]){1, MPI_ORDER_C});
    CALL(MPI_Type_create_darray_c(2, 1, 1, (MPI_Count[]){9}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2}, MPI_ORDER_C,
                                  MPI_INT, &t));
    look_large(t, "darray_c", MPI_COMBINER_DARRAY, 7, 1, 1);
    counts_are("darray_c", 1, (MPI_Count[]){9});
    integers_are("darray_c", 7, (int[]){2, 1, 1, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, 2, MPI_ORDER_C});
    CALL(MPI_Type_create_resized_c(MPI_INT, -4, 40, &t));
    look_large(t, "resized_c", MPI_COMBINER_RESIZED, 0, 2, 1);
    counts_are("resized_c", 2, (MPI_Count[]){-4, 40});
    CALL(MPI_Type_create_resized(MPI_INT, -4, 8000000000LL, &t));
    look(t, MPI_COMBINER_RESIZED, 0, 2, 1, "resized far");
    free_both(&t);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    simple();
    blocks();
    composed();
    large();
    large_form_of_small_numbers();
    return finish();
}
