#include <cstdint>
#include <vector>

extern "C" {
#include "driver.h"
}

#include "devices.decl.h"

CProxy_Main mainProxy;
static const int CELLS = 4, MOVERS = 3, SHORT = 1, BIG = 100000;

static void called(CUresult result) { CkAssert(result == 0); }

// Each process uses one device.
static void start() {
    static bool is_started = false;
    if (is_started)
        return;
    is_started = true;
    CUdevice device;
    CUcontext context;
    called(cuInit(0));
    called(cuDeviceGet(&device, 0));
    called(cuDevicePrimaryCtxRetain(&context, device));
    called(cuCtxPushCurrent_v2(context));
}

static int *allocated(int n) {
    start();
    CUdeviceptr address;
    called(cuMemAlloc_v2(&address, n * sizeof(int)));
    return reinterpret_cast<int *>(static_cast<std::uintptr_t>(address));
}

static CUdeviceptr address_of(const int *memory) {
    return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory));
}

static void fill(int *memory, int n, int factor) {
    std::vector<int> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = factor * i + 1;
    called(cuMemcpyHtoD_v2(address_of(memory), values.data(), n * sizeof(int)));
}

static void check(const int *memory, int n, int factor) {
    std::vector<int> values(n);
    called(cuMemcpyDtoH_v2(values.data(), address_of(memory), n * sizeof(int)));
    for (int i = 0; i < n; ++i)
        CkAssert(values[i] == factor * i + 1);
}

class Main : public CBase_Main {
    int finished = 0, told = 0;
    int *array;
    CProxy_Cell cells;
    CProxy_Mover movers;

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        array = allocated(BIG);
        fill(array, BIG, 3);
        cells = CProxy_Cell::ckNew(CELLS);
    }
    void ready() {
        cells.run();
        cells.play();
        CkCallback cb(CkIndex_Main::sent(nullptr), thisProxy);
        // To all of them at once, and to chares that are about to leave.
        cells.half(BIG, CkDeviceBuffer(array, cb));
        movers = CProxy_Mover::ckNew(MOVERS);
        movers.move();
        for (int i = 0; i < MOVERS; ++i)
            movers[i].get(BIG, CkDeviceBuffer(array, cb, nullptr));
    }
    void sent(CkDataMsg *m) {
        CkDeviceBuffer *buffer = (CkDeviceBuffer *)m->getData();
        CkAssert(buffer->ptr == array && buffer->cnt == BIG * sizeof(int));
        delete m;
        ++told;
        end();
    }
    void received() {
        ++finished;
        end();
    }
    void end() {
        if (finished == 2 && told == 1 + MOVERS) {
            CkPrintf("ok\n");
            CkExit();
        }
    }
};

class Cell : public CBase_Cell {
    Cell_SDAG_CODE
    int *own, *landing, *second;
    int counted = 0;

public:
    Cell() : own(allocated(BIG)), landing(allocated(BIG)), second(allocated(BIG)) {
        fill(own, BIG, thisIndex);
        contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
    }
    explicit Cell(CkMigrateMessage *) {}
    int before() const { return (thisIndex + CELLS - 1) % CELLS; }
    void play() {
        CProxyElement_Cell next = thisProxy[(thisIndex + 1) % CELLS];
        CkCallback cb(CkIndex_Cell::sent(nullptr), thisProxy[thisIndex]);
        next.get(SHORT, CkDeviceBuffer(own, cb), 0.5);
    }
    // Each array is sent once the one before has arrived at the same place.
    void go() {
        CProxyElement_Cell next = thisProxy[(thisIndex + 1) % CELLS];
        CkCallback cb(CkIndex_Cell::sent(nullptr), thisProxy[thisIndex]);
        switch (counted) {
        case 1: return next.two(BIG, CkDeviceBuffer(own, BIG, cb), CkDeviceBuffer(own));
        case 2: return next.stepped(BIG, CkDeviceBuffer(own, cb));
        }
    }
    void count() {
        ++counted;
        if (counted < 3)
            go();
        end();
    }
    int told = 0, halves = 0;
    void sent(CkDataMsg *m) {
        CkAssert(((CkDeviceBuffer *)m->getData())->ptr == own);
        delete m;
        ++told;
        end();
    }
    void end() {
        if (counted == 3 && told == 3 && halves == 1)
            contribute(CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
    void check(int n) { ::check(landing, n, before()); }

    void get(int &, int *&a, double &, CkDeviceBufferPost *post) {
        a = landing;
        post[0].cuda_stream = nullptr;
    }
    void get(int n, int *a, double value) {
        CkAssert(n == SHORT && a == landing && value == 0.5);
        check(n);
        count();
    }
    void two(int &, int *&a, int *&b, CkDeviceBufferPost *) {
        a = landing;
        b = second;
    }
    void two(int n, int *a, int *b) {
        CkAssert(a == landing && b == second);
        check(n);
        ::check(b, n, before());
        count();
    }
    // Only the first half.
    void half(int &n, int *&a, CkDeviceBufferPost *) {
        n = BIG / 2;
        a = allocated(n);
    }
    void half(int n, int *a) {
        CkAssert(n == BIG / 2);
        ::check(a, n, 3);
        ++halves;
        end();
    }
    void stepped(int &, int *&a, CkDeviceBufferPost *) { a = landing; }
};

class Mover : public CBase_Mover {
public:
    Mover() {}
    explicit Mover(CkMigrateMessage *) {}
    void move() { migrateMe((CkMyPe() + 1) % CkNumPes()); }
    void get(int &n, int *&a, CkDeviceBufferPost *) { a = allocated(n); }
    void get(int n, int *a) {
        check(a, n, 3);
        contribute(CkCallback(CkReductionTarget(Main, received), mainProxy));
    }
};

#include "devices.def.h"
