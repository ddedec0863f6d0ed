// The start and the end of a program: its ranks are the elements of an array of chares.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rank.hpp"

using namespace ampi;

namespace {

// Arguments of the program, without the number of ranks.
std::vector<std::string> arguments;

void *construct(void *, const towpath_chare_id *id, towpath_message *message) {
    std::int32_t size;
    std::memcpy(&size, message->payload, sizeof size);
    return new Rank(*id, size);
}

void destroy(void *, void *rank) { delete static_cast<Rank *>(rank); }

void run(void *, void *rank, const towpath_chare_id *, towpath_message *) {
    static_cast<Rank *>(rank)->run(arguments);
}

void receive(void *, void *rank, const towpath_chare_id *, towpath_message *message) {
    static_cast<Rank *>(rank)->receive(message);
}

void sent(void *, void *rank, const towpath_chare_id *, towpath_message *message) {
    static_cast<Rank *>(rank)->sent(message->reference);
}

// All main functions have returned.
void ended(void *, void *, const towpath_chare_id *, towpath_message *message) {
    std::int32_t code;
    std::memcpy(&code, message->payload, sizeof code);
    towpath_exit(code);
}

void greatest(void *, towpath_value *into, const void *value, std::size_t) {
    std::int32_t code, other;
    std::memcpy(&code, towpath_value_data(into), sizeof code);
    std::memcpy(&other, value, sizeof other);
    if (other > code)
        std::memcpy(towpath_value_data(into), &other, sizeof other);
}

towpath_type type{};
towpath_entry construct_entry{}, run_entry{}, receive_entry{}, sent_entry{}, ended_entry{};
towpath_reducer greatest_reducer{};

void add_method(towpath_entry &entry, const char *name, decltype(towpath_entry::invoke) invoke,
                std::uint32_t flags = 0) {
    entry.name = name;
    entry.invoke = invoke;
    entry.flags = flags;
    towpath_register_entry(&entry);
}

void add_all() {
    type.name = "virtual rank";
    type.destroy = destroy;
    towpath_register_type(&type);
    construct_entry.name = "constructor of a virtual rank";
    construct_entry.construct = construct;
    construct_entry.type = &type;
    towpath_register_entry(&construct_entry);
    add_method(run_entry, "main", run, TOWPATH_THREADED);
    add_method(receive_entry, "receive", receive);
    add_method(sent_entry, "sent", sent);
    add_method(ended_entry, "ended", ended);
    greatest_reducer.name = "greatest code";
    greatest_reducer.combine = greatest;
    towpath_register_reducer(&greatest_reducer);
}

constexpr int most_ranks = 1000000;

// The number in a text; 0 if it is none of 1 to the most.
int number_in(const char *text) {
    char *end;
    long number = std::strtol(text, &end, 10);
    return end != text && *end == 0 && number >= 1 && number <= most_ranks ? int(number) : 0;
}

// Takes the arguments of the process in. How many ranks there are, or 0 for one in each process.
int ranks_wanted(int argc, char **argv) {
    const char *wanted = std::getenv("AMPI_VP");
    for (int at = 0; at < argc; ++at) {
        if (std::strncmp(argv[at], "+vp", 3) == 0)
            wanted = argv[at] + 3;
        else
            arguments.push_back(argv[at]);
    }
    if (wanted == nullptr)
        return 0;
    int number = number_in(wanted);
    if (number == 0) {
        std::fprintf(stderr, "ampi: \"%s\" is no number of ranks; +vpN and AMPI_VP take 1 to %d\n",
                     wanted, most_ranks);
        std::exit(1);
    }
    return number;
}

void start(std::int32_t size) {
    towpath_collection options{};
    options.type = type.number;
    options.constructor = construct_entry.number;
    options.map = TOWPATH_BLOCK;
    options.dimensions = 1;
    options.extents[0] = static_cast<std::uint32_t>(size);
    options.is_filled = 1;
    std::uint64_t ranks;
    towpath_message message;
    towpath_message_new(0, &message);
    message.entry = run_entry.number;
    if (towpath_create_collection(&options, &size, sizeof size, &ranks) != 0 ||
        towpath_broadcast(ranks, &message) != 0)
        towpath_fail(towpath_error());
}

}  // namespace

namespace ampi {

Methods methods() { return {receive_entry.number, sent_entry.number}; }

void end(const towpath_chare_id &id, std::int32_t code) {
    towpath_callback callback{};
    callback.kind = TOWPATH_CALL_CHARE;
    callback.entry = ended_entry.number;
    callback.collection = id.collection;
    callback.index.length = 1;
    check(towpath_contribute(&id, greatest_reducer.number, &code, sizeof code, &callback));
}

}  // namespace ampi

int main(int argc, char **argv) {
    int wanted = ranks_wanted(argc, argv);
    add_all();
    towpath_program program{};
    int code = 1;
    if (towpath_start(&program) != 0) {
        std::fprintf(stderr, "ampi: %s\n", towpath_error());
        return code;
    }
    if (towpath_rank() == 0) {
        start(wanted > 0 ? wanted : static_cast<std::int32_t>(towpath_ranks()));
        towpath_begin(nullptr, 0);
    }
    if (towpath_run(&code) != 0)
        std::fprintf(stderr, "ampi: %s\n", towpath_error());
    towpath_stop();
    return code;
}

int AMPI_Init(int *, char ***) {
    Rank &rank = enter_any_time("MPI_Init");
    if (rank.is_initialized)
        fail("MPI is initialized already");
    rank.is_initialized = true;
    return MPI_SUCCESS;
}

int AMPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    *provided = required < MPI_THREAD_FUNNELED ? required : MPI_THREAD_FUNNELED;
    return AMPI_Init(argc, argv);
}

int AMPI_Initialized(int *flag) {
    *flag = enter_any_time("MPI_Initialized").is_initialized;
    return MPI_SUCCESS;
}

int AMPI_Finalize(void) {
    enter("MPI_Finalize").is_finalized = true;
    return MPI_SUCCESS;
}

int AMPI_Finalized(int *flag) {
    *flag = enter_any_time("MPI_Finalized").is_finalized;
    return MPI_SUCCESS;
}

int AMPI_Abort(MPI_Comm comm, int code) {
    enter("MPI_Abort").communicator(comm);
    towpath_exit(code);
    // The thread stays suspended.
    towpath_thread_suspend();
    std::abort();
}
