// Collective operations that others use. All members of the communicator call them.
#pragma once

#include "rank.hpp"

namespace ampi {

void broadcast(Rank &rank, const Communicator &comm, const Buffer &buffer, int root);
// `into` has room for all; so many elements are from each rank.
void allgather(Rank &rank, const Communicator &comm, const Buffer &own, const Buffer &into,
               int count);

}  // namespace ampi
