// Collective operations, by messages between two ranks.
#include "collectives.hpp"

#include <functional>

#include "arguments.hpp"

using namespace ampi;

namespace ampi {

static std::uint32_t start_send(Rank &rank, const Communicator &comm, const Buffer &buffer,
                                int to) {
    return rank.send(comm.of_collectives(), buffer, to, 0);
}

static std::uint32_t start_receive(Rank &rank, const Communicator &comm, const Buffer &buffer,
                                   int from) {
    return rank.post(comm.of_collectives(), buffer, from, 0);
}

static void send(Rank &rank, const Communicator &comm, const Buffer &buffer, int to) {
    rank.wait(start_send(rank, comm, buffer, to));
}

static void receive(Rank &rank, const Communicator &comm, const Buffer &buffer, int from) {
    rank.wait(start_receive(rank, comm, buffer, from));
}

static void wait_all(Rank &rank, const std::vector<std::uint32_t> &requests) {
    for (std::uint32_t request : requests)
        rank.wait(request);
}

// In each round a rank hears of twice as many others.
static void barrier(Rank &rank, const Communicator &comm) {
    int size = comm.size();
    for (int distance = 1; distance < size; distance *= 2) {
        std::uint32_t heard =
            start_receive(rank, comm, Buffer(), (comm.rank - distance + size) % size);
        send(rank, comm, Buffer(), (comm.rank + distance) % size);
        rank.wait(heard);
    }
}

// A binomial tree.
void broadcast(Rank &rank, const Communicator &comm, const Buffer &buffer, int root) {
    int size = comm.size(), own = (comm.rank - root + size) % size, bit = 1;
    for (; bit < size && !(own & bit); bit *= 2)
        ;
    if (own != 0)
        receive(rank, comm, buffer, (own - bit + root) % size);
    std::vector<std::uint32_t> sent;
    for (bit /= 2; bit > 0; bit /= 2)
        if (own + bit < size)
            sent.push_back(start_send(rank, comm, buffer, (own + bit + root) % size));
    wait_all(rank, sent);
}

// Combines the elements of all in the order of their ranks, for rank 0.
static OwnBuffer combine(Rank &rank, const Communicator &comm, const Buffer &own, MPI_Op op) {
    OwnBuffer result(own);
    for (int bit = 1; bit < comm.size(); bit *= 2) {
        if (comm.rank & bit) {
            send(rank, comm, result.get(), comm.rank - bit);
            break;
        }
        if (comm.rank + bit < comm.size()) {
            OwnBuffer higher(own.count, own.type);
            receive(rank, comm, higher.get(), comm.rank + bit);
            MPI_Reduce_local(result.data(), higher.data(), own.count, own.type, op);
            std::swap(result, higher);
        }
    }
    return result;
}

static void reduce(Rank &rank, const Communicator &comm, const Buffer &own, const Buffer &into,
                   MPI_Op op, int root) {
    OwnBuffer result = combine(rank, comm, own, op);
    if (comm.rank == 0 && root == 0)
        copy(result.get(), into);
    else if (comm.rank == 0)
        send(rank, comm, result.get(), root);
    else if (comm.rank == root)
        receive(rank, comm, into, 0);
}

// The elements of a rank.
using Blocks = std::function<Buffer(int)>;

// Nothing is copied from a rank's own block to itself.
static void copy_own(const Buffer &own, const Buffer &into) {
    if (own.data != into.data)
        copy(own, into);
}

static void gather(Rank &rank, const Communicator &comm, const Buffer &own, const Blocks &block,
                   int root) {
    if (comm.rank != root)
        return send(rank, comm, own, root);
    std::vector<std::uint32_t> received;
    for (int from = 0; from < comm.size(); ++from)
        if (from != root)
            received.push_back(start_receive(rank, comm, block(from), from));
    copy_own(own, block(root));
    wait_all(rank, received);
}

static void scatter(Rank &rank, const Communicator &comm, const Blocks &block, const Buffer &into,
                    int root) {
    if (comm.rank != root)
        return receive(rank, comm, into, root);
    std::vector<std::uint32_t> sent;
    for (int to = 0; to < comm.size(); ++to)
        if (to != root)
            sent.push_back(start_send(rank, comm, block(to), to));
    copy_own(block(root), into);
    wait_all(rank, sent);
}

static void all_to_all(Rank &rank, const Communicator &comm, const Blocks &from,
                       const Blocks &into) {
    std::vector<std::uint32_t> requests;
    for (int other = 0; other < comm.size(); ++other)
        if (other != comm.rank)
            requests.push_back(start_receive(rank, comm, into(other), other));
    for (int other = 0; other < comm.size(); ++other)
        if (other != comm.rank)
            requests.push_back(start_send(rank, comm, from(other), other));
    copy_own(from(comm.rank), into(comm.rank));
    wait_all(rank, requests);
}

// So many elements of each rank.
static Blocks blocks(const Buffer &all, int count) {
    return [all, count](int of) { return all.at(std::ptrdiff_t(of) * count, count); };
}

void allgather(Rank &rank, const Communicator &comm, const Buffer &own, const Buffer &into,
               int count) {
    gather(rank, comm, own, blocks(into, count), 0);
    broadcast(rank, comm, into, 0);
}

}  // namespace ampi

static const Communicator &with_root(Rank &rank, MPI_Comm handle, int root) {
    const Communicator &comm = rank.communicator(handle);
    check_rank(comm, "the root", root);
    return comm;
}

// The elements of all ranks.
static Buffer all_of(const Communicator &comm, const void *data, int count, MPI_Datatype type) {
    if (count > INT32_MAX / comm.size())
        fail(std::to_string(count) + " elements of each rank are too many");
    return buffer_of(data, count * comm.size(), type);
}

int AMPI_Barrier(MPI_Comm comm) {
    Rank &rank = enter("MPI_Barrier");
    barrier(rank, rank.communicator(comm));
    return MPI_SUCCESS;
}

int AMPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm handle) {
    Rank &rank = enter("MPI_Bcast");
    const Communicator &comm = with_root(rank, handle, root);
    broadcast(rank, comm, buffer_of(data, count, type), root);
    return MPI_SUCCESS;
}

int AMPI_Reduce(const void *data, void *into, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm handle) {
    Rank &rank = enter("MPI_Reduce");
    const Communicator &comm = with_root(rank, handle, root);
    bool is_in_place = comm.rank == root && data == MPI_IN_PLACE;
    Buffer own = buffer_of(is_in_place ? into : data, count, type);
    Buffer result = comm.rank == root ? buffer_of(into, count, type) : Buffer();
    reduce(rank, comm, own, result, op, root);
    return MPI_SUCCESS;
}

int AMPI_Allreduce(const void *data, void *into, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm handle) {
    Rank &rank = enter("MPI_Allreduce");
    const Communicator &comm = rank.communicator(handle);
    Buffer own = buffer_of(data == MPI_IN_PLACE ? into : data, count, type);
    Buffer result = buffer_of(into, count, type);
    reduce(rank, comm, own, result, op, 0);
    broadcast(rank, comm, result, 0);
    return MPI_SUCCESS;
}

int AMPI_Scan(const void *data, void *into, int count, MPI_Datatype type, MPI_Op op,
              MPI_Comm handle) {
    Rank &rank = enter("MPI_Scan");
    const Communicator &comm = rank.communicator(handle);
    Buffer result = buffer_of(into, count, type);
    if (data != MPI_IN_PLACE)
        copy(buffer_of(data, count, type), result);
    if (comm.rank > 0) {
        OwnBuffer lower(count, type);
        receive(rank, comm, lower.get(), comm.rank - 1);
        MPI_Reduce_local(lower.data(), into, count, type, op);
    }
    if (comm.rank + 1 < comm.size())
        send(rank, comm, result, comm.rank + 1);
    return MPI_SUCCESS;
}

int AMPI_Gather(const void *data, int count, MPI_Datatype type, void *into, int into_count,
                MPI_Datatype into_type, int root, MPI_Comm handle) {
    Rank &rank = enter("MPI_Gather");
    const Communicator &comm = with_root(rank, handle, root);
    Blocks block;
    if (comm.rank == root)
        block = blocks(all_of(comm, into, into_count, into_type), into_count);
    bool is_in_place = comm.rank == root && data == MPI_IN_PLACE;
    Buffer own = is_in_place ? block(root) : buffer_of(data, count, type);
    gather(rank, comm, own, block, root);
    return MPI_SUCCESS;
}

int AMPI_Gatherv(const void *data, int count, MPI_Datatype type, void *into,
                 const int into_counts[], const int places[], MPI_Datatype into_type, int root,
                 MPI_Comm handle) {
    Rank &rank = enter("MPI_Gatherv");
    const Communicator &comm = with_root(rank, handle, root);
    auto block = [&](int of) {
        Buffer place = Buffer{into, 0, into_type}.at(places[of], 0);
        return buffer_of(place.data, into_counts[of], into_type);
    };
    bool is_in_place = comm.rank == root && data == MPI_IN_PLACE;
    gather(rank, comm, is_in_place ? block(root) : buffer_of(data, count, type), block, root);
    return MPI_SUCCESS;
}

int AMPI_Allgather(const void *data, int count, MPI_Datatype type, void *into, int into_count,
                   MPI_Datatype into_type, MPI_Comm handle) {
    Rank &rank = enter("MPI_Allgather");
    const Communicator &comm = rank.communicator(handle);
    Buffer all = all_of(comm, into, into_count, into_type);
    Buffer own = blocks(all, into_count)(comm.rank);
    if (data != MPI_IN_PLACE)
        own = buffer_of(data, count, type);
    allgather(rank, comm, own, all, into_count);
    return MPI_SUCCESS;
}

int AMPI_Scatter(const void *data, int count, MPI_Datatype type, void *into, int into_count,
                 MPI_Datatype into_type, int root, MPI_Comm handle) {
    Rank &rank = enter("MPI_Scatter");
    const Communicator &comm = with_root(rank, handle, root);
    Blocks block;
    if (comm.rank == root)
        block = blocks(all_of(comm, data, count, type), count);
    bool is_in_place = comm.rank == root && into == MPI_IN_PLACE;
    Buffer own = is_in_place ? block(root) : buffer_of(into, into_count, into_type);
    scatter(rank, comm, block, own, root);
    return MPI_SUCCESS;
}

int AMPI_Alltoall(const void *data, int count, MPI_Datatype type, void *into, int into_count,
                  MPI_Datatype into_type, MPI_Comm handle) {
    Rank &rank = enter("MPI_Alltoall");
    const Communicator &comm = rank.communicator(handle);
    Buffer all = all_of(comm, into, into_count, into_type);
    if (data == MPI_IN_PLACE) {
        OwnBuffer copied(all);
        all_to_all(rank, comm, blocks(copied.get(), into_count), blocks(all, into_count));
    } else {
        Buffer from = all_of(comm, data, count, type);
        all_to_all(rank, comm, blocks(from, count), blocks(all, into_count));
    }
    return MPI_SUCCESS;
}
