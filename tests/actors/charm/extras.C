#include <algorithm>
#include <cmath>
#include <vector>

#include "extras.decl.h"

class Note : public CMessage_Note {
public:
    int count;
    int *numbers;
};

CProxy_Main mainProxy;
static const int X = 3, Y = 5;

class Reversed : public CBase_Reversed {
    int width = 0;

public:
    Reversed() {}
    explicit Reversed(CkMigrateMessage *) {}
    int registerArray(const CkArrayIndex &extents, CkArrayID) {
        CkAssert(extents.getNumInts() == 2 && extents.data()[0] == X);
        width = extents.data()[1];
        return 7;
    }
    int procNum(int array, const CkArrayIndex &index) {
        CkAssert(array == 7 && width == Y);
        return place(index.data()[0], index.data()[1]);
    }
    static int place(int x, int y) { return CkNumPes() - 1 - (x * Y + y) % CkNumPes(); }
};

static int notes = 0, results = 0;

// Is told on rank 0, where the callback was made.
static void noted(void *parameter, void *message) {
    CkAssert(CkMyPe() == 0 && parameter == &notes);
    Note *note = static_cast<Note *>(message);
    CkAssert(note->count == 2 && note->numbers[1] == 10 * note->numbers[0]);
    CkAssert(CkGetRefNum(note) == 5);
    delete note;
    ++notes;
    mainProxy.noted(0);
}

// Most functions free what they are given as a void *.
static void freed(void *, void *message) {
    CkSetRefNum(message, 5);
    CkAssert(CkGetRefNum(static_cast<CkReductionMsg *>(message)) == 5);
    CkFreeMsg(message);
    mainProxy.noted(2);
}

static void result(void *parameter, int size, void *data) {
    CkAssert(parameter == &results && size == sizeof(int) && *static_cast<int *>(data) == X * Y);
    ++results;
    mainProxy.noted(1);
}

class Main : public CBase_Main {
    CProxy_Cell cells;
    CProxy_Some more;
    int parts = 0, seen = 0;
    std::vector<int> draws;

    void end() {
        // The draws, two of lines, two of some, statistics, tuple, two of the client, order, freed,
        // and the notes.
        if (++parts == 11 + X * Y) {
            CkAssert(notes == X * Y && results == 1);
            CkPrintf("ok\n");
            CkExit();
        }
    }

public:
    explicit Main(CkArgMsg *m) {
        CkFreeMsg(m);
        mainProxy = thisProxy;
        CkCallback(freed, nullptr).send(sizeof parts, &parts);
        CkArrayOptions options(X, Y);
        options.setMap(CProxy_Reversed::ckNew());
        cells = CProxy_Cell::ckNew(options);
        cells.statistics();
        cells.tuple();
        cells.draw();
        CkArrayOptions line;
        line.setMap(CProxy_RRMap::ckNew()).setNumInitial(8);
        CProxy_Line::ckNew(true, line);
        line.setMap(CProxy_BlockMap::ckNew());
        CProxy_Line::ckNew(false, line);
        // Arrays that begin with some of the elements that they can have.
        CkArrayOptions some(8);
        some.setBounds(20);
        CProxy_Some::ckNew(some).count(8);
        CkArrayOptions other;
        other.setBounds(100).setNumInitial(8);
        more = CProxy_Some::ckNew(other);
        more[50].insert();
        // The most urgent one comes first.
        for (int which : {3, 1, 2}) {
            CkEntryOptions urgency;
            urgency.setPriority(which);
            thisProxy.order(which, &urgency);
        }
    }
    void placed() { end(); }
    void inserted() { more.count(9); }
    void counted(int, int *sums) {
        CkAssert(sums[1] == sums[0] * sums[0]);
        end();
    }
    void order(int which) {
        CkAssert(which == ++seen);
        if (seen == 3)
            end();
    }
    void statistics(CkReductionMsg *m) {
        auto *all = static_cast<CkReduction::statisticsElement *>(m->getData());
        double mean = (X * Y - 1) / 2.0, squares = 0;
        for (int i = 0; i < X * Y; ++i)
            squares += (i - mean) * (i - mean);
        CkAssert(all->count == X * Y && std::fabs(all->mean - mean) < 1e-9);
        CkAssert(std::fabs(all->variance() - squares / (X * Y - 1)) < 1e-9);
        CkAssert(std::fabs(all->stddev() * all->stddev() - all->variance()) < 1e-9);
        delete m;
        end();
    }
    void tuple(CkReductionMsg *m) {
        CkReduction::tupleElement *values;
        int count;
        m->toTuple(&values, &count);
        CkAssert(count == 4);
        CkAssert(*(int *)values[0].data == X * Y * (X * Y - 1) / 2);
        CkAssert(((double *)values[1].data)[0] == X * Y - 1 && ((double *)values[1].data)[1] == 0);
        CkAssert(values[2].dataSize == X * Y && values[2].reducer == CkReduction::concat);
        int members = 0, sum = 0;
        for (auto *one = (CkReduction::setElement *)values[3].data; one; one = one->next()) {
            ++members;
            sum += *(int *)one->data;
        }
        CkAssert(members == X * Y && sum == X * Y * (X * Y - 1) / 2);
        delete[] values;
        delete m;
        CkCallback client(CkIndex_Main::client(nullptr), thisProxy);
        cells.ckSetReductionClient(&client);
        cells.toClient();
        end();
    }
    void client(CkReductionMsg *m) {
        CkAssert(*(int *)m->getData() == X * Y);
        delete m;
        cells.setReductionClient(result, &results);
        cells.toClient();
        CkCallback cb(::noted, &notes);
        cb.setRefNum(5);
        cells.note(cb);
        end();
    }
    void noted(int) { end(); }
    // All are the same once in a thousand million million runs.
    void drawn(CkReductionMsg *m) {
        draws.push_back(*(int *)m->getData());
        delete m;
        if (draws.size() < 14)
            return cells.draw();
        CkAssert(*std::min_element(draws.begin(), draws.end()) >= 0);
        CkAssert(*std::max_element(draws.begin(), draws.end()) < X * Y);
        CkAssert(std::count(draws.begin(), draws.end(), draws[0]) < 14);
        end();
    }
};

class Cell : public CBase_Cell {
    int number() { return thisIndex.x * Y + thisIndex.y; }

public:
    Cell() { CkAssert(CkMyPe() == Reversed::place(thisIndex.x, thisIndex.y)); }
    explicit Cell(CkMigrateMessage *) {}
    void statistics() {
        CkReduction::statisticsElement one(number());
        contribute(sizeof one, &one, CkReduction::statistics,
                   CkCallback(CkIndex_Main::statistics(nullptr), mainProxy));
    }
    void tuple() {
        int sum = number();
        double greatest[2] = {double(number()), -double(number())};
        char letter = 'a';
        CkReduction::tupleElement values[] = {
            CkReduction::tupleElement(sizeof sum, &sum, CkReduction::sum_int),
            CkReduction::tupleElement(sizeof greatest, greatest, CkReduction::max_double),
            CkReduction::tupleElement(1, &letter, CkReduction::concat),
            CkReduction::tupleElement(sizeof sum, &sum, CkReduction::set),
        };
        CkReductionMsg *message = CkReductionMsg::buildFromTuple(values, 4);
        message->setCallback(CkCallback(CkIndex_Main::tuple(nullptr), mainProxy));
        contribute(message);
    }
    void draw() {
        int mine = number();
        contribute(sizeof mine, &mine, CkReduction::random,
                   CkCallback(CkIndex_Main::drawn(nullptr), mainProxy));
    }
    void toClient() {
        int one = 1;
        if (thisIndex.x == 0)
            contribute(sizeof one, &one, CkReduction::sum_int);
        else
            contribute(sizeof one, &one, CkReduction::sum_int, CkCallback());
    }
    void note(CkCallback cb) {
        int count = 2;
        Note *note = new (&count, 0) Note();
        note->count = count;
        note->numbers[0] = number();
        note->numbers[1] = 10 * number();
        cb.send(note);
    }
};

class Some : public CBase_Some {
public:
    Some() {
        if (thisIndex == 50)
            mainProxy.inserted();
    }
    explicit Some(CkMigrateMessage *) {}
    void count(int expected) {
        int values[] = {1, expected};
        contribute(sizeof values, values, CkReduction::sum_int,
                   CkCallback(CkReductionTarget(Main, counted), mainProxy));
    }
};

class Line : public CBase_Line {
public:
    explicit Line(bool inTurn) {
        if (inTurn)
            CkAssert(CkMyPe() == thisIndex % CkNumPes());
        contribute(CkCallback(CkReductionTarget(Main, placed), mainProxy));
    }
    explicit Line(CkMigrateMessage *) {}
};

#include "extras.def.h"
