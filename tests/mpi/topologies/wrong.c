/* What is no topology is an error with a sentence, of all processes alike, and the communicator can be used afterwards: neighbours that do
 * not exist, too many processes, negative weights and sizes, and topologies over an intercommunicator. MPI 5.0, 8.5 and 8.6 */
#include "check.h"

/* The class is one of two, and the text says more than a number. */
static void refused(int code, int first, int second, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0, class = class_of(code);
    MPI_Error_string(code, text, &length);
    CHECK(class == first || class == second || class == MPI_ERR_ARG, "%s: class %d (%s)", call, class, text);
    CHECK(length > 10, "%s: \"%s\" is no sentence", call, text);
}
#define REFUSED(call, first, second) refused((call), first, second, #call)

static void neighbours_outside(MPI_Comm all)
{
    static const int wrong[] = {-77, 1000000};
    MPI_Comm made;
    for (int i = 0; i < 3; i++) {
        int outside = i < 2 ? wrong[i] : check_size, index[4] = {1, 1, 1, 1}, one = 1, self = check_rank;
        REFUSED(MPI_Graph_create(all, check_size, index, &outside, 0, &made), MPI_ERR_TOPOLOGY, MPI_ERR_RANK);
        REFUSED(MPI_Dist_graph_create_adjacent(all, 1, &outside, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
                MPI_ERR_TOPOLOGY, MPI_ERR_RANK);
        REFUSED(MPI_Dist_graph_create_adjacent(all, 1, &self, MPI_UNWEIGHTED, 1, &outside, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
                MPI_ERR_TOPOLOGY, MPI_ERR_RANK);
        REFUSED(MPI_Dist_graph_create(all, 1, &self, &one, &outside, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), MPI_ERR_TOPOLOGY, MPI_ERR_RANK);
        REFUSED(MPI_Dist_graph_create(all, 1, &outside, &one, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), MPI_ERR_TOPOLOGY, MPI_ERR_RANK);
    }
}

static void sizes(MPI_Comm all)
{
    MPI_Comm made;
    int dims[2] = {check_size, 2}, none[2] = {-1, 1}, periods[2] = {0, 0}, index[8] = {0}, edge = 0, self = check_rank, minus = -1;
    REFUSED(MPI_Cart_create(all, 2, dims, periods, 0, &made), MPI_ERR_TOPOLOGY, MPI_ERR_DIMS);
    REFUSED(MPI_Cart_create(all, 2, none, periods, 0, &made), MPI_ERR_TOPOLOGY, MPI_ERR_DIMS);
    REFUSED(MPI_Cart_create(all, -1, dims, periods, 0, &made), MPI_ERR_TOPOLOGY, MPI_ERR_DIMS);
    REFUSED(MPI_Graph_create(all, check_size + 1, index, &edge, 0, &made), MPI_ERR_TOPOLOGY, MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create_adjacent(all, -1, &self, MPI_UNWEIGHTED, 0, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), MPI_ERR_TOPOLOGY, MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create_adjacent(all, 1, &self, &minus, 1, &self, &minus, MPI_INFO_NULL, 0, &made), MPI_ERR_TOPOLOGY, MPI_ERR_ARG);
}

static void over_an_intercommunicator(void)
{
    MPI_Comm part, both, made;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &part));
    CALL(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - check_rank % 2, 5, &both));
    CALL(MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN));
    int dims[1] = {1}, periods[1] = {0}, index[4] = {0}, zero = 0, one = 1;
    REFUSED(MPI_Cart_create(both, 1, dims, periods, 0, &made), MPI_ERR_COMM, MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Graph_create(both, 1, index, &zero, 0, &made), MPI_ERR_COMM, MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Dist_graph_create(both, 1, &zero, &one, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), MPI_ERR_COMM, MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Dist_graph_create_adjacent(both, 1, &zero, MPI_UNWEIGHTED, 1, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), MPI_ERR_COMM, MPI_ERR_TOPOLOGY);
    CALL(MPI_Comm_free(&both));
    CALL(MPI_Comm_free(&part));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm all, ring;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &all));
    CALL(MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN));
    neighbours_outside(all);
    sizes(all);
    over_an_intercommunicator();
    int size = check_size, periods = 1, left, right, got = -1;
    CALL(MPI_Cart_create(all, 1, &size, &periods, 0, &ring));
    CALL(MPI_Cart_shift(ring, 0, 1, &left, &right));
    CALL(MPI_Sendrecv(&check_rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, ring, MPI_STATUS_IGNORE));
    CHECK(got == left, "%d from %d", got, left);
    CALL(MPI_Comm_free(&ring));
    CALL(MPI_Comm_free(&all));
    return finish();
}
