// Fibonacci numbers by a tree of chares, each of which waits for two others.
//
//     towpath-charmc fibonacci.ci && towpath-charmc -o fibonacci fibonacci.C
//     towpath-charmrun +p2 ./fibonacci 25
#include "fibonacci.decl.h"

CProxy_Main mainProxy;

static long sequential(int n) { return n < 2 ? n : sequential(n - 1) + sequential(n - 2); }

class Main : public CBase_Main {
    int n;

public:
    explicit Main(CkArgMsg *m) : n(m->argc > 1 ? atoi(m->argv[1]) : 25) {
        delete m;
        mainProxy = thisProxy;
        CProxy_Fibonacci::ckNew(true, n, CProxy_Fibonacci());
    }

    void result(long value) {
        bool isRight = value == sequential(n);
        CkPrintf("Fibonacci number %d is %ld\n%s\n", n, value, isRight ? "right" : "wrong");
        CkExit(isRight ? 0 : 1);
    }
};

class Fibonacci : public CBase_Fibonacci {
    Fibonacci_SDAG_CODE

    bool isRoot;
    CProxy_Fibonacci parent;

public:
    Fibonacci(bool isRoot, int n, CProxy_Fibonacci parent) : isRoot(isRoot), parent(parent) {
        thisProxy.run(n);
    }

    void respond(long value) {
        if (isRoot)
            mainProxy.result(value);
        else
            parent.response(value);
        delete this;
    }
};

#include "fibonacci.def.h"
