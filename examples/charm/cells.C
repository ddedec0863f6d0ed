// Forces of a cell that another cell gets without a copy by the sender, as published.
//
//     towpath-charmc cells.ci && towpath-charmc -o cells cells.C
//     towpath-charmrun +p2 ./cells
#include <vector>

#include "cells.decl.h"

CProxy_Main mainProxy;
CkArrayID cellArrayID;

static const int CELLS = 100, FORCES = 1000000;

class Main : public CBase_Main {
    int events = 0;

    void event() {
        if (++events == 2) {
            CkPrintf("right\n");
            CkExit();
        }
    }

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        CProxy_Cell cells = CProxy_Cell::ckNew(CELLS);
        cellArrayID = cells;
        cells[0].forces();
    }
    void sum(double value) {
        double expected = 4.0 * FORCES * (FORCES - 1.0) / 2;
        if (value != expected)
            CkAbort("the sum of the forces is %g, not %g", value, expected);
        event();
    }
    void buffer_is_free() { event(); }
};

class Cell : public CBase_Cell {
    std::vector<double> own;

public:
    Cell() {}
    explicit Cell(CkMigrateMessage *) {}

    void forces() {
        own.resize(FORCES);
        for (int i = 0; i < FORCES; ++i)
            own[i] = i;
        double *forces = own.data();
        CProxy_Cell Cell_Proxy = thisProxy;
        // As published, but for the 1000000 that is named.
        Callback Cb = new Callback(CkIndex_Cell::completed, cellArrayID);
        Cell_Proxy[98].recv_forces(RDMA(forces, Cb), FORCES, 4.0);
    }

    void recv_forces(double *forces, int size, double value) {
        double sum = 0;
        for (int i = 0; i < size; ++i)
            sum += value * forces[i];
        CkCallback(CkReductionTarget(Main, sum), mainProxy).send(sizeof sum, &sum);
    }

    // The callback is for the whole array.
    void completed() {
        if (thisIndex == 0)
            mainProxy.buffer_is_free();
    }
};

#include "forcecalculations.def.h"

#include "cells.def.h"
