// The chares of an array say where they are.
//
//     towpath-charmc hello.ci && towpath-charmc -o hello hello.C
//     towpath-charmrun +p2 ./hello 5
#include "hello.decl.h"

CProxy_Main mainProxy;

class Main : public CBase_Main {
    int elements;

public:
    explicit Main(CkArgMsg *m) : elements(m->argc > 1 ? atoi(m->argv[1]) : 5) {
        delete m;
        mainProxy = thisProxy;
        CProxy_Hello::ckNew(elements).greet(CkMyPe());
    }

    void done(int greetings) {
        CkPrintf(greetings == elements ? "right\n" : "wrong\n");
        CkExit(greetings == elements ? 0 : 1);
    }
};

class Hello : public CBase_Hello {
public:
    Hello() {}
    explicit Hello(CkMigrateMessage *) {}

    void greet(int from) {
        CkPrintf("Element %d on rank %d of %d greets rank %d.\n", thisIndex, CkMyPe(), CkNumPes(),
                 from);
        int one = 1;
        contribute(sizeof one, &one, CkReduction::sum_int,
                   CkCallback(CkReductionTarget(Main, done), mainProxy));
    }
};

#include "hello.def.h"
