// Arguments of calls, checked.
#pragma once

#include "rank.hpp"

namespace ampi {

Buffer buffer_of(const void *data, int count, MPI_Datatype type);
// `what` the rank is in the call.
void check_rank(const Communicator &comm, const char *what, int rank);
void check_destination(const Communicator &comm, int rank, int tag);
void check_source(const Communicator &comm, int rank, int tag);

}  // namespace ampi
