// Message-driven objects (chares) for C++20, without a translator.
//
//     struct Cell : towpath::Chare<Cell> {
//         void receive(towpath::View<const double> forces, double factor);  // calls towpath::exit
//     };
//
//     int main() {
//         return towpath::run([] {
//             auto cells = towpath::create_array<Cell>({100});
//             cells[8].send<&Cell::receive>(std::vector<double>(1000), 4.0);
//         });
//     }
//
// Invoking an entry method sends a message; the rank where the chare is calls the method. Methods
// of one chare run one at a time. The semantics are those of Charm++. docs/chares.md has a tour.
//
//     serialize   parameters and objects as bytes
//     view        arrays in messages
//     call        errors, names, the chare whose method runs
//     value       results of reductions, and what futures and callbacks get
//     lists       results that have parts: sets and tuples
//     callback    who is told of a result
//     task        coroutines: Task, Future, Mailbox
//     entry       entry methods and constructors, as the library calls them
//     priority    how urgent messages are
//     send        messages with arguments as parameters
//     proxy       names of chares, by which messages are sent
//     persistent  memory of a chare, into which others put elements again and again
//     section     some chares of a collection
//     reduction   reductions by function objects of the program
//     operations  all reductions, and those that the library does itself
//     balancing   load balancing, checkpoints
//     object      Chare, the base of all
//     job         run, exit, read-only data
#ifndef TOWPATH_CHARE_HPP
#define TOWPATH_CHARE_HPP

#if __cplusplus < 202002L
#error "towpath/chare.hpp needs C++20: compile with -std=c++20"
#endif

#include "actors.h"
#include "chare/serialize.hpp"
#include "chare/view.hpp"
#include "chare/call.hpp"
#include "chare/value.hpp"
#include "chare/lists.hpp"
#include "chare/callback.hpp"
#include "chare/task.hpp"
#include "chare/mailbox.hpp"
#include "chare/entry.hpp"
#include "chare/priority.hpp"
#include "chare/send.hpp"
#include "chare/proxy.hpp"
#include "chare/persistent.hpp"
#include "chare/section.hpp"
#include "chare/reduction.hpp"
#include "chare/operations.hpp"
#include "chare/balancing.hpp"
#include "chare/object.hpp"
#include "chare/job.hpp"

#endif
