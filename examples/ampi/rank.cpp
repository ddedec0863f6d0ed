#include "rank.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace ampi {

// So many bytes and more are sent from where they are.
static constexpr std::size_t long_message = 64 << 10;
// Communicators of the program have a context below.
static constexpr std::uint64_t collective = std::uint64_t(1) << 63;

static Rank *running = nullptr;

Rank &enter_any_time(const char *call) {
    if (running == nullptr) {
        std::fprintf(stderr, "ampi: %s was called outside of main\n", call);
        std::abort();
    }
    running->call = call;
    return *running;
}

Rank &enter(const char *call) {
    Rank &rank = enter_any_time(call);
    if (!rank.is_initialized)
        fail("MPI_Init has not been called");
    if (rank.is_finalized)
        fail("MPI_Finalize has been called");
    return rank;
}

void fail(const std::string &sentence) {
    std::string named = running == nullptr ? sentence : running->call + (": " + sentence);
    towpath_fail(named.c_str());
    // The job ends, and the thread stays suspended.
    towpath_thread_suspend();
    std::fprintf(stderr, "ampi: %s\n", named.c_str());
    std::abort();
}

void check(int status) {
    if (status != 0)
        fail(towpath_error());
}

Communicator Communicator::of_collectives() const {
    Communicator other(*this);
    other.context |= collective;
    return other;
}

void Arrived::keep() {
    if (lent_ == nullptr)
        return;
    towpath_message_keep(lent_);
    message_ = *std::exchange(lent_, nullptr);
}

Arrived::~Arrived() {
    if (lent_ == nullptr)
        towpath_message_free(&message_);
}

const void *Arrived::data() const {
    std::size_t bytes;
    if (message_.array_count > 0)
        return towpath_message_array(&message_, 0, &bytes);
    return &envelope() + 1;
}

void set_status(MPI_Status &status, const Envelope &envelope) {
    status.MPI_SOURCE = envelope.source;
    status.MPI_TAG = envelope.tag;
    std::memcpy(status.MPI_internal, &envelope.bytes, sizeof envelope.bytes);
}

Request::Request() : status() {
    status.MPI_SOURCE = MPI_ANY_SOURCE;
    status.MPI_TAG = MPI_ANY_TAG;
}

static bool is_wanted(std::uint64_t context, int source, int tag, const Envelope &envelope) {
    return context == envelope.context && (source == MPI_ANY_SOURCE || source == envelope.source) &&
           (tag == MPI_ANY_TAG || tag == envelope.tag);
}

bool Request::matches(const Envelope &envelope) const {
    return is_wanted(context, source, tag, envelope);
}

void Request::complete(const Arrived &arrived) {
    const Envelope &envelope = arrived.envelope();
    is_done = true;
    set_status(status, envelope);
    error = buffer.refusal(envelope.bytes);
    if (error.empty())
        buffer.unpack(arrived.data(), envelope.bytes);
    else
        error = "from rank " + std::to_string(envelope.source) + " with tag " +
                std::to_string(envelope.tag) + ", " + error;
}

Rank::Rank(const towpath_chare_id &id, int size) : id_(id), rank_(id.index.words[0]) {
    // All ranks of a process share the list.
    static std::shared_ptr<const std::vector<int>> all;
    if (!all) {
        std::vector<int> ranks;
        for (int rank = 0; rank < size; ++rank)
            ranks.push_back(rank);
        all = std::make_shared<const std::vector<int>>(std::move(ranks));
    }
    auto self = std::make_shared<const std::vector<int>>(1, rank_);
    communicators_[reinterpret_cast<std::uintptr_t>(AMPI_COMM_WORLD)] = {0, all, rank_, {}, {}};
    communicators_[reinterpret_cast<std::uintptr_t>(AMPI_COMM_SELF)] = {1, self, 0, {}, {}};
}

void Rank::run(const std::vector<std::string> &arguments) {
    // The program may write to them.
    std::vector<std::string> own(arguments);
    std::vector<char *> pointers;
    for (std::string &argument : own)
        pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    running = this;
    std::int32_t code = ampi_main(static_cast<int>(own.size()), pointers.data());
    end(id_, code);
}

void Rank::receive(towpath_message *message) {
    Arrived arrived(message);
    int sender = arrived.envelope().sender;
    std::uint64_t &next = next_received_[sender];
    auto &early = early_[sender];
    if (arrived.envelope().number != next) {
        arrived.keep();
        early.emplace(arrived.envelope().number, std::move(arrived));
        return;
    }
    accept(std::move(arrived));
    for (++next; !early.empty() && early.begin()->first == next; ++next)
        accept(std::move(early.extract(early.begin()).mapped()));
    awaken();
}

// Gives a message to the first receive that matches.
void Rank::accept(Arrived arrived) {
    for (auto at = posted_.begin(); at != posted_.end(); ++at) {
        Request &request = requests_.at(*at);
        if (request.matches(arrived.envelope())) {
            request.complete(arrived);
            posted_.erase(at);
            return;
        }
    }
    arrived.keep();
    unexpected_.push_back(std::move(arrived));
}

void Rank::sent(std::uint32_t request) {
    requests_.at(request).is_done = true;
    awaken();
}

Request &Rank::add_request(std::uint32_t &number) {
    // Numbers of long ago are used again; 0 is none.
    do
        ++last_request_;
    while (last_request_ == 0 || requests_.count(last_request_) > 0);
    number = last_request_;
    return requests_[number];
}

std::uint32_t Rank::send(const Communicator &comm, Buffer buffer, int destination, int tag) {
    std::uint32_t number;
    Request &request = add_request(number);
    request.is_done = destination == MPI_PROC_NULL;
    if (request.is_done)
        return number;
    int receiver = (*comm.members)[static_cast<std::size_t>(destination)];
    const void *data = buffer.data;
    std::size_t bytes = buffer.bytes();
    if (!buffer.is_contiguous()) {
        request.packed = buffer.packed();
        data = request.packed.data();
    }
    request.is_done = bytes < long_message;
    towpath_message message;
    towpath_message_new(sizeof(Envelope) + (request.is_done ? bytes : 0), &message);
    auto *envelope = new (message.payload) Envelope{
        comm.context, next_sent_[receiver]++, bytes, rank_, comm.rank, tag};
    message.entry = methods().receive;
    if (!request.is_done) {
        towpath_callback done{};
        done.kind = TOWPATH_CALL_CHARE;
        done.entry = methods().sent;
        done.reference = number;
        done.collection = id_.collection;
        done.index = id_.index;
        if (towpath_message_add_array(&message, data, bytes, &done) < 0)
            fail(towpath_error());
    } else if (bytes > 0) {
        std::memcpy(envelope + 1, data, bytes);
    }
    towpath_chare_id to = id_;
    to.index.words[0] = receiver;
    check(towpath_invoke(&to, &message));
    return number;
}

std::uint32_t Rank::post(const Communicator &comm, Buffer buffer, int source, int tag) {
    std::uint32_t number;
    Request &request = add_request(number);
    request.context = comm.context;
    request.source = source;
    request.tag = tag;
    request.buffer = buffer;
    if (source == MPI_PROC_NULL) {
        request.is_done = true;
        request.status.MPI_SOURCE = MPI_PROC_NULL;
        return number;
    }
    for (auto at = unexpected_.begin(); at != unexpected_.end(); ++at) {
        if (request.matches(at->envelope())) {
            request.complete(*at);
            unexpected_.erase(at);
            return number;
        }
    }
    posted_.push_back(number);
    return number;
}

const Envelope *Rank::find(const Communicator &comm, int source, int tag) const {
    for (const Arrived &arrived : unexpected_)
        if (is_wanted(comm.context, source, tag, arrived.envelope()))
            return &arrived.envelope();
    return nullptr;
}

const Request &Rank::request(std::uint32_t number) const {
    auto found = requests_.find(number);
    if (found == requests_.end())
        fail("the request is none of this rank, or was completed before");
    return found->second;
}

void Rank::wait(std::uint32_t number, MPI_Status *status) {
    const Request &waited = request(number);
    wait_until([&] { return waited.is_done; });
    finish(number, status);
}

void Rank::finish(std::uint32_t number, MPI_Status *status) {
    const Request &done = request(number);
    if (!done.error.empty())
        fail(done.error);
    if (status != MPI_STATUS_IGNORE)
        *status = done.status;
    requests_.erase(number);
}

void Rank::wait_until(std::function<bool()> condition) {
    if (condition())
        return;
    condition_ = std::move(condition);
    waiting_ = towpath_thread_self();
    suspend();
}

// Lets the thread go on if what it waits for is there.
void Rank::awaken() {
    if (waiting_ != nullptr && condition_())
        check(towpath_thread_awaken(std::exchange(waiting_, nullptr)));
}

void Rank::yield() {
    check(towpath_thread_awaken(towpath_thread_self()));
    suspend();
}

void Rank::suspend() {
    check(towpath_thread_suspend());
    running = this;
}

const Communicator &Rank::communicator(MPI_Comm handle) const {
    auto found = communicators_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == communicators_.end())
        fail("the communicator is none that this rank has; it may have been freed");
    return found->second;
}

MPI_Comm Rank::add(Communicator comm) {
    communicators_.emplace(++last_communicator_, std::move(comm));
    return reinterpret_cast<MPI_Comm>(last_communicator_);
}

void Rank::remove(MPI_Comm handle) {
    communicator(handle);
    communicators_.erase(reinterpret_cast<std::uintptr_t>(handle));
}

std::uint64_t Rank::propose_context() { return std::uint64_t(rank_) << 32 | contexts_++; }

}  // namespace ampi
