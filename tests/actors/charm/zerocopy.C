#include <vector>

#include "zerocopy.decl.h"

CProxy_Main mainProxy;
static const int CELLS = 4, BIG = 100000;

class Main : public CBase_Main {
    int callbacks = 0, parts = 0;
    std::vector<int> ints;
    std::vector<double> doubles;
    std::vector<float> floats;

public:
    explicit Main(CkArgMsg *m) : ints(BIG), doubles(BIG), floats(BIG) {
        delete m;
        mainProxy = thisProxy;
        for (int i = 0; i < BIG; ++i)
            ints[i] = i, doubles[i] = i / 4.0, floats[i] = i;
        CProxy_Cell cells = CProxy_Cell::ckNew(CELLS);
        CkCallback cb(CkIndex_Main::sent(nullptr), thisProxy);
        cells[1].recv_forces(RDMA(doubles.data(), cb), BIG, 4.0);
        cells[3].get(BIG, CkSendBuffer(ints.data(), cb), 3, CkSendBuffer(floats.data(), cb));
        cells[2].old(1000, CkSendBuffer(ints.data(), cb), CkSendBuffer(doubles.data()));
        int small[2] = {5, 6};
        cells[0].tags(10, CkSendBuffer(ints.data(), CK_BUFFER_UNREG), 3, small);
        cells[1].tags(10, CkSendBuffer(ints.data()), 4, small);
        CProxy_Cell alone = CProxy_Cell::ckNew(1);
        for (int which : {3, 1, 2}) {
            CkEntryOptions urgency;
            urgency.setPriority(which);
            alone[0].order(which, 10, CkSendBuffer(ints.data()), &urgency);
        }
        cells.wait();
        cells.stepped(1, 4, CkSendBuffer(ints.data(), cb, CK_BUFFER_REG, CK_BUFFER_NODEREG));
        CProxy_Branch::ckNew().all(BIG, CkSendBuffer(doubles.data(), cb));
    }
    void sent(CkDataMsg *m) {
        CkNcpyBuffer *buffer = (CkNcpyBuffer *)m->data;
        buffer->deregisterMem();
        CkAssert(buffer->ptr == ints.data() || buffer->ptr == doubles.data() ||
                 buffer->ptr == floats.data());
        delete m;
        ++callbacks;
        end();
    }
    void received(int sum) {
        CkAssert(sum == 11 || sum == CkNumPes());
        ++parts;
        end();
    }
    void end() {
        if (parts == 3 && callbacks == 6) {
            CkPrintf("ok\n");
            CkExit();
        }
    }
};

class Cell : public CBase_Cell {
    Cell_SDAG_CODE
    std::vector<int> landing;
    std::vector<double> other;
    int counted = 0;

public:
    Cell() : landing(1000, -1), other(3) {}
    explicit Cell(CkMigrateMessage *) {}
    void count() {
        ++counted;
        int expected[] = {2, 3, 2, 4};
        if (counted == expected[thisIndex])
            contribute(sizeof counted, &counted, CkReduction::sum_int,
                       CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
    void recv_forces(double *forces, int size, double value) {
        CkAssert(size == BIG && value == 4.0 && forces[BIG - 1] == (BIG - 1) / 4.0);
        count();
    }
    void get(int n, int *a, int m, float *b) {
        CkAssert(n == BIG && a[n - 1] == n - 1 && b[2 * m - 1] == 5);
        CkCallback cb(CkIndex_Cell::returned(nullptr), thisProxy[thisIndex]);
        thisProxy[thisIndex].direct(1000, CkSendBuffer(landing.data(), cb));
        count();
    }
    void direct(int n, int *a) {
        CkAssert(n == 1000 && a[999] == -1);
        count();
    }
    void returned(CkDataMsg *m) {
        CkAssert(((CkNcpyBuffer *)m->data)->ptr == landing.data());
        delete m;
        count();
    }
    void old(int &n, int *&a, double *&b, CkNcpyBufferPost *post) {
        CkAssert(n == 1000);
        n = 500;
        a = landing.data();
        b = other.data();
        post[0].regMode = CK_BUFFER_UNREG;
    }
    void old(int n, int *a, double *b) {
        CkAssert(n == 500 && a == landing.data() && a[499] == 499 && a[500] == -1);
        CkAssert(b == other.data() && b[2] == 0.5);
        count();
    }
    void tags(size_t &n, int *&a, int &tag, int *&small, CkNcpyBufferPost *post) {
        CkAssert(n == 10 && small[1] == 6);
        if (thisIndex == 0)
            CkPostBuffer(landing.data(), 10, tag);
        CkMatchBuffer(post, 0, tag);
        if (thisIndex == 1)
            CkPostBuffer(landing.data(), 10, tag);
    }
    void tags(size_t n, int *a, int tag, int *small) {
        CkAssert(n == 10 && a == landing.data() && a[9] == 9 && small[0] == 5 && tag == 3 + thisIndex);
        count();
    }
    void stepped(int &ref, int &n, int *&a, CkNcpyBufferPost *) { a = landing.data(); }
    // Three wait until memory is posted in another order than that of their priorities.
    void order(int &which, int &, int *&, CkNcpyBufferPost *post) {
        CkMatchBuffer(post, 0, 100 + which);
        if (++counted == 3)
            thisProxy[0].postAll();
    }
    void postAll() {
        counted = 0;
        for (int which : {3, 1, 2})
            CkPostBuffer(landing.data() + 10 * which, 10, 100 + which);
    }
    void order(int which, int n, int *a) {
        CkAssert(which == ++counted && a == landing.data() + 10 * which && a[n - 1] == 9);
        int sum = 11;
        if (which == 3)
            contribute(sizeof sum, &sum, CkReduction::sum_int,
                       CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
};

class Branch : public CBase_Branch {
public:
    Branch() {}
    void all(int n, double *a) {
        CkAssert(n == BIG && a[4] == 1);
        int one = 1;
        contribute(sizeof one, &one, CkReduction::sum_int,
                   CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
};

#include "zerocopy.def.h"
