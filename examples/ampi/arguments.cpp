#include "arguments.hpp"

namespace ampi {

Buffer buffer_of(const void *data, int count, MPI_Datatype type) {
    if (count < 0)
        fail("the count " + std::to_string(count) + " is negative");
    if (data == MPI_IN_PLACE)
        fail("MPI_IN_PLACE is not for this buffer of this rank");
    Buffer buffer{const_cast<void *>(data), count, type};
    if (data == nullptr && buffer.bytes() > 0 && buffer.is_contiguous())
        fail("the buffer of " + std::to_string(count) + " elements is a null pointer");
    return buffer;
}

void check_rank(const Communicator &comm, const char *what, int rank) {
    if (rank < 0 || rank >= comm.size())
        fail(std::string(what) + " " + std::to_string(rank) + " is no rank of the communicator, " +
             "whose ranks are 0 to " + std::to_string(comm.size() - 1));
}

void check_destination(const Communicator &comm, int rank, int tag) {
    if (rank != MPI_PROC_NULL)
        check_rank(comm, "the destination", rank);
    if (tag < 0)
        fail("the tag " + std::to_string(tag) + " is negative");
}

void check_source(const Communicator &comm, int rank, int tag) {
    if (rank != MPI_PROC_NULL && rank != MPI_ANY_SOURCE)
        check_rank(comm, "the source", rank);
    if (tag < 0 && tag != MPI_ANY_TAG)
        fail("the tag " + std::to_string(tag) + " is negative, and not MPI_ANY_TAG");
}

}  // namespace ampi
