// Communicators and Cartesian topologies.
#include <algorithm>
#include <tuple>

#include "arguments.hpp"
#include "collectives.hpp"

using namespace ampi;

// What a rank says when a communicator is divided.
struct Choice {
    std::int32_t color, key, rank, world_rank;
    std::uint64_t context;
};

// The ranks of one color, by key; none for MPI_UNDEFINED. Collective.
static MPI_Comm divide(Rank &rank, const Communicator &comm, int color, int key,
                       std::vector<int> extents = {}, std::vector<int> periods = {}) {
    int world_rank = (*comm.members)[static_cast<std::size_t>(comm.rank)];
    Choice own{color, key, comm.rank, world_rank, rank.propose_context()};
    std::vector<Choice> all(static_cast<std::size_t>(comm.size()));
    int bytes = static_cast<int>(sizeof own);
    Buffer into{all.data(), bytes * comm.size(), MPI_BYTE};
    allgather(rank, comm, {&own, bytes, MPI_BYTE}, into, bytes);
    if (color == MPI_UNDEFINED)
        return MPI_COMM_NULL;
    std::erase_if(all, [&](const Choice &other) { return other.color != color; });
    // The context that the one with the lowest rank has proposed.
    Communicator made;
    made.context = all.front().context;
    std::ranges::sort(all, {}, [](const Choice &one) { return std::tuple(one.key, one.rank); });
    std::vector<int> members;
    for (const Choice &one : all) {
        if (one.rank == comm.rank)
            made.rank = static_cast<int>(members.size());
        members.push_back(one.world_rank);
    }
    made.members = std::make_shared<const std::vector<int>>(std::move(members));
    made.extents = std::move(extents);
    made.periods = std::move(periods);
    return rank.add(std::move(made));
}

int AMPI_Comm_rank(MPI_Comm comm, int *rank) {
    *rank = enter("MPI_Comm_rank").communicator(comm).rank;
    return MPI_SUCCESS;
}

int AMPI_Comm_size(MPI_Comm comm, int *size) {
    *size = enter("MPI_Comm_size").communicator(comm).size();
    return MPI_SUCCESS;
}

int AMPI_Comm_dup(MPI_Comm handle, MPI_Comm *made) {
    Rank &rank = enter("MPI_Comm_dup");
    const Communicator &comm = rank.communicator(handle);
    *made = divide(rank, comm, 0, comm.rank, comm.extents, comm.periods);
    return MPI_SUCCESS;
}

int AMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made) {
    Rank &rank = enter("MPI_Comm_split");
    if (color < 0 && color != MPI_UNDEFINED)
        fail("the color " + std::to_string(color) + " is negative, and not MPI_UNDEFINED");
    *made = divide(rank, rank.communicator(comm), color, key);
    return MPI_SUCCESS;
}

int AMPI_Comm_free(MPI_Comm *comm) {
    Rank &rank = enter("MPI_Comm_free");
    if (*comm == AMPI_COMM_WORLD || *comm == AMPI_COMM_SELF)
        fail("MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed");
    rank.remove(*comm);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int AMPI_Cart_create(MPI_Comm handle, int dimensions, const int extents[], const int periods[], int,
                     MPI_Comm *made) {
    Rank &rank = enter("MPI_Cart_create");
    const Communicator &comm = rank.communicator(handle);
    if (dimensions < 0)
        fail("the number of dimensions " + std::to_string(dimensions) + " is negative");
    std::int64_t size = 1;
    for (int at = 0; at < dimensions; ++at) {
        if (extents[at] < 1)
            fail("the extent " + std::to_string(extents[at]) + " is less than 1");
        size = std::min<std::int64_t>(size * extents[at], INT32_MAX);
    }
    if (size > comm.size())
        fail("the grid has more ranks than the communicator, " + std::to_string(comm.size()));
    *made = divide(rank, comm, comm.rank < size ? 0 : MPI_UNDEFINED, comm.rank,
                   {extents, extents + dimensions}, {periods, periods + dimensions});
    return MPI_SUCCESS;
}

static void coordinates(const Communicator &comm, int rank, int *place) {
    for (std::size_t at = comm.extents.size(); at-- > 0; rank /= comm.extents[at])
        place[at] = rank % comm.extents[at];
}

int AMPI_Cart_coords(MPI_Comm handle, int rank, int dimensions, int place[]) {
    const Communicator &comm = enter("MPI_Cart_coords").communicator(handle);
    check_rank(comm, "the rank", rank);
    if (static_cast<std::size_t>(dimensions) != comm.extents.size())
        fail("the topology of the communicator has " + std::to_string(comm.extents.size()) +
             " dimensions, not " + std::to_string(dimensions));
    coordinates(comm, rank, place);
    return MPI_SUCCESS;
}

// The rank so far away in one direction.
static int neighbour(const Communicator &comm, std::size_t direction, int distance) {
    std::vector<int> place(comm.extents.size());
    coordinates(comm, comm.rank, place.data());
    std::int64_t extent = comm.extents[direction];
    std::int64_t at = std::int64_t(place[direction]) + distance;
    if (at < 0 || at >= extent) {
        if (!comm.periods[direction])
            return MPI_PROC_NULL;
        at = (at % extent + extent) % extent;
    }
    place[direction] = static_cast<int>(at);
    int rank = 0;
    for (std::size_t each = 0; each < place.size(); ++each)
        rank = rank * comm.extents[each] + place[each];
    return rank;
}

int AMPI_Cart_shift(MPI_Comm handle, int direction, int distance, int *source, int *destination) {
    const Communicator &comm = enter("MPI_Cart_shift").communicator(handle);
    if (direction < 0 || static_cast<std::size_t>(direction) >= comm.extents.size())
        fail("the topology of the communicator has no dimension " + std::to_string(direction));
    if (distance == INT32_MIN)
        fail("the distance is too long");
    *source = neighbour(comm, static_cast<std::size_t>(direction), -distance);
    *destination = neighbour(comm, static_cast<std::size_t>(direction), distance);
    return MPI_SUCCESS;
}
