/* Sizes, bounds and alignment: structures are padded as the compiler pads them, explicit bounds win, true bounds do not. MPI 5.0, 5.1.6 to 5.1.9 */
#include "../check.h"
#include <stddef.h>

static void bounds(const char *name, MPI_Datatype type, long size, long low, long extent, long true_low, long true_extent)
{
    int found;
    MPI_Aint a, b;
    CALL(MPI_Type_size(type, &found));
    CHECK(found == size, "%s: size %d instead of %ld", name, found, size);
    CALL(MPI_Type_get_extent(type, &a, &b));
    CHECK(a == low && b == extent, "%s: bounds %ld + %ld instead of %ld + %ld", name, (long)a, (long)b, low, extent);
    CALL(MPI_Type_get_true_extent(type, &a, &b));
    CHECK(a == true_low && b == true_extent, "%s: true bounds %ld + %ld instead of %ld + %ld", name, (long)a, (long)b, true_low, true_extent);
}

#define STRUCTURE(name, count, lengths, ...)                                                                                           \
    CALL(MPI_Type_create_struct(count, lengths, places, (MPI_Datatype[]){__VA_ARGS__}, &type))

struct char_double {
    char c;
    double d;
    char e;
};

struct char_short {
    char c;
    short s;
    char e;
};

struct with_long_double {
    char c;
    long double l;
    char e;
};

static void padded(void)
{
    MPI_Datatype type;
    MPI_Aint places[3] = {0, offsetof(struct char_double, d), offsetof(struct char_double, e)};
    int ones[] = {1, 1, 1};
    STRUCTURE("char_double", 3, ones, MPI_CHAR, MPI_DOUBLE, MPI_CHAR);
    bounds("char, double, char", type, 10, 0, sizeof(struct char_double), 0, 17);
    CALL(MPI_Type_free(&type));
    places[1] = offsetof(struct char_short, s), places[2] = offsetof(struct char_short, e);
    STRUCTURE("char_short", 3, ones, MPI_CHAR, MPI_SHORT, MPI_CHAR);
    bounds("char, short, char", type, 4, 0, sizeof(struct char_short), 0, 5);
    CALL(MPI_Type_free(&type));
    places[1] = offsetof(struct with_long_double, l), places[2] = offsetof(struct with_long_double, e);
    STRUCTURE("with_long_double", 3, ones, MPI_CHAR, MPI_LONG_DOUBLE, MPI_CHAR);
    bounds("char, long double, char", type, 18, 0, sizeof(struct with_long_double), 0, 33);
    CALL(MPI_Type_free(&type));
}

static void explicit_bounds(void)
{
    MPI_Datatype type, inner, outer;
    CALL(MPI_Type_create_resized(MPI_INT, -4, 20, &inner));
    bounds("resized", inner, 4, -4, 20, 0, 4);
    CALL(MPI_Type_contiguous(3, inner, &outer));
    bounds("three resized", outer, 12, -4, 60, 0, 44);
    CALL(MPI_Type_free(&outer));
    CALL(MPI_Type_vector(2, 1, -2, inner, &outer));
    bounds("resized backwards", outer, 8, -44, 60, -40, 44);
    CALL(MPI_Type_free(&outer));
    CALL(MPI_Type_create_resized(inner, 0, 4, &outer));
    bounds("resized back", outer, 4, 0, 4, 0, 4);
    CALL(MPI_Type_free(&outer));
    CALL(MPI_Type_free(&inner));
    CALL(MPI_Type_create_resized(MPI_DOUBLE, 0, 3, &type));
    bounds("smaller than its data", type, 8, 0, 3, 0, 8);
    CALL(MPI_Type_free(&type));
}

static void empty_and_negative(void)
{
    MPI_Datatype type;
    CALL(MPI_Type_contiguous(0, MPI_INT, &type));
    bounds("nothing", type, 0, 0, 0, 0, 0);
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Sendrecv(NULL, 5, type, 0, 1, NULL, 5, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CALL(MPI_Type_free(&type));
    CALL(MPI_Type_vector(3, 1, -2, MPI_INT, &type));
    bounds("backwards", type, 12, -16, 20, -16, 20);
    CALL(MPI_Type_free(&type));
    CALL(MPI_Type_create_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){100, 16}, MPI_SHORT, &type));
    bounds("far", type, 6, 16, 86, 16, 86);
    CALL(MPI_Type_free(&type));
    CALL(MPI_Type_indexed(3, (int[]){0, 2, 0}, (int[]){-100, 3, 100}, MPI_INT, &type));
    bounds("empty blocks", type, 8, 12, 8, 12, 8);
    CALL(MPI_Type_free(&type));
}

static void predefined(void)
{
    bounds("MPI_DOUBLE_INT", MPI_DOUBLE_INT, 12, 0, 16, 0, 12);
    bounds("MPI_SHORT_INT", MPI_SHORT_INT, 6, 0, 8, 0, 8);
    bounds("MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, 20, 0, 32, 0, 20);
    bounds("MPI_2INT", MPI_2INT, 8, 0, 8, 0, 8);
    bounds("MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, sizeof(long double), 0, sizeof(long double), 0, sizeof(long double));
    bounds("MPI_WCHAR", MPI_WCHAR, 4, 0, 4, 0, 4);
    bounds("MPI_C_BOOL", MPI_C_BOOL, 1, 0, 1, 0, 1);
    bounds("MPI_PACKED", MPI_PACKED, 1, 0, 1, 0, 1);
    bounds("MPI_COUNT", MPI_COUNT, sizeof(MPI_Count), 0, sizeof(MPI_Count), 0, sizeof(MPI_Count));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    padded();
    explicit_bounds();
    empty_and_negative();
    predefined();
    return finish();
}
