#include <vector>

#include "lending.decl.h"

CProxy_Main mainProxy;
static const int CELLS = 4, BIG = 300000;

// Callbacks of Main, by the array that is free again.
enum { VIEW, CHANGE, POST, BESIDE, TAGGED, STEPPED, LATE, SLOW, SINGLE, MOVED, ALL, CHANGED, ARRAYS };

static void check(int n, const int *a) {
    CkAssert(n == BIG);
    for (int i = 0; i < n; ++i)
        CkAssert(a[i] == 3 * i);
}

class Main : public CBase_Main {
    std::vector<int> arrays[ARRAYS];
    std::vector<int> told = std::vector<int>(ARRAYS);
    int expected = 0, came = 0, finished = 0;
    bool was_matched = false;
    CProxy_Cell cells;

    CkNcpyBuffer lend(int which, int times = 1) {
        expected += times;
        CkCallback cb(CkIndex_Main::sent(nullptr), thisProxy);
        return CkSendBuffer(arrays[which].data(), cb);
    }

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        for (auto &array : arrays) {
            array.resize(BIG);
            for (int i = 0; i < BIG; ++i)
                array[i] = 3 * i;
        }
        cells = CProxy_Cell::ckNew(CELLS);
    }
    // The cells exist: messages that wait for a chare keep copies of their arrays.
    void ready() {
        cells.run();
        for (int i = 0; i < CELLS; ++i) {
            cells[i].view(BIG, lend(VIEW), (CmiUInt8)arrays[VIEW].data(), CkMyPe());
            cells[i].change(BIG, lend(CHANGE));
            cells[i].post(BIG, lend(POST), lend(BESIDE));
            cells[i].stepped(BIG, lend(STEPPED));
            cells[i].slow(BIG, lend(SLOW));
            cells[i].lateStepped(BIG, lend(LATE));
        }
        cells[CELLS - 1].tagged(BIG, lend(TAGGED));
        CProxy_Mover movers = CProxy_Mover::ckNew(CELLS);
        movers.run();
        for (int i = 0; i < CELLS; ++i)
            movers[i].stepped(BIG, lend(MOVED));
        movers.move();
        CProxy_Branch branches = CProxy_Branch::ckNew();
        branches.all(BIG, lend(ALL));
        branches.changed(BIG, lend(CHANGED));
        for (int i = 0; i < CELLS; ++i)
            CProxy_Single::ckNew(BIG, lend(SINGLE));
    }
    void sent(CkDataMsg *m) {
        CkNcpyBuffer *buffer = (CkNcpyBuffer *)m->getData();
        CkAssert(buffer->cnt == BIG * sizeof(int));
        int which = 0;
        while (buffer->ptr != arrays[which].data())
            ++which;
        // What receivers have changed is not the sender's.
        check(BIG, arrays[which].data());
        CkAssert(which != TAGGED || was_matched);
        ++told[which];
        ++came;
        delete m;
        end();
    }
    void matched() {
        // The array is lent until memory has been posted for it.
        CkAssert(told[TAGGED] == 0);
        was_matched = true;
        cells[CELLS - 1].go();
    }
    void received() {
        ++finished;
        end();
    }
    void end() {
        if (finished == 4 && came == expected)
            CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
    }
    void quiet() {
        CkAssert(came == expected && told[ALL] == 1 && told[CHANGED] == 1 && told[VIEW] == CELLS);
        CkPrintf("ok\n");
        CkExit();
    }
};

class Cell : public CBase_Cell {
    Cell_SDAG_CODE
    std::vector<int> memory;
    int *landing = nullptr;
    int counted = 0;

public:
    Cell() : memory(BIG), landing(memory.data()) {
        contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
    }
    explicit Cell(CkMigrateMessage *) {}
    void pup(PUP::er &p) {
        p | memory;
        p | counted;
        landing = memory.data();
    }
    void count() {
        if (++counted == (thisIndex == CELLS - 1 ? 8 : 7))
            contribute(CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
    void view(int n, const int *a, CmiUInt8 address, int rank) {
        check(n, a);
        // On the sender's rank it is the array itself.
        CkAssert(CkMyPe() != rank || (CmiUInt8)a == address);
        count();
    }
    void change(int n, int *a) {
        check(n, a);
        for (int i = 0; i < n; ++i)
            a[i] = -1;
        count();
    }
    void post(int &n, int *&a, int *&b, CkNcpyBufferPost *) {
        check(n, b);
        b[0] = -1;
        a = landing;
    }
    void post(int n, int *a, int *b) {
        CkAssert(a == landing);
        check(n, a);
        check(n, b);
        count();
    }
    void tagged(int &, int *&, CkNcpyBufferPost *post) {
        CkMatchBuffer(post, 0, 17);
        mainProxy.matched();
    }
    void tagged(int n, int *a) {
        CkAssert(a == landing);
        check(n, a);
        count();
    }
    void go() { CkPostBuffer(landing, BIG, 17); }
    void slow(int n, const int *a) {
        // The view lasts while the method waits.
        CthThread self = CthSelf();
        CkCallback(resume, self).send();
        CthSuspend();
        check(n, a);
        count();
        thisProxy[thisIndex].begin();
    }
    static void resume(void *thread, void *message) {
        delete static_cast<CkReductionMsg *>(message);
        CthAwaken(static_cast<CthThread>(thread));
    }
    void lateStepped(int &, int *&a, CkNcpyBufferPost *) { a = landing; }
};

// Migrates with an array for which no step waits yet.
class Mover : public CBase_Mover {
    Mover_SDAG_CODE

public:
    Mover() {}
    explicit Mover(CkMigrateMessage *) {}
    void move() {
        int next = (CkMyPe() + 1) % CkNumPes();
        migrateMe(next);
        thisProxy[thisIndex].begin(next);
    }
};

class Single : public CBase_Single {
public:
    Single(int n, const int *a) { check(n, a); }
};

class Branch : public CBase_Branch {
public:
    Branch() {}
    void all(int n, const int *a) {
        check(n, a);
        contribute(CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
    void changed(int n, int *a) {
        check(n, a);
        a[n - 1] = 0;
        contribute(CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
};

#include "lending.def.h"
