// Messages between two ranks, and requests.
#include <cstring>

#include "arguments.hpp"

using namespace ampi;

static MPI_Request handle_of(std::uint32_t number) {
    return reinterpret_cast<MPI_Request>(std::uintptr_t(1) << 32 | number);
}

static std::uint32_t number_of(MPI_Request handle) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
}

static bool is_done(const Rank &rank, MPI_Request handle) {
    return handle == MPI_REQUEST_NULL || rank.request(number_of(handle)).is_done;
}

// Of a request that is done.
static void finish(Rank &rank, MPI_Request *handle, MPI_Status *status) {
    if (*handle != MPI_REQUEST_NULL)
        rank.finish(number_of(*handle), status);
    else if (status != MPI_STATUS_IGNORE)
        *status = Request().status;
    *handle = MPI_REQUEST_NULL;
}

static bool are_done(const Rank &rank, int count, const MPI_Request *requests) {
    for (int at = 0; at < count; ++at)
        if (!is_done(rank, requests[at]))
            return false;
    return true;
}

static void finish_all(Rank &rank, int count, MPI_Request *requests, MPI_Status *statuses) {
    for (int at = 0; at < count; ++at)
        finish(rank, &requests[at], statuses == MPI_STATUSES_IGNORE ? nullptr : &statuses[at]);
}

static void check_requests(const Rank &rank, int count, const MPI_Request *requests) {
    if (count < 0)
        fail("the number of requests " + std::to_string(count) + " is negative");
    are_done(rank, count, requests);
}

static std::uint32_t send(Rank &rank, const void *data, int count, MPI_Datatype type,
                          int destination, int tag, MPI_Comm handle) {
    const Communicator &comm = rank.communicator(handle);
    check_destination(comm, destination, tag);
    return rank.send(comm, buffer_of(data, count, type), destination, tag);
}

static std::uint32_t post(Rank &rank, void *data, int count, MPI_Datatype type, int source,
                          int tag, MPI_Comm handle) {
    const Communicator &comm = rank.communicator(handle);
    check_source(comm, source, tag);
    return rank.post(comm, buffer_of(data, count, type), source, tag);
}

int AMPI_Send(const void *data, int count, MPI_Datatype type, int destination, int tag,
              MPI_Comm comm) {
    Rank &rank = enter("MPI_Send");
    rank.wait(send(rank, data, count, type, destination, tag, comm));
    return MPI_SUCCESS;
}

int AMPI_Recv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Status *status) {
    Rank &rank = enter("MPI_Recv");
    rank.wait(post(rank, data, count, type, source, tag, comm), status);
    return MPI_SUCCESS;
}

int AMPI_Isend(const void *data, int count, MPI_Datatype type, int destination, int tag,
               MPI_Comm comm, MPI_Request *request) {
    Rank &rank = enter("MPI_Isend");
    *request = handle_of(send(rank, data, count, type, destination, tag, comm));
    return MPI_SUCCESS;
}

int AMPI_Irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
               MPI_Request *request) {
    Rank &rank = enter("MPI_Irecv");
    *request = handle_of(post(rank, data, count, type, source, tag, comm));
    return MPI_SUCCESS;
}

int AMPI_Sendrecv(const void *data, int count, MPI_Datatype type, int destination, int tag,
                  void *into, int into_count, MPI_Datatype into_type, int source, int into_tag,
                  MPI_Comm comm, MPI_Status *status) {
    Rank &rank = enter("MPI_Sendrecv");
    std::uint32_t received = post(rank, into, into_count, into_type, source, into_tag, comm);
    rank.wait(send(rank, data, count, type, destination, tag, comm));
    rank.wait(received, status);
    return MPI_SUCCESS;
}

int AMPI_Wait(MPI_Request *request, MPI_Status *status) {
    Rank &rank = enter("MPI_Wait");
    check_requests(rank, 1, request);
    rank.wait_until([&] { return is_done(rank, *request); });
    finish(rank, request, status);
    return MPI_SUCCESS;
}

int AMPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    Rank &rank = enter("MPI_Waitall");
    check_requests(rank, count, requests);
    rank.wait_until([&] { return are_done(rank, count, requests); });
    finish_all(rank, count, requests, statuses);
    return MPI_SUCCESS;
}

int AMPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
    Rank &rank = enter("MPI_Waitany");
    check_requests(rank, count, requests);
    bool are_null = true;
    for (int at = 0; at < count; ++at)
        are_null = are_null && requests[at] == MPI_REQUEST_NULL;
    *index = MPI_UNDEFINED;
    auto find = [&] {
        for (int at = 0; at < count && *index == MPI_UNDEFINED; ++at)
            if (requests[at] != MPI_REQUEST_NULL && is_done(rank, requests[at]))
                *index = at;
        return are_null || *index != MPI_UNDEFINED;
    };
    rank.wait_until(find);
    MPI_Request none = MPI_REQUEST_NULL;
    finish(rank, are_null ? &none : &requests[*index], status);
    return MPI_SUCCESS;
}

int AMPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    Rank &rank = enter("MPI_Test");
    if (!is_done(rank, *request))
        rank.yield();
    *flag = is_done(rank, *request);
    if (*flag)
        finish(rank, request, status);
    return MPI_SUCCESS;
}

int AMPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
    Rank &rank = enter("MPI_Testall");
    check_requests(rank, count, requests);
    if (!are_done(rank, count, requests))
        rank.yield();
    *flag = are_done(rank, count, requests);
    if (*flag)
        finish_all(rank, count, requests, statuses);
    return MPI_SUCCESS;
}

static void probed(const Envelope *found, int source, MPI_Status *status) {
    if (status == MPI_STATUS_IGNORE)
        return;
    *status = Request().status;
    if (found != nullptr)
        set_status(*status, *found);
    else if (source == MPI_PROC_NULL)
        status->MPI_SOURCE = MPI_PROC_NULL;
}

int AMPI_Probe(int source, int tag, MPI_Comm handle, MPI_Status *status) {
    Rank &rank = enter("MPI_Probe");
    const Communicator &comm = rank.communicator(handle);
    check_source(comm, source, tag);
    if (source != MPI_PROC_NULL)
        rank.wait_until([&] { return rank.find(comm, source, tag) != nullptr; });
    probed(rank.find(comm, source, tag), source, status);
    return MPI_SUCCESS;
}

int AMPI_Iprobe(int source, int tag, MPI_Comm handle, int *flag, MPI_Status *status) {
    Rank &rank = enter("MPI_Iprobe");
    const Communicator &comm = rank.communicator(handle);
    check_source(comm, source, tag);
    if (source != MPI_PROC_NULL && rank.find(comm, source, tag) == nullptr)
        rank.yield();
    const Envelope *found = rank.find(comm, source, tag);
    *flag = source == MPI_PROC_NULL || found != nullptr;
    if (*flag)
        probed(found, source, status);
    return MPI_SUCCESS;
}

int AMPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count) {
    enter("MPI_Get_count");
    std::uint64_t bytes, size = Buffer{nullptr, 1, type}.bytes();
    std::memcpy(&bytes, status->MPI_internal, sizeof bytes);
    bool is_whole = size > 0 ? bytes % size == 0 : bytes == 0;
    std::uint64_t elements = size > 0 ? bytes / size : 0;
    *count = is_whole && elements <= INT32_MAX ? static_cast<int>(elements) : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
