// Elements balance their loads after each step. With a directory, Main writes a checkpoint in the
// middle, from which another job goes on:
//
//     balancing [DIRECTORY [status | threaded | function]]
#include <string>

#include "balancing.decl.h"

static const int elements = 12, steps = 6;
CProxy_Main mainProxy;
int ranksAtStart;

class Branch : public CBase_Branch {
    int value = 5;

public:
    Branch() { check(); }
    // The group has a branch here already.
    void check() { CkAssert(thisProxy.ckLocalBranch() == this && thisProxy.same(this)); }
    bool same(Branch *branch) { return branch == this; }
    explicit Branch(CkMigrateMessage *) : value(0) { CkAssert(_restarted); }
    void pup(PUP::er &p) override { p | value; }
    bool isRight() const { return value == 5; }
};

class Cell : public CBase_Cell {
    int steps = 0, moves = 0, restarts = 0, pe = CkMyPe();
    // Deleted where it leaves, and only there.
    int *values = new int[100]();

public:
    Cell() { usesAtSync = true; }
    explicit Cell(CkMigrateMessage *) {}
    ~Cell() { delete[] values; }
    void pup(PUP::er &p) override {
        p | steps;
        p | moves;
        p | pe;
        p | restarts;
        restarts += p.isRestarting();
        CkAssert(_restarted || !p.isRestarting());
        CkAssert(p.isMigration() == !(p.isCheckpoint() || p.isRestarting()));
        CkAssert(!p.isPacking() || p.isDeleting() == p.isMigration());
        p(values, 100);
        if (p.isDeleting()) {
            delete[] values;
            values = nullptr;
        }
    }
    void ckAboutToMigrate() override { values[99] = 1; }
    void ckJustMigrated() override {
        CkAssert(thisProxy[thisIndex].ckLocal() == this);
        ++values[99];
    }
    void step() {
        CkAssert(values[0] == steps);
        values[0] = ++steps;
        // Those that begin on rank 0 have all the work.
        if (thisIndex < 4)
            for (double end = CkCpuTimer() + 0.003; CkCpuTimer() < end;) {
            }
        AtSync();
    }
    void ResumeFromSync() override {
        moves += pe != CkMyPe();
        pe = CkMyPe();
        int sum = values[0];
        contribute(sizeof sum, &sum, CkReduction::sum_int);
    }
    void note() { mainProxy.noted(); }
    void end() {
        int results[] = {values[0] == ::steps, moves > 0, restarts};
        contribute(sizeof results, results, CkReduction::sum_int,
                   CkCallback(CkReductionTarget(Main, ended), mainProxy));
    }
};

class Main : public CBase_Main {
    CProxy_Cell cells;
    CProxySection_Cell some;
    CProxy_Branch branches;
    std::string directory, how;
    int step = 0, notes = 0;
    bool is_restarted = false;

    void go() {
        if (step < steps) {
            ++step;
            cells.step();
        } else {
            cells.end();
        }
    }

public:
    explicit Main(CkArgMsg *m) {
        // The words of the runtime are not among them.
        for (int at = 1; at < m->argc; ++at)
            CkAssert(m->argv[at][0] != '+');
        if (m->argc > 1)
            directory = m->argv[1];
        if (m->argc > 2)
            how = m->argv[2];
        delete m;
        mainProxy = thisProxy;
        ranksAtStart = CkNumPes();
        branches = CProxy_Branch::ckNew();
        cells = CProxy_Cell::ckNew(elements);
        some = CProxySection_Cell::ckNew(cells, 0, elements - 1, 3);
        if (how == "function")
            cells.setReductionClient([](void *, int, void *data) {
                mainProxy.stepped(*static_cast<int *>(data));
            });
        else
            cells.ckSetReductionClient(
                new CkCallback(CkReductionTarget(Main, stepped), thisProxy));
        go();
    }
    explicit Main(CkMigrateMessage *) : is_restarted(true) {}
    void pup(PUP::er &p) override {
        p | cells;
        p | some;
        p | branches;
        p | directory;
        p | how;
        p | step;
    }
    void stepped(int sum) {
        CkAssert(sum == elements * step);
        if (directory.empty() || step != steps / 2)
            return go();
        if (how == "threaded")
            CkStartCheckpoint(directory.c_str(), CkCallback([](void *, void *) {}, nullptr));
        else if (how == "status")
            CkStartCheckpoint(directory.c_str(), CkCallback(CkIndex_Main::status(nullptr), thisProxy),
                              true);
        else
            CkStartCheckpoint(directory.c_str(), CkCallback(CkIndex_Main::saved(), thisProxy));
    }
    void saved() {
        CkPrintf(is_restarted ? "goes on\n" : "saved\n");
        CkAssert(_restarted == is_restarted);
        CkAssert(ranksAtStart > 0 && branches.ckLocalBranch()->isRight());
        some.resetSection();
        some.note();
    }
    void noted() {
        if (++notes == some.ckGetNumElements())
            go();
    }
    void status(CkCheckpointStatusMsg *m) {
        CkPrintf(m->status == CK_CHECKPOINT_SUCCESS ? "saved\n" : "failed\n");
        delete m;
        go();
    }
    void ended(int, int *results) {
        CkAssert(results[0] == elements && results[2] == (is_restarted ? elements : 0));
        CkPrintf("%d of %d have moved: right\n", results[1], elements);
        CkExit();
    }
};

#include "balancing.def.h"
