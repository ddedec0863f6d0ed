// Load balancers by the names that Charm++ gives them, checkpoints, and restarts.
#ifndef TOWPATH_CHARM_CHECKPOINT_H
#define TOWPATH_CHARM_CHECKPOINT_H

#include "chares.h"

enum { CK_CHECKPOINT_SUCCESS, CK_CHECKPOINT_FAILURE };

// What the callback of a checkpoint gets if the program asks for a status.
class CkCheckpointStatusMsg : public CkDataMsg {
public:
    explicit CkCheckpointStatusMsg(const towpath_message &message) : CkDataMsg(message) {}

    static CkCheckpointStatusMsg *unpack(void *packed) {
        return new CkCheckpointStatusMsg(arrived(packed));
    }

    int status = getSize() == 0 ? CK_CHECKPOINT_SUCCESS : CK_CHECKPOINT_FAILURE;
};

// Writes all chares to files in a directory once no message is left anywhere, and tells the callback,
// also after a restart. If that fails, the job ends with a sentence, unless a status is asked for.
inline void CkStartCheckpoint(const char *directory, const CkCallback &callback,
                              bool requestStatus = false, int = 0) {
    if (callback.c.kind == TOWPATH_CALL_FUNCTION)
        ck::fail("the callback of CkStartCheckpoint is called after a restart too, where functions "
                 "and threads of this job do not exist: use one of an entry method");
    ck::check(towpath_checkpoint(directory, !requestStatus, &callback.c));
}

namespace ck {

// What the words +balancer NAME and +restart DIRECTORY of a command line say, or null.
struct JobOptions {
    const char *balancer = nullptr;
    const char *restart = nullptr;
    // A sentence about what is wrong with them.
    std::string problem;
};

// The balancer of the library that does what this one does in Charm++, or null.
inline const char *balancer_like(const std::string &name) {
    static const std::map<std::string, const char *> known = {
        {"GreedyLB", "greedy"},        {"GreedyCommLB", "greedy"}, {"GreedyRefineLB", "refine"},
        {"RefineLB", "refine"},        {"RefineSwapLB", "refine"}, {"RefineCommLB", "refine"},
        {"HybridLB", "hierarchical"},  {"HybridBaseLB", "hierarchical"},
        {"DistributedLB", "hierarchical"}, {"TreeLB", "greedy"},   {"RotateLB", "rotate"},
        {"RandCentLB", "random"},      {"DummyLB", "none"},        {"NullLB", "none"},
    };
    auto found = known.find(name);
    return found == known.end() ? nullptr : found->second;
}

// Takes these words out of the command line.
inline JobOptions take_options(int &argc, char **argv) {
    JobOptions options;
    int kept = 0;
    for (int at = 0; at < argc; ++at) {
        std::string word = argv[at];
        if (word != "+balancer" && word != "+restart") {
            argv[kept++] = argv[at];
        } else if (++at == argc) {
            options.problem = "a word is missing after " + word;
        } else if (word == "+restart") {
            options.restart = argv[at];
        } else if ((options.balancer = balancer_like(argv[at])) == nullptr) {
            options.problem = std::string("there is no balancer ") + argv[at] +
                              "; GreedyLB, RefineLB and HybridLB are there";
        }
    }
    argc = kept;
    argv[argc] = nullptr;
    return options;
}

} // namespace ck

#endif
