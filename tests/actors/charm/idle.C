#include "idle.decl.h"

CProxy_Main mainProxy;

class Main : public CBase_Main {
    CProxy_Flusher flushers;
    int parts = 0;
    bool wasIdle = false;

    void end() {
        // A message of each rank, quiescence, and the end of the calls.
        if (++parts == CkNumPes() + 2)
            CkCallWhenIdle(CkIndex_Main::last(), this);
    }

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        flushers = CProxy_Flusher::ckNew();
        CProxy_Cell::ckNew(CkNumPes()).move();
        CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
    }
    void flushed() { end(); }
    // Methods are still called.
    void quiet() {
        flushers.stop();
        end();
    }
    void stopped(int calls) {
        CkAssert(calls >= 3 * CkNumPes());
        end();
    }
    bool last() {
        if (!wasIdle)
            return wasIdle = true;
        CkPrintf("ok\n");
        CkExit();
    }
};

class Flusher : public CBase_Flusher {
    int calls = 0;
    bool isStopped = false, hasEnded = false;

public:
    Flusher() { CkCallWhenIdle(CkIndex_Flusher::flush(), this); }
    void stop() { isStopped = true; }
    bool flush() {
        CkAssert(!hasEnded);
        if (++calls == 2)
            mainProxy.flushed();
        hasEnded = isStopped && calls > 2;
        if (hasEnded)
            contribute(sizeof calls, &calls, CkReduction::sum_int,
                       CkCallback(CkReductionTarget(Main, stopped), mainProxy));
        return !hasEnded;
    }
};

class Cell : public CBase_Cell {
public:
    Cell() {}
    explicit Cell(CkMigrateMessage *) {}
    // It has left before its rank has nothing to do, or is deleted.
    void move() {
        CkCallWhenIdle(CkIndex_Cell::never(), this);
        if (CkNumPes() > 1)
            migrateMe((CkMyPe() + 1) % CkNumPes());
        else
            ckDestroy();
    }
    bool never() {
        CkAbort("a chare was called that has left");
        return false;
    }
};

#include "idle.def.h"
