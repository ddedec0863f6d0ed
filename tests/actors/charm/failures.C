#include <string>
#include <vector>

#include "failures.decl.h"

class Text : public CMessage_Text {
public:
    int number = 3;
};

CProxy_Main mainProxy;
static const int BIG = 100000;

static CkReductionMsg *first(int, CkReductionMsg **messages) { return messages[0]; }

void addLate() {
    if (std::string(ck::Program::self().argv[1]) == "late reducer")
        CkReduction::addReducer(first);
}

class Wrong : public CBase_Wrong {
public:
    Wrong() {}
    explicit Wrong(CkMigrateMessage *) {}
    int procNum(int, const CkArrayIndex &) { return 9; }
};

class NoMap : public CBase_NoMap {
public:
    NoMap() {}
    explicit NoMap(CkMigrateMessage *) {}
};

class Main : public CBase_Main {
    std::string kind;
    std::vector<int> ints;
    CProxy_Cell cells;

public:
    explicit Main(CkArgMsg *m) : kind(m->argv[1]), ints(BIG) {
        delete m;
        mainProxy = thisProxy;
        CkArrayOptions options(2);
        if (kind == "wrong map")
            options.setMap(CProxy_Wrong::ckNew());
        if (kind == "no map")
            options.setMap(CProxy_NoMap::ckNew());
        cells = CProxy_Cell::ckNew(kind, options);
    }
    void ready() {
        if (kind == "writes")
            return cells[1].write(BIG, CkSendBuffer(ints.data()));
        if (kind == "not whenidle")
            return CkCallWhenIdle(CkIndex_Main::quiet(), this);
        if (kind == "idle of another")
            return CkCallWhenIdle(CkIndex_Cell::idle(), this);
        if (kind == "negative section") {
            const int first = 0;
            CProxySection_Cell::ckNew(cells, &first, -1);
            return;
        }
        if (kind == "only a bool") {
            CProxy_Switch::ckNew(true, 2)[1].move();
            return;
        }
        if (kind == "negative length")
            return cells[1].read(-8, ints.data());
        if (kind == "negative lent length")
            return cells[1].write(-8, CkSendBuffer(ints.data()));
        if (kind == "client elsewhere")
            return cells[1].client(cells);
        if (kind == "message to a thread")
            return cells[1].wait();
        if (kind == "short get")
            return cells[1].pull(CkNcpyBuffer(ints.data(), BIG * sizeof(int)), 100);
        if (kind == "get elsewhere")
            return cells[1].pull(CkNcpyBuffer(ints.data(), BIG * sizeof(int)), -1);
        if (kind == "never posted, short") {
            CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
            return cells[1].tagged(10, CkSendBuffer(ints.data()));
        }
        if (kind == "posted and migrates") {
            cells[1].run();
            cells[1].later(BIG, CkSendBuffer(ints.data()));
            return CkStartQD(CkCallback(CkIndex_Cell::go(), cells[1]));
        }
        cells[1].get(BIG, CkSendBuffer(ints.data()));
        if (kind == "matched twice")
            cells[1].get(BIG, CkSendBuffer(ints.data()));
    }
    void sent(CkDataMsg *m) { delete m; }
    void quiet() { CkPrintf("this should not run\n"); }
};

class Cell : public CBase_Cell {
    Cell_SDAG_CODE
    std::string kind;
    std::vector<int> memory;

public:
    explicit Cell(std::string kind) : kind(kind), memory(BIG) {
        contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
    }
    explicit Cell(CkMigrateMessage *) {}
    void pup(PUP::er &p) {
        p | kind;
        p | memory;
    }
    void get(int &n, int *&a, CkNcpyBufferPost *post) {
        if (kind == "small" || kind == "posted twice" || kind == "matched twice" ||
            kind == "never posted")
            CkMatchBuffer(post, 0, 7);
        if (kind == "small")
            CkPostBuffer(memory.data(), BIG - 1, 7);
        if (kind == "posted twice") {
            CkPostBuffer(memory.data(), BIG, 8);
            CkPostBuffer(memory.data(), BIG, 8);
        }
        if (kind == "more than sent") {
            n = BIG + 1;
            a = memory.data();
        }
        if (kind == "wrong number")
            CkMatchBuffer(post, 1, 7);
        if (kind == "migrates") {
            CkMatchBuffer(post, 0, 7);
            migrateMe(0);
        }
    }
    void get(int, int *) { CkPrintf("this should not run\n"); }
    void read(int, int *) { CkPrintf("this should not run\n"); }
    void write(int, const int *a) { *const_cast<int *>(a) = 1; }
    void tagged(int &, int *&, CkNcpyBufferPost *post) { CkMatchBuffer(post, 0, 17); }
    void tagged(int, int *) { CkPrintf("this should not run\n"); }
    void pull(CkNcpyBuffer source, int bytes) {
        CkNcpyBuffer own(memory.data(), bytes < 0 ? source.cnt : static_cast<std::size_t>(bytes));
        if (bytes < 0)
            source.get(own);
        else
            own.get(source);
    }
    void later(int &, int *&a, CkNcpyBufferPost *) { a = memory.data(); }
    void client(CProxy_Cell cells) {
        CkCallback callback(CkCallback::ignore);
        cells.ckSetReductionClient(&callback);
    }
    bool idle() { return false; }
    void message(Text *m) { delete m; }
    void wait() {
        CkCallback callback(CkCallback::resumeThread);
        callback.send(new Text());
        delete callback.thread_delay();
    }
};

// Its constructor is none of those that have migrated.
class Switch : public CBase_Switch {
public:
    explicit Switch(bool) {}
    void move() { migrateMe((CkMyPe() + 1) % CkNumPes()); }
};

#include "failures.def.h"
