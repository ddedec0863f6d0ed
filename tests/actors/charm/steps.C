#include <algorithm>
#include <string>
#include <vector>

enum Order { sixth = 6 };

#include "steps.decl.h"

class Note : public CMessage_Note {
public:
    int value;
};

// Packs itself.
class List : public CMessage_List {
public:
    std::vector<int> values;
    static void *pack(List *m) {
        int count = static_cast<int>(m->values.size());
        int bytes = static_cast<int>(sizeof count * (1 + m->values.size()));
        auto *buffer = static_cast<int *>(CkAllocBuffer(m, bytes));
        buffer[0] = count;
        std::copy(m->values.begin(), m->values.end(), buffer + 1);
        delete m;
        return buffer;
    }
    static List *unpack(void *buffer) {
        List *m = new (CkAllocBuffer(buffer, sizeof(List))) List;
        int *all = static_cast<int *>(buffer);
        m->values.assign(all + 1, all + 1 + all[0]);
        CkFreeMsg(buffer);
        return m;
    }
};

CProxy_Main mainProxy;

class Main : public CBase_Main {
    Main_SDAG_CODE

    std::string log;
    int i = 0, sum = 0, goes = 0;
    bool running = true;
    CProxy_Cell cells;

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        thisProxy.run();
        one(3);
    }
};

class Short : public CBase_Short {
    Short_SDAG_CODE

    CProxy_Main main;

public:
    explicit Short(CProxy_Main main) : main(main) {}
};

class Cell : public CBase_Cell {
    Cell_SDAG_CODE

    int round = 0, hops = 0;
    bool was_told = false;
    double kept = -1;

public:
    Cell() { usesAtSync = true; }
    explicit Cell(CkMigrateMessage *) {}
    void pup(PUP::er &p) {
        p | round;
        p | hops;
        p | kept;
        p | was_told;
    }
    void ckAboutToMigrate() override { was_told = true; }
    void ckJustMigrated() override {
        CkAssert(was_told && thisIndex < 6);
        was_told = false;
        thisProxy[thisIndex].moved();
    }
    void sendNotes() {
        Note *note = new Note;
        note->value = 7;
        CkSetRefNum(note, 7);
        thisProxy[thisIndex].note(note);
        List *list = new List;
        list->values = {1, 2, 8};
        CkSetRefNum(list, 8);
        thisProxy[thisIndex].list(list);
    }
    void hop() {
        migrateMe((CkMyPe() + 1) % CkNumPes());
        if (CkNumPes() == 1)
            thisProxy[thisIndex].moved();
    }
    void send() {
        double values[] = {0, double(round)};
        thisProxy[(thisIndex + 1) % 6].token(round, 2, values);
    }
};

#include "steps.def.h"
