#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "ckmulticast.h"
#include "sections.decl.h"

static const int N = 10;
CProxy_Main mainProxy;
CProxy_Line line;
CkGroupID manager;

class Note : public CkMcastBaseMsg, public CMessage_Note {
public:
    int *values;
    int count;
    void pup(PUP::er &p) {
        CMessage_Note::pup(p);
        p | count;
    }
};

// Packs itself, and is made again by new alone.
class Packed : public CMessage_Packed {
public:
    int value = 0;
    static void *pack(Packed *m) {
        void *buffer = CkAllocBuffer(m, sizeof m->value);
        std::memcpy(buffer, &m->value, sizeof m->value);
        delete m;
        return buffer;
    }
    static Packed *unpack(void *buffer) {
        Packed *m = new Packed;
        std::memcpy(&m->value, buffer, sizeof m->value);
        CkFreeMsg(buffer);
        return m;
    }
};

static Packed *packed(int value) {
    Packed *m = new Packed;
    m->value = value;
    return m;
}

static int number_of(const void *message) {
    CkSectionInfo section;
    CkGetSectionInfo(section, message);
    return static_cast<int>(section.section.number);
}
static int number_of(const CProxySection &section) {
    return static_cast<int>(section.ckGetSectionInfo().section.number);
}

static Note *note(int value) {
    Note *m = new (2) Note;
    m->count = 2;
    m->values[0] = m->values[1] = value;
    return m;
}

static void result(void *parameter, int size, void *data) {
    CkAssert(size == sizeof(int));
    *static_cast<int *>(parameter) += *static_cast<int *>(data);
}

class Main : public CBase_Main {
    int sum = 0;

    // What has been summed up when no message is left.
    int total() {
        CkWaitQD();
        return std::exchange(sum, 0);
    }

    void lists() {
        std::vector<CkArrayIndex> odd;
        CkVec<CkArrayIndex1D> even;
        for (int i = 0; i < N; i += 2) {
            even.push_back(CkArrayIndex1D(i));
            odd.emplace_back(i + 1);
        }
        CProxySection_Line evens(line.ckGetArrayID(), even.getVec(), even.size(), 4);
        CProxySection_Line odds = CProxySection_Line::ckNew(line, odd);
        CkAssert(odds.ckGetNumElements() == 5 && odds.ckGetArrayID() == line.ckGetArrayID());
        evens.add(1);
        CkAssert(total() == 5 + 0 + 2 + 4 + 6 + 8);
        odds[4].add(1);
        CkAssert(total() == 1 + 9);
        // Members move while they are sent to.
        for (int i = 0; i < 4; ++i) {
            line.move();
            odds.note(note(i));
            CkAssert(total() == 5 * i + 25);
        }
        std::vector<int> values(100000, 3);
        odds.lent(static_cast<int>(values.size()), CkSendBuffer(values.data()));
        CkAssert(total() == 5 * 300000);
        CkCallback(CkIndex_Line::told(), odds).send();
        CkAssert(total() == 25);
        clients(odds);
        // On another rank, which makes the section again.
        line[N - 1].again(evens);
        CkAssert(total() == 5 * 7 + 20);
    }

    void clients(CProxySection_Line odds) {
        CkCallback client(CkReductionTarget(Main, summed), thisProxy);
        odds.setReductionClient(&client);
        odds.client(note(100));
        CkAssert(total() == 5 * 100 + 25);
        CkMulticastMgr *multicast = CProxy_CkMulticastMgr(manager).ckLocalBranch();
        odds.ckSectionDelegate(multicast);
        multicast->setReductionClient(odds, result, &sum);
        odds.client(note(1000));
        CkAssert(total() == 5 * 1000 + 25);
    }

    void ranges();
    void branches();

    void packed() {
        CProxySection_Line some = CProxySection_Line::ckNew(line, 0, N - 1, 3);
        some.packed(::packed(number_of(some)));
        CkAssert(total() == 0 + 3 + 6 + 9);
    }

    // Messages to two sections, whose members migrate while they wait for steps, and between steps.
    void stepped();

    void derived() {
        CProxy_Derived all = CProxy_Derived::ckNew(5);
        CProxySection_Derived some = CProxySection_Derived::ckNew(all, 1, 3, 1);
        some.add(10);
        CProxySection_Line as_base = some;
        as_base.add(20);
        some.more(3);
        CkAssert(total() == 3 * 30 + 2 * 6 + 3 * 3);
    }

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        manager = CProxy_CkMulticastMgr::ckNew();
        line = CProxy_Line::ckNew(N);
        thisProxy.run();
    }
    void run() {
        lists();
        ranges();
        branches();
        derived();
        packed();
        stepped();
        CkPrintf("ok\n");
        CkExit();
    }
    void summed(int value) { sum += value; }
    void pair(int n, int *sums) { sum += std::accumulate(sums, sums + n, 0); }
    void done(CkReductionMsg *m) {
        CkAssert(m->getSize() == 0);
        delete m;
        ++sum;
    }
};

class Line : public CBase_Line {
public:
    Line() {}
    explicit Line(CkMigrateMessage *) {}
    void move() { migrateMe((CkMyPe() + 1) % CkNumPes()); }
    void add(int value) { mainProxy.summed(value + thisIndex); }
    void note(Note *m) {
        CkAssert(m->count == 2 && m->values[1] == m->values[0]);
        int value = m->values[0] + thisIndex;
        CkSectionInfo section;
        CkGetSectionInfo(section, m);
        delete m;
        CProxySection_Line::contribute(sizeof value, &value, CkReduction::sum_int, section,
                                       CkCallback(CkReductionTarget(Main, summed), mainProxy));
    }
    void client(Note *m) {
        int value = m->values[0] + thisIndex;
        CkSectionInfo section;
        CkGetSectionInfo(section, m);
        CkFreeMsg(m);
        CkMulticastMgr *multicast = CProxy_CkMulticastMgr(manager).ckLocalBranch();
        multicast->contribute(sizeof value, &value, CkReduction::sum_int, section);
    }
    void again(CProxySection_Line section) {
        CkMulticastMgr *multicast = CProxy_CkMulticastMgr(manager).ckLocalBranch();
        multicast->resetSection(section);
        CkAssert(section.ckGetSectionInfo().get_pe() == CkMyPe());
        CkCallback client(CkReductionTarget(Main, summed), mainProxy);
        section.setReductionClient(&client);
        section.client(::note(7));
    }
    void lent(int n, const int *a) { mainProxy.summed(std::accumulate(a, a + n, 0)); }
    void told() { mainProxy.summed(thisIndex); }
    void packed(Packed *m) {
        // Gets the memory of what has arrived.
        void *other = CkAllocBuffer(m, sizeof m->value);
        CkAssert(number_of(m) == m->value);
        CkFreeMsg(other);
        Packed *copy = static_cast<Packed *>(CkCopyMsg((void **)&m));
        CkAssert(number_of(m) == m->value && number_of(copy) == m->value);
        delete m;
        delete copy;
        mainProxy.summed(thisIndex);
    }
};

class Derived : public CBase_Derived {
public:
    Derived() {}
    explicit Derived(CkMigrateMessage *m) : CBase_Derived(m) {}
    void more(int value) { mainProxy.summed(value); }
};

// Contributes its index.
template <class Section> void contribute_index(Note *m, std::vector<int> index) {
    CkSectionInfo section;
    CkGetSectionInfo(section, m);
    delete m;
    Section::contribute(index, CkReduction::sum_int, section,
                        CkCallback(CkReductionTarget(Main, pair), mainProxy));
    Section::contribute(section, CkCallback(CkIndex_Main::done(nullptr), mainProxy));
}

class Plane : public CBase_Plane {
public:
    Plane() {}
    explicit Plane(CkMigrateMessage *) {}
    void note(Note *m) {
        contribute_index<CProxySection_Plane>(m, {thisIndex.x, 100 * thisIndex.y});
    }
};

class Space : public CBase_Space {
public:
    Space() {}
    explicit Space(CkMigrateMessage *) {}
    void note(Note *m) {
        contribute_index<CProxySection_Space>(m, {thisIndex.x, thisIndex.y, thisIndex.z});
    }
};

class Branch : public CBase_Branch {
public:
    Branch() {}
    void note(Note *m) { contribute_index<CProxySection_Branch>(m, {thisIndex, 1000}); }
};

class Stepped : public CBase_Stepped {
    Stepped_SDAG_CODE

public:
    Stepped() {}
    explicit Stepped(CkMigrateMessage *) {}
    void move() { migrateMe((CkMyPe() + 1) % CkNumPes()); }
    void check(Packed *p, Note *n) {
        CkAssert(number_of(p) == p->value && number_of(n) == n->values[0]);
        CkAssert(*static_cast<int *>(CkPriorityPtr(n)) == 5);
    }
};

void Main::stepped() {
    CProxy_Stepped all = CProxy_Stepped::ckNew(4);
    CProxySection_Stepped first = CProxySection_Stepped::ckNew(all, 0, 3, 1), second = first;
    second = CProxySection_Stepped::ckNew(all, 0, 3, 1);
    CkAssert(number_of(first) != number_of(second));
    first.packed(::packed(number_of(first)));
    Note *late = ::note(number_of(second));
    *static_cast<int *>(CkPriorityPtr(late)) = 5;
    second.note(late);
    CkAssert(total() == 0);
    all.move();
    CkAssert(total() == 0);
    all.start();
    CkAssert(total() == 4);
}

void Main::ranges() {
    CProxySection_Line::ckNew(line, 1, N - 1, 4).add(0);
    CkAssert(total() == 1 + 5 + 9);
    CProxy_Plane plane = CProxy_Plane::ckNew(4, 3);
    CProxySection_Plane::ckNew(plane.ckGetArrayID(), 0, 3, 2, 1, 2, 1).note(::note(0));
    // x is 0 or 2, y 1 or 2.
    CkAssert(total() == 2 * 2 + 100 * (2 * 1 + 2 * 2) + 1);
    CProxy_Space space = CProxy_Space::ckNew(2, 2, 2);
    CProxySection_Space all = CProxySection_Space::ckNew(space, 0, 1, 1, 0, 1, 1, 1, 1, 1);
    CkAssert(all.ckGetNumElements() == 4);
    all.note(::note(0));
    CkAssert(total() == 2 + 2 + 4 + 1);
}

void Main::branches() {
    CProxy_Branch group = CProxy_Branch::ckNew();
    std::vector<int> ranks;
    for (int rank = 0; rank < CkNumPes(); rank += 2)
        ranks.push_back(rank);
    int count = static_cast<int>(ranks.size());
    CProxySection_Branch some(group.ckGetGroupID(), ranks.data(), count, 3);
    some.ckSectionDelegate(CProxy_CkMulticastMgr(manager).ckLocalBranch());
    some.note(::note(0));
    CkAssert(total() == count * (count - 1) + 1000 * count + 1);
    CkAssert(CProxySection_Branch::ckNew(group, ranks)[count - 1].ckGetGroupPe() == ranks.back());
}

#include "sections.def.h"
