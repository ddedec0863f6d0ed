// A rank of the program: a chare with a user-level thread, what has arrived for it, and what its
// thread waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <towpath/actors.h>

#include "buffer.hpp"

namespace ampi {

// Ends the job with a sentence that names the call. Does not return.
[[noreturn]] void fail(const std::string &sentence);
// If a function of the library has failed.
void check(int status);

struct Communicator {
    std::uint64_t context = 0;
    // Their ranks in the world.
    std::shared_ptr<const std::vector<int>> members;
    int rank = 0;
    // Of a Cartesian topology.
    std::vector<int> extents, periods;

    int size() const { return static_cast<int>(members->size()); }
    // The same members and topology; messages of collectives match nothing else.
    Communicator of_collectives() const;
};

// What precedes the bytes of a message.
struct alignas(16) Envelope {
    std::uint64_t context;
    // Of the messages between these two ranks: chares keep no order.
    std::uint64_t number;
    std::uint64_t bytes;
    std::int32_t sender;  // in the world
    std::int32_t source;  // in the communicator
    std::int32_t tag;
};

// A message that has arrived.
class Arrived {
public:
    // Of a method that runs.
    explicit Arrived(towpath_message *message) : lent_(message), message_(*message) {}
    Arrived(Arrived &&other) noexcept
        : lent_(std::exchange(other.lent_, nullptr)),
          message_(std::exchange(other.message_, towpath_message{})) {}
    ~Arrived();

    // It outlasts the method.
    void keep();
    const Envelope &envelope() const { return *static_cast<Envelope *>(message_.payload); }
    const void *data() const;

private:
    // The message of the method, or null.
    towpath_message *lent_;
    towpath_message message_;
};

void set_status(MPI_Status &status, const Envelope &envelope);

struct Request {
    bool is_done = false;
    // Of a receive.
    std::uint64_t context = 0;
    int source = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;
    Buffer buffer;
    // What is sent, if it had to be packed.
    std::vector<std::byte> packed;
    // Empty, but for a receive.
    MPI_Status status;
    // Why it has failed.
    std::string error;

    Request();
    bool matches(const Envelope &envelope) const;
    void complete(const Arrived &arrived);
};

class Rank {
public:
    Rank(const towpath_chare_id &id, int size);

    // The thread. Arguments are those of the program.
    void run(const std::vector<std::string> &arguments);
    void receive(towpath_message *message);
    void sent(std::uint32_t request);

    // Calls of the thread.
    std::uint32_t send(const Communicator &comm, Buffer buffer, int destination, int tag);
    std::uint32_t post(const Communicator &comm, Buffer buffer, int source, int tag);
    const Request &request(std::uint32_t number) const;
    // Waits for a request and forgets it.
    void wait(std::uint32_t number, MPI_Status *status = nullptr);
    // Forgets one that is done.
    void finish(std::uint32_t number, MPI_Status *status);
    void wait_until(std::function<bool()> condition);
    // Lets other methods of the process run.
    void yield();
    const Envelope *find(const Communicator &comm, int source, int tag) const;

    const Communicator &communicator(MPI_Comm handle) const;
    MPI_Comm add(Communicator comm);
    void remove(MPI_Comm handle);
    // A context that no other communicator of this rank has proposed.
    std::uint64_t propose_context();

    // For sentences.
    const char *call = "main";
    bool is_initialized = false, is_finalized = false;

private:
    Request &add_request(std::uint32_t &number);
    void accept(Arrived arrived);
    void awaken();
    void suspend();

    towpath_chare_id id_;
    int rank_;
    std::uint32_t contexts_ = 2;
    std::unordered_map<std::uint32_t, Request> requests_;
    std::uint32_t last_request_ = 0;
    std::list<std::uint32_t> posted_;
    std::list<Arrived> unexpected_;
    // By the rank of the other: the numbers of the next messages, and messages that came early.
    std::unordered_map<int, std::uint64_t> next_sent_, next_received_;
    std::unordered_map<int, std::map<std::uint64_t, Arrived>> early_;
    std::unordered_map<std::uintptr_t, Communicator> communicators_;
    std::uintptr_t last_communicator_ = 0x10000;
    std::function<bool()> condition_;
    towpath_thread *waiting_ = nullptr;
};

// The rank whose thread runs. It has called this function of MPI, which is for the time between
// MPI_Init and MPI_Finalize, or for any time.
Rank &enter(const char *call);
Rank &enter_any_time(const char *call);

// Numbers of the methods that messages and callbacks name.
struct Methods {
    std::uint32_t receive, sent;
};
Methods methods();
// The main function of a rank has returned this code.
void end(const towpath_chare_id &id, std::int32_t code);

}  // namespace ampi
