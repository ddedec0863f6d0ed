#include <cstring>

#include "messages.decl.h"

class Plain : public CMessage_Plain {
public:
    int number;
    double value;
};
class Arrays : public CMessage_Arrays {
public:
    int count;
    int *numbers;
    double *values;
};
class OneArray : public CMessage_OneArray {
public:
    explicit OneArray(const char *from) { std::strcpy(text, from); }
    char *text;
};

Arrays *shared;
CProxy_Main mainProxy;
int table[2][3];

static Arrays *make(int count) {
    Arrays *m = new (count, count + 1) Arrays;
    m->count = count;
    for (int i = 0; i < count; ++i)
        m->numbers[i] = i;
    for (int i = 0; i <= count; ++i)
        m->values[i] = i / 2.0;
    return m;
}
static void check(const Arrays *m, int count) {
    CkAssert(m->count == count);
    for (int i = 0; i < count; ++i)
        CkAssert(m->numbers[i] == i && m->values[i + 1] == (i + 1) / 2.0);
}

class Main : public CBase_Main {
    int seen = 0, order = 0;
    bool was_first = false;
    CProxy_Worker workers;
    CProxy_Branch branches;

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        shared = make(3);
        table[1][2] = 12;
        thisProxy.arrays(make(1000));
        Plain *plain = new Plain;
        plain->number = 7;
        CkSetRefNum(plain, 21);
        thisProxy.plain(plain);
        thisProxy.first();
        thisProxy.look(new (6) OneArray("hello"));
        CkEntryOptions urgent, late;
        urgent.setPriority(-5);
        late.setPriority(5);
        thisProxy.low(2, &late);
        thisProxy.low(1, &urgent);
    }
    void first() { was_first = true; }
    void low(int number) {
        ++order;
        // A message that waits for two arrays of a reduction comes later.
        CkAssert(number == 1 || number == 2);
        CkAssert(CkNumPes() > 1 || order == number);
        if (order == 2)
            next();
    }
    void arrays(Arrays *m) {
        CkAssert(was_first);
        check(m, 1000);
        Arrays *copy = static_cast<Arrays *>(ckCopyMsg(m));
        delete m;
        check(copy, 1000);
        delete copy;
        ++seen;
    }
    void plain(Plain *m) {
        CkAssert(m->number == 7 && CkGetRefNum(m) == 21);
        delete m;
        ++seen;
    }
    void look(OneArray *m) {
        CkAssert(std::strcmp(m->text, "hello") == 0);
        ++seen;
    }
    void next() {
        CkAssert(seen == 3);
        Plain *plain = new Plain;
        plain->value = 2.5;
        workers = CProxy_Worker::ckNew(plain, 8);
        branches = CProxy_Branch::ckNew(new (20) OneArray("branch"));
        workers.look(make(5));
        workers.get(make(17));
        branches.check(4);
    }
    void finished(CkReductionMsg *m) {
        int sum;
        CkAssert(m->getSize() == sizeof sum);
        std::memcpy(&sum, m->getData(), sizeof sum);
        delete m;
        ++seen;
        CkAssert(sum == (seen == 4 || seen == 5 ? sum : -1));
        if (seen == 5) {
            CkPrintf("ok\n");
            CkExit();
        }
    }
};

class Worker : public CBase_Worker {
    double value;
    bool has_looked = false;

public:
    explicit Worker(Plain *m) : value(m->value) { delete m; }
    explicit Worker(CkMigrateMessage *) {}
    void look(Arrays *m) {
        check(m, 5);
        has_looked = true;
    }
    void get(Arrays *m) {
        CkAssert(has_looked);
        CkAssert(value == 2.5 && table[1][2] == 12);
        check(m, 17);
        check(shared, 3);
        delete m;
        int one = 1;
        contribute(sizeof one, &one, CkReduction::sum_int,
                   CkCallback(CkIndex_Main::finished(nullptr), mainProxy));
    }
};

class Branch : public CBase_Branch {
    char text[20];

public:
    explicit Branch(OneArray *m) {
        std::strcpy(text, m->text);
        delete m;
    }
    void check(int number) {
        CkAssert(number == 4 && std::strcmp(text, "branch") == 0);
        contribute(sizeof number, &number, CkReduction::max_int,
                   CkCallback(CkIndex_Main::finished(nullptr), mainProxy));
    }
};

#include "messages.def.h"
