#include <cstring>
#include <vector>

#include "direct.decl.h"

CProxy_Main mainProxy;
static const int CELLS = 6, LONG = 1 << 20, SHORT = 40;

class Main : public CBase_Main {
    CProxy_Cell cells;

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        cells = CProxy_Cell::ckNew(CELLS);
    }
    void ready() { cells.begin(SHORT); }
    void begun() { cells.exchange(); }
    void half() { cells.begin(LONG); }
    void finished(int sum) {
        // Each cell is told of the sending and of the filling of two transfers, for both lengths.
        CkAssert(sum == CELLS * 8);
        CkPrintf("ok\n");
        CkExit();
    }
};

// A cell gets the source of the next one, which also puts it there.
class Cell : public CBase_Cell {
    char *source, *got, *put_here;
    int bytes = 0, told = 0, told_of_sending = 0, told_of_filling = 0;

    CkCallback to(int entry) { return CkCallback(entry, thisProxy[thisIndex]); }
    void count() {
        ++told;
        if (told == 4)
            contribute(CkCallback(CkReductionTarget(Main, half), mainProxy));
        if (told == 8) {
            CkAssert(told_of_sending == 4 && told_of_filling == 4);
            contribute(sizeof told, &told, CkReduction::sum_int,
                       CkCallback(CkReductionTarget(Main, finished), mainProxy));
        }
    }

public:
    Cell()
        : source((char *)CkRdmaAlloc(LONG)), got((char *)CkRdmaAlloc(LONG)),
          put_here((char *)CkRdmaAlloc(LONG)) {
        std::memset(got, 0, LONG);
        std::memset(put_here, 0, LONG);
        contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
    }
    explicit Cell(CkMigrateMessage *) {}
    ~Cell() {
        CkRdmaFree(source);
        CkRdmaFree(got);
        CkRdmaFree(put_here);
    }
    void begin(int n) {
        bytes = n;
        std::memset(source, 'a' + thisIndex, n);
        contribute(CkCallback(CkReductionTarget(Main, begun), mainProxy));
    }
    void exchange() {
        int n = bytes;
        CkNcpyBuffer from(source, n, to(CkIndex_Cell::sent(nullptr)), CK_BUFFER_PREREG);
        from.setRef(this);
        CkAssert(from.cnt == (std::size_t)n && from.pe == CkMyPe());
        thisProxy[(thisIndex + CELLS - 1) % CELLS].pull(from, thisIndex);
        // The destination may be longer.
        CkNcpyBuffer here;
        here.init(put_here, LONG, to(CkIndex_Cell::filled(nullptr)), CK_BUFFER_UNREG,
                  CK_BUFFER_NODEREG);
        here.registerMem();
        std::vector<CkNcpyBuffer> both(2, here);
        both[1].setRef(source);
        thisProxy[(thisIndex + 1) % CELLS].offer(here, both);
    }
    void pull(CkNcpyBuffer from, int index) {
        CkAssert(index == (thisIndex + 1) % CELLS);
        CkNcpyBuffer here(got, from.cnt, to(CkIndex_Cell::filled(nullptr)), CK_BUFFER_NOREG);
        CkNcpyStatus status = here.get(from);
        CkAssert((status == CkNcpyStatus::complete) == (from.pe == CkMyPe()));
        if (status == CkNcpyStatus::complete)
            CkAssert(got[0] == 'a' + index && got[from.cnt - 1] == 'a' + index);
    }
    void offer(CkNcpyBuffer there, std::vector<CkNcpyBuffer> others) {
        CkAssert(others.size() == 2 && others[1].ptr == there.ptr && others[1].getRef() != there.getRef());
        CkNcpyBuffer from(source, bytes, to(CkIndex_Cell::sent(nullptr)));
        from.setRef(this);
        from.put(there);
    }
    void sent(CkDataMsg *m) {
        CkNcpyBuffer *buffer = (CkNcpyBuffer *)m->data;
        CkAssert(buffer->ptr == source && buffer->getRef() == this);
        CkAssert(buffer->cnt == (std::size_t)bytes);
        buffer->deregisterMem();
        delete m;
        ++told_of_sending;
        count();
    }
    void filled(CkDataMsg *m) {
        CkNcpyBuffer *buffer = (CkNcpyBuffer *)m->data;
        CkAssert(buffer->ptr == got || buffer->ptr == put_here);
        // What this cell gets, and what is put into it, is of the next one.
        char from = 'a' + (thisIndex + 1) % CELLS;
        char *content = (char *)buffer->ptr;
        std::size_t n = buffer->cnt;
        CkAssert((n == SHORT || n == LONG) && content[0] == from && content[n - 1] == from);
        CkAssert(n == LONG || content[n] == 0);
        std::memset(content, 0, n);
        delete m;
        ++told_of_filling;
        count();
    }
};

#include "direct.def.h"
