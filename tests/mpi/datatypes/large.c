/* Types and positions beyond 2^31: sizes, bounds, and real data that lies gigabytes apart. MPI 5.0, 5.1.7, 5.1.8 and 2.5.8 */
#include "../pattern.h"
#include <stdint.h>
#include <sys/mman.h>

static const MPI_Count huge = 5000000000LL;

static void numbers(void)
{
    MPI_Datatype type, outer;
    MPI_Count size, low, extent;
    int small;
    CALL(MPI_Type_contiguous_c(huge, MPI_INT, &type));
    CALL(MPI_Type_size_c(type, &size));
    CHECK(size == 4 * huge, "size %lld", (long long)size);
    CALL(MPI_Type_size(type, &small));
    CHECK(small == MPI_UNDEFINED, "a size of 20000000000 in an int is %d", small);
    CALL(MPI_Type_vector_c(3, 1, 2, type, &outer));
    CALL(MPI_Type_get_extent_c(outer, &low, &extent));
    CHECK(low == 0 && extent == 20 * huge, "bounds %lld + %lld", (long long)low, (long long)extent);
    CALL(MPI_Type_free(&outer));
    CALL(MPI_Type_create_hvector_c(2, 1, -3 * huge, MPI_INT, &outer));
    CALL(MPI_Type_get_true_extent_c(outer, &low, &extent));
    CHECK(low == -3 * huge && extent == 3 * huge + 4, "true bounds %lld + %lld", (long long)low, (long long)extent);
    CALL(MPI_Type_free(&outer));
    CALL(MPI_Type_free(&type));
    /* Small constructors can make a large type as well. */
    CALL(MPI_Type_contiguous(1 << 20, MPI_DOUBLE, &type));
    CALL(MPI_Type_contiguous(1 << 20, type, &outer));
    CALL(MPI_Type_size_c(outer, &size));
    CHECK(size == 8LL << 40, "size %lld", (long long)size);
    CALL(MPI_Type_free(&outer));
    CALL(MPI_Type_free(&type));
}

/* Some thousand numbers, 3 GB apart in three clusters of an address space that has no memory elsewhere. */
static void far_apart(void)
{
    size_t space = (size_t)7 << 30;
    enum { CLUSTER = 3000 };
    int *out = mmap(NULL, space, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), in[3 * CLUSTER];
    MPI_Count places[3] = {6LL << 30, 0, 3LL << 30}, position = 0;
    MPI_Datatype type;
    if (out == MAP_FAILED) {
        fprintf(stderr, "no address space of 7 GB here: not tested\n");
        return;
    }
    for (int cluster = 0; cluster < 3; cluster++)
        for (int i = 0; i < CLUSTER; i++)
            ((int *)((char *)out + places[cluster]))[2 * i] = cluster * 100000 + i;
    MPI_Datatype strided;
    CALL(MPI_Type_vector(CLUSTER, 1, 2, MPI_INT, &strided));
    CALL(MPI_Type_create_hindexed_block_c(3, 1, places, strided, &type));
    CALL(MPI_Type_free(&strided));
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Sendrecv(out, 1, type, 0, 1, in, 3 * CLUSTER, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3 * CLUSTER; i++)
        if (!CHECK(in[i] == i / CLUSTER * 100000 + i % CLUSTER, "number %d is %d", i, in[i]))
            break;
    memset(in, 0, sizeof in);
    CALL(MPI_Pack_c(out, 1, type, in, sizeof in, &position, MPI_COMM_SELF));
    CHECK(position == (MPI_Count)sizeof in && in[CLUSTER] == 100000 && in[3 * CLUSTER - 1] == 200000 + CLUSTER - 1, "packed %lld bytes", (long long)position);
    CALL(MPI_Type_free(&type));
    munmap(out, space);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    numbers();
    far_apart();
    return finish();
}
