// A token goes around a ring of chares, and is counted on its way.
//
//     towpath-charmc ring.ci && towpath-charmc -o ring ring.C
//     towpath-charmrun +p2 ./ring 10 100        elements, rounds
#include "ring.decl.h"

CProxy_Main mainProxy;
int elements;

class Main : public CBase_Main {
    double started;

public:
    explicit Main(CkArgMsg *m) {
        elements = m->argc > 1 ? atoi(m->argv[1]) : 10;
        int rounds = m->argc > 2 ? atoi(m->argv[2]) : 100;
        delete m;
        mainProxy = thisProxy;
        CProxy_Element ring = CProxy_Element::ckNew(elements);
        started = CkWallTimer();
        ring[0].pass(rounds, 0);
    }

    void home(int rounds, int hops) {
        double each = (CkWallTimer() - started) / hops;
        CkPrintf("%d hops, %.2f us each\n", hops, each * 1e6);
        CkPrintf(hops == rounds * elements ? "right\n" : "wrong\n");
        CkExit(hops == rounds * elements ? 0 : 1);
    }
};

class Element : public CBase_Element {
    int passed = 0;

public:
    Element() {}
    explicit Element(CkMigrateMessage *) {}

    void pass(int rounds, int hops) {
        ++passed;
        if (thisIndex == 0 && passed > rounds)
            mainProxy.home(rounds, hops);
        else
            thisProxy[(thisIndex + 1) % elements].pass(rounds, hops + 1);
    }
};

#include "ring.def.h"
