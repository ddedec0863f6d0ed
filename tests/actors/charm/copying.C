#include <vector>

#include "copying.decl.h"

CProxy_Main mainProxy;
// Arrays travel beside the payload from 16 KiB on, or from 64 KiB on: this has that many bytes.
static const int CELLS = 4, BIG = 300000;
static int LONG = 0;

static std::vector<int> numbers(int n) {
    std::vector<int> all(n);
    for (int i = 0; i < n; ++i)
        all[i] = 3 * i;
    return all;
}

static void check(int n, const int *a) {
    for (int i = 0; i < n; ++i)
        CkAssert(a[i] == 3 * i);
}

static void change(int n, int *a) {
    check(n, a);
    a[0] = -1;
}

class Main : public CBase_Main {
    CProxy_Cell cells;
    std::vector<int> lent = numbers(BIG);
    int finished = 0;

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        LONG = towpath_shortest_array() / sizeof(int);
        std::vector<int> a = numbers(BIG);
        cells = CProxy_Cell::ckNew(BIG, a.data(), CELLS);
    }
    void ready() {
        cells.run();
        std::vector<int> a = numbers(BIG);
        std::vector<double> b(BIG, 0.5);
        for (int i = 0; i < CELLS; ++i) {
            cells[i].look(BIG, a.data());
            cells[i].change(BIG, a.data(), BIG, b.data());
            cells[i].bytes(LONG, a.data());
            cells[i].constBytes(LONG - 1, a.data());
            cells[i].overloaded(BIG, a.data());
            cells[i].anything(BIG, a.data());
            cells[i].moved(BIG, a.data());
            cells[i].slow(BIG, a.data());
            cells[i].post(BIG, CkSendBuffer(lent.data()), a.data());
            cells[i].first(BIG, a.data());
            cells[i].stepped(BIG, a.data());
        }
        // What was sent is a copy.
        std::vector<int> expected = a;
        a.assign(BIG, 7);
        b.assign(BIG, 7);
        cells.change(BIG, expected.data(), 1, b.data());
        cells.look(BIG, expected.data());
        cells.stepped(LONG, expected.data());
        cells.begin();
        cells.begin();
        CProxy_Mover movers = CProxy_Mover::ckNew(CELLS);
        movers.run();
        for (int i = 0; i < CELLS; ++i)
            movers[i].stepped(BIG, expected.data());
        movers.move();
        CProxy_Branch branches = CProxy_Branch::ckNew();
        branches.all(BIG, expected.data());
        thisProxy.ask();
    }
    void ask() {
        std::vector<int> ones(BIG, 1);
        CkAssert(cells[CELLS - 1].sum(BIG, ones.data()) == BIG);
        received();
    }
    void received() {
        if (++finished == 4) {
            CkPrintf("ok\n");
            CkExit();
        }
    }
};

class Cell : public CBase_Cell {
    Cell_SDAG_CODE
    std::vector<int> landing = std::vector<int>(BIG);
    int counted = 0;

public:
    Cell(int n, int *a) {
        CkAssert(n == BIG);
        // All elements are made from one message.
        check(n, a);
        contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
    }
    explicit Cell(CkMigrateMessage *) {}
    void count() {
        if (++counted == 14)
            contribute(CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
    void change(int n, int *a) { ::change(n, a); }
    void look(int n, const int *a) {
        check(n, a);
        count();
    }
    void change(int n, int *a, int m, double *b) {
        change(n, a);
        CkAssert(b[m - 1] == (m == 1 ? 7 : 0.5));
        b[0] = -2;
        // The other is another one.
        CkAssert(a[n - 1] == 3 * (n - 1));
        count();
    }
    // It was sent to this chare alone, beside the payload, and is no copy.
    void bytes(int n, void *a) {
        std::size_t bytes = 0;
        towpath_message *message = const_cast<towpath_message *>(ck::running().message);
        CkAssert(message->array_count == 1 && a == towpath_message_own_array(message, 0, &bytes));
        change(n, static_cast<int *>(a));
        count();
    }
    void constBytes(int n, const void *a) {
        CkAssert(ck::running().message->array_count == 0);
        check(n, static_cast<const int *>(a));
        count();
    }
    void overloaded(int, bool) { CkAbort("this is another method"); }
    void overloaded(int, const int *) { CkAbort("this is another method"); }
    void overloaded(int n, int *a) {
        change(n, a);
        count();
    }
    template <class T> void anything(T n, T *a) {
        change(n, a);
        count();
    }
    // As methods do that step through what they get.
    void moved(int n, int *&a) {
        change(n, a);
        a += n;
        count();
    }
    void slow(int n, int *a) {
        change(n, a);
        CthThread self = CthSelf();
        CkCallback(resume, self).send();
        CthSuspend();
        CkAssert(a[0] == -1 && a[n - 1] == 3 * (n - 1));
        count();
    }
    static void resume(void *thread, void *message) {
        delete static_cast<CkReductionMsg *>(message);
        CthAwaken(static_cast<CthThread>(thread));
    }
    void post(int &n, int *&a, int *&b, CkNcpyBufferPost *) {
        check(n, b);
        a = landing.data();
    }
    void post(int n, int *a, int *b) {
        check(n, a);
        change(n, b);
        count();
    }
    int sum(int n, const int *a) {
        int all = 0;
        for (int i = 0; i < n; ++i)
            all += a[i];
        return all;
    }
    void first(int n, int *a) {
        change(n, a);
        count();
    }
};

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
    void finish() { contribute(CkCallback(CkReductionTarget(Main, received), mainProxy)); }
};

class Branch : public CBase_Branch {
public:
    Branch() {}
    void all(int n, int *a) {
        change(n, a);
        contribute(CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
};

#include "copying.def.h"
