#include <string>
#include <vector>

enum Order { sixth = 6 };

#include "steps.decl.h"

class Note : public CMessage_Note {
public:
    int value;
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
    void send() {
        double values[] = {0, double(round)};
        thisProxy[(thisIndex + 1) % 6].token(round, 2, values);
    }
};

#include "steps.def.h"
