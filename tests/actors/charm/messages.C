#include <cstring>
#include <vector>

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

// Packs itself.
class Vector : public CMessage_Vector {
public:
    std::vector<int> values;
    static void *pack(Vector *m) {
        int count = static_cast<int>(m->values.size());
        int bytes = static_cast<int>(sizeof(int)) * count;
        char *buffer = static_cast<char *>(CkAllocBuffer(m, static_cast<int>(sizeof count) + bytes));
        std::memcpy(buffer, &count, sizeof count);
        std::memcpy(buffer + sizeof count, m->values.data(), static_cast<std::size_t>(bytes));
        delete m;
        return buffer;
    }
    static Vector *unpack(void *buffer) {
        Vector *m = new (CkAllocBuffer(buffer, sizeof(Vector))) Vector;
        int count;
        std::memcpy(&count, buffer, sizeof count);
        m->values.resize(static_cast<std::size_t>(count));
        std::memcpy(m->values.data(), static_cast<char *>(buffer) + sizeof count,
                    sizeof(int) * static_cast<std::size_t>(count));
        CkFreeMsg(buffer);
        return m;
    }
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

static const unsigned MIDDLE = 0x80000000u;

// The message of this number, with a priority of two words.
static Plain *ranked(int number, unsigned first, unsigned second) {
    Plain *m = new (64) Plain;
    auto *priority = static_cast<unsigned *>(CkPriorityPtr(m));
    priority[0] = first;
    priority[1] = second;
    m->number = number;
    m->value = 0;
    CkSetRefNum(m, 10 + number);
    return m;
}

class Main : public CBase_Main {
    int seen = 0, order = 0, rankedSeen = 0;
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
        Vector *vector = new Vector;
        vector->values = {1, 2, 3};
        CkSetRefNum(vector, 40);
        thisProxy.vector(vector);
        CkVec<double> list;
        list.insert(2, 2.5);
        thisProxy.list(list);
        thisProxy.first();
        thisProxy.look(new (6) OneArray("hello"));
        CkEntryOptions urgent, late;
        urgent.setPriority(-5);
        late.setPriority(5);
        thisProxy.low(2, &late);
        thisProxy.low(1, &urgent);
        sendRanked();
    }
    // The most urgent one comes first.
    void sendRanked() {
        Arrays *last = new (2, 3, 64) Arrays;
        auto *priority = static_cast<unsigned *>(CkPriorityPtr(last));
        priority[0] = ~0u;
        priority[1] = 1;
        last->numbers[1] = 4;
        thisProxy.rankedLast(static_cast<Arrays *>(CkCopyMsg((void **)&last)));
        delete last;
        Plain *word = new (32) Plain;
        *static_cast<unsigned *>(CkPriorityPtr(word)) = ~0u;
        CkSetQueueing(word, CK_QUEUEING_BFIFO);
        CkSetRefNum(word, 13);
        word->number = 3;
        word->value = 0;
        thisProxy.ranked(word);
        thisProxy.ranked(::ranked(2, MIDDLE, 1));
        thisProxy.ranked(::ranked(1, MIDDLE, 0));
        thisProxy.ranked(::ranked(0, 1, 9));
    }
    void ranked(Plain *m) {
        CkAssert(m->number == rankedSeen && CkGetRefNum(m) == 10 + rankedSeen);
        ++rankedSeen;
        // It keeps its priority when it is sent on, and is the next one again.
        if (m->value == 1 || m->number == 0)
            return delete m;
        m->value = 1;
        --rankedSeen;
        thisProxy.ranked(m);
    }
    void rankedLast(Arrays *m) {
        CkAssert(rankedSeen == 4 && m->numbers[1] == 4);
        ++rankedSeen;
        delete m;
        end();
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
        Arrays *copy = static_cast<Arrays *>(CkCopyMsg((void **)&m));
        delete m;
        check(copy, 1000);
        delete copy;
        ++seen;
    }
    void plain(Plain *m) {
        CkAssert(m->number == 7 && CkGetRefNum(m) == 21);
        Plain *same = new Plain(*m);
        Plain *copy = static_cast<Plain *>(CkCopyMsg((void **)&same));
        CkAssert(copy->number == 7);
        delete m;
        delete same;
        delete copy;
        ++seen;
    }
    void vector(Vector *m) {
        CkAssert(m->values.size() == 3 && m->values[2] == 3 && CkGetRefNum(m) == 40);
        delete m;
        ++seen;
    }
    void list(const CkVec<double> &list) {
        CkVec<double> mine = list;
        CkAssert(mine.length() == 3 && mine.insertAtEnd(4) == 3 && mine[2] == 2.5);
        mine.remove(0);
        mine.insert(0, 1.5);
        CkAssert(mine.size() == 3 && mine.getVec()[0] == 1.5 && mine[1] == 2.5);
        mine.removeAll();
        CkAssert(mine.length() == 0);
        ++seen;
    }
    void ask() {
        Vector *vector = new Vector;
        vector->values = {4, 5};
        CkAssert(branches[CkNumPes() - 1].sum(vector) == 9);
        branches.check(4);
    }
    void look(OneArray *m) {
        CkAssert(std::strcmp(m->text, "hello") == 0);
        ++seen;
    }
    void next() {
        CkAssert(seen == 5);
        Plain *plain = new Plain;
        plain->value = 2.5;
        workers = CProxy_Worker::ckNew(plain, 8);
        branches = CProxy_Branch::ckNew(new (20) OneArray("branch"));
        workers.look(make(5));
        workers.get(make(17));
        thisProxy.ask();
    }
    void finished(CkReductionMsg *m) {
        int sum;
        CkAssert(m->getSize() == sizeof sum);
        std::memcpy(&sum, m->getData(), sizeof sum);
        CkAssert(m->data[0] == reinterpret_cast<char *>(&sum)[0]);
        delete m;
        ++seen;
        CkAssert(sum == (seen == 6 || seen == 7 ? sum : -1));
        end();
    }
    void end() {
        if (seen == 7 && rankedSeen == 5) {
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
    int sum(Vector *m) {
        int sum = m->values[0] + m->values[1];
        delete m;
        return sum;
    }
    void check(int number) {
        CkAssert(number == 4 && std::strcmp(text, "branch") == 0);
        contribute(sizeof number, &number, CkReduction::max_int,
                   CkCallback(CkIndex_Main::finished(nullptr), mainProxy));
    }
};

#include "messages.def.h"
