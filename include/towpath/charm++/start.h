// How a program starts, and what it does before and after its main chares are constructed.
#ifndef TOWPATH_CHARM_START_H
#define TOWPATH_CHARM_START_H

#include "checkpoint.h"
#include "direct.h"
#include "registration.h"

// Whether this job goes on from a checkpoint.
inline bool _restarted = false;

namespace ck {

// What modules have registered.
struct Program {
    std::vector<void (*)(PUP::er &)> read_only;
    std::vector<const EntryMethod *> main_chares;
    std::vector<void (*)()> node_initialisers;
    std::vector<void (*)()> initialisers;
    std::size_t main_chares_made = 0;
    int argc = 0;
    char **argv = nullptr;

    static Program &self() {
        static Program program;
        return program;
    }
    void pup(PUP::er &p) {
        p | DirectTransfers::group;
        for (auto *variable : read_only)
            variable(p);
    }
};

// After each main chare: once all are constructed, the other ranks get the read-only data.
inline void main_chare_made() {
    Program &program = Program::self();
    if (++program.main_chares_made < program.main_chares.size())
        return;
    std::vector<char> data(PUP::size(program));
    PUP::toMemBuf(program, data.data(), data.size());
    check(towpath_begin(data.data(), data.size()));
}

inline CkArgMsg *arguments() {
    auto *message = new CkArgMsg();
    message->argc = Program::self().argc;
    message->argv = Program::self().argv;
    return message;
}

// A read-only variable that points to a message.
template <class M> inline void pup_read_only_message(PUP::er &p, M *&message) {
    void *object = message;
    CkPupMessage(p, &object);
    message = static_cast<M *>(object);
}

inline int ended_with(const char *what) {
    std::fprintf(stderr, "%s: %s\n", what, towpath_error());
    return 1;
}

// These functions, which may register modules with more of them.
inline void run_all(const std::vector<void (*)()> &initialisers) {
    for (std::size_t i = 0; i < initialisers.size(); ++i)
        initialisers[i]();
}

// The main function of a program whose main module registers itself by this function.
inline int run(int argc, char **argv, void (*register_all)()) {
    Program &program = Program::self();
    const JobOptions options = take_options(argc, argv);
    if (!options.problem.empty()) {
        std::fprintf(stderr, "The job cannot start: %s\n", options.problem.c_str());
        return 1;
    }
    program.argc = argc;
    program.argv = argv;
    started();
    register_all();
    run_all(program.node_initialisers);
    register_reducers();
    DirectTransfers::register_all();
    register_method<resume_element>(resume_from_sync(), "ArrayElement::ResumeFromSync", 0,
                                    TOWPATH_RESUMES);
    towpath_program functions = {};
    functions.read_only = [](void *, const void *data, std::size_t bytes) {
        guarded([&] {
            PUP::fromMem p(data, bytes);
            Program::self().pup(p);
        });
    };
    functions.call_back = [](void *, std::uint64_t function, const void *value,
                             std::size_t bytes) {
        RunningMethod now(nullptr, nullptr);
        guarded([&] { Functions::all().call(function, value, bytes); });
    };
    if (options.balancer != nullptr && towpath_set_balancer(options.balancer) != 0)
        return ended_with("The job cannot start");
    if (towpath_start(&functions) != 0)
        return ended_with("The job cannot start");
    guarded([&] { run_all(program.initialisers); });
    // If it does not restart, it calls nothing of the program.
    _restarted = true;
    int restarts = 0;
    if (towpath_restart(options.restart, &restarts) != 0)
        return ended_with("The job cannot restart");
    _restarted = restarts != 0;
    if (towpath_rank() == 0 && !restarts) {
        guarded([] { DirectTransfers::make(); });
        for (const EntryMethod *constructor : program.main_chares) {
            towpath_chare_id id;
            if (towpath_create_chare(constructor->c.number, 0, "", 0, &id) != 0)
                return ended_with("A main chare cannot be made");
        }
    }
    int code = 1;
    if (towpath_run(&code) != 0)
        ended_with("The job has ended");
    towpath_stop();
    return code;
}

} // namespace ck

#endif
