#include <utility>
#include <vector>

#include "TopoManager.h"
#include "rare.decl.h"

CProxy_Main mainProxy;

class Note : public CMessage_Note {
public:
    int count;
    double *values;
};

class Main : public CBase_Main {
    int sum = 0;

    // The number of elements that have been counted when no message is left.
    int counted() {
        CkWaitQD();
        return std::exchange(sum, 0);
    }

    // Ranks are a grid of all of them, with the distances of a grid.
    void topology() {
        TopoManager ranks;
        CkAssert(ranks.getDimNX() * ranks.getDimNY() * ranks.getDimNZ() == CkNumPes());
        CkAssert(ranks.getDimNT() == 1 && !ranks.hasMultipleProcsPerNode());
        for (int rank = 0; rank < CkNumPes(); ++rank) {
            int x, y, z, t;
            ranks.rankToCoordinates(rank, x, y, z, t);
            CkAssert(x < ranks.getDimNX() && y < ranks.getDimNY() && z < ranks.getDimNZ());
            CkAssert(t == 0 && ranks.coordinatesToRank(x, y, z, t) == rank);
            CkAssert(ranks.getHopsBetweenRanks(0, rank) == x + y + z);
        }
        TopoManager grid(3, 2, 2, 2);
        int x, y, z, list[] = {23, 1, 6}, order[3];
        grid.rankToCoordinates(23, x, y, z);
        CkAssert(x == 5 && y == 1 && z == 1 && grid.coordinatesToRank(x, y, z) == 23);
        grid.sortRanksByHops(0, list, order, 3);
        CkAssert(order[0] == 1 && order[1] == 2 && order[2] == 0);
        CkAssert(grid.pickClosestRank(22, list, 3) == 0 && grid.areNeighbors(0, 4, 2, 2));
    }

    // Index types of templates and namespaces, and objects as subscripts.
    void indexes();

    // Which elements an array begins with, and where.
    void options();

    // Messages whose type the receiver does not know, and those that are packed and copied.
    void messages() {
        CProxy_Stepped stepped = CProxy_Stepped::ckNew();
        CkCallback any(CkIndex_Stepped::any(nullptr), stepped);
        double value = 1;
        any.setRefNum(2).send();
        any.setRefNum(1).send(sizeof value, &value);
        Note *note = new (2, 64) Note;
        note->count = 2;
        note->values[1] = 7;
        CkSetRefNum(note, 0);
        Note *copy = static_cast<Note *>(CkCopyMsg((void **)&note)), *none = nullptr;
        stepped.any(note);
        stepped.anything();
        CkAssert(counted() == 3);
        std::vector<char> bytes(1000);
        PUP::toMem into(bytes.data(), bytes.size());
        CkSetRefNum(copy, 9);
        static_cast<unsigned *>(CkPriorityPtr(copy))[1] = 5;
        CkPupMessage(into, (void **)&copy);
        CkPupMessage(into, (void **)&none);
        CkAssert(copy->values[1] == 7);
        CkFreeMsg(copy);
        PUP::fromMem from(bytes.data(), bytes.size());
        CkPupMessage(from, (void **)&copy);
        CkPupMessage(from, (void **)&none);
        CkAssert(copy->count == 2 && copy->values[1] == 7 && CkGetRefNum(copy) == 9);
        CkAssert(static_cast<unsigned *>(CkPriorityPtr(copy))[1] == 5 && none == nullptr);
        delete copy;
    }

    // A result that a method has as a message of any class.
    void results();

    // Others run first.
    void threads() {
        thisProxy.counted(1);
        CthYield();
        CkAssert(sum == 1 && counted() == 1);
    }

    // Methods and steps of one branch of a condition.
    void branches() {
        CProxy_Stepped stepped = CProxy_Stepped::ckNew();
        stepped.steps();
        stepped.last();
        stepped.ready(3);
        CkAssert(counted() == 13);
    }

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        thisProxy.run();
    }
    void run() {
        topology();
        indexes();
        branches();
        threads();
        options();
        messages();
        results();
        CkPrintf("ok\n");
        CkExit();
    }
    void counted(int elements) { sum += elements; }
};

class Templated : public CBase_Templated {
public:
    Templated() {}
    explicit Templated(CkMigrateMessage *) {}
    void count(int first) { mainProxy.counted(thisIndex.at[0] == first && thisIndex.at[1] == 7); }
};

class Qualified : public CBase_Qualified {
public:
    Qualified() {}
    explicit Qualified(CkMigrateMessage *) {}
    void count(int number) { mainProxy.counted(thisIndex.number == number); }
};

class Line : public CBase_Line {
public:
    Line() {}
    explicit Line(CkMigrateMessage *) {}
    void count(int at) { mainProxy.counted(thisIndex == at); }
};

class Box : public CBase_Box {
public:
    Box() { mainProxy.counted(1 + 10 * thisIndex.x + 100 * thisIndex.y + 1000 * thisIndex.z); }
    explicit Box(CkMigrateMessage *) {}
};

// Its partners begin in turn on the ranks, and it where they do.
class Placed : public CBase_Placed {
public:
    explicit Placed(bool) {
        CkAssert(CkMyPe() == thisIndex % CkNumPes());
        mainProxy.counted(1);
    }
    explicit Placed(CkMigrateMessage *) {}
};

// Counts a result, which is 2.5.
static void count(CkMessage *m) {
    CkReductionMsg *result = static_cast<CkReductionMsg *>(m);
    CkAssert(result->getSize() == sizeof(double));
    mainProxy.counted(*reinterpret_cast<double *>(result->getData()) == 2.5);
    delete m;
}

static void told(void *message) { count(static_cast<CkReductionMsg *>(message)); }

class Passing : public CBase_Passing {
    Passing_SDAG_CODE

public:
    Passing() {}
    explicit Passing(CkMigrateMessage *) {}
    void count(CkMessage *m) { ::count(m); }
    void first(CkMessage *m) {
        CkMessage *copy = static_cast<CkMessage *>(CkCopyMsg((void **)&m));
        thisProxy[thisIndex].any(copy);
        copy = static_cast<CkMessage *>(CkCopyMsg((void **)&m));
        CkCallback(CkIndex_Passing::result(nullptr), thisProxy[thisIndex]).send(copy);
        CkCallback(told).send(m);
    }
    void result(CkReductionMsg *m) { count(m); }
};

void Main::results() {
    CProxy_Passing passing = CProxy_Passing::ckNew(1);
    passing.steps();
    const double value = 2.5;
    CkCallback(CkIndex_Passing::first(nullptr), passing[0]).send(sizeof value, &value);
    CkAssert(counted() == 3);
}

class Stepped : public CBase_Stepped {
    Stepped_SDAG_CODE
    int order = 0;

public:
    Stepped() {}
};

void Main::indexes() {
    CProxy_Templated templated = CProxy_Templated::ckNew();
    CProxy_Qualified qualified = CProxy_Qualified::ckNew();
    for (int i = 0; i < 3; ++i) {
        templated[Pair<2>{{i, 7}}].insert();
        qualified(inner::Named{i}).insert();
    }
    templated.doneInserting();
    qualified.doneInserting();
    CProxy_Line line = CProxy_Line::ckNew(3);
    for (int i = 0; i < 3; ++i) {
        templated[Pair<2>{{i, 7}}].count(i);
        qualified[inner::Named{i}].count(i);
        line[CkArrayIndex1D(i)].count(i);
        line(CkArrayIndex(i)).count(i);
        std::size_t number = static_cast<std::size_t>(i);
        line[number].count(i);
    }
    CkAssert(counted() == 15);
}

void Main::options() {
    CkArrayOptions some;
    some.setNumInitial(1, 2, 3);
    CkAssert(some.getNumInitial().data()[2] == 3);
    CProxy_Box::ckNew(some);
    CkAssert(counted() == 6 + 100 * 3 + 1000 * 2 * (1 + 2));
    some.setBounds(5, 4, 3).setNumInitial(2, 1, 1);
    CProxy_Box::ckNew(some);
    CkAssert(counted() == 2 + 10);
    CkArrayOptions range;
    range.setStart(CkArrayIndex3D(1, 0, 0)).setEnd(CkArrayIndex3D(6, 2, 1));
    range.setStep(CkArrayIndex3D(3, 1, 1));
    CProxy_Box::ckNew(range);
    // x is 1 or 4, y 0 or 1.
    CkAssert(counted() == 4 + 10 * 2 * (1 + 4) + 100 * 2);
    CkArrayOptions half(10);
    half.setStep(CkArrayIndex1D(3));
    CkAssert(half.getNumInitial().data()[0] == 4);
    CkArrayOptions in_turn(8);
    in_turn.setMap(CProxy_RRMap::ckNew());
    CProxy_Placed first = CProxy_Placed::ckNew(false, in_turn);
    CkArrayOptions bound(8);
    bound.bindTo(first);
    CProxy_Placed::ckNew(true, bound);
    CkAssert(counted() == 16);
}

#include "rare.def.h"
