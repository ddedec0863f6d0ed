#include "kinds.h"
#include "kinds.decl.h"
#include "shapes.decl.h"

CProxy_Main mainProxy;
int always;
static int initialised;
static CkReduction::reducerType longestType;
namespace inner {
std::vector<int> numbers;
}

static CkReductionMsg *longer(int count, CkReductionMsg **messages) {
    CkReductionMsg *best = messages[0];
    for (int i = 1; i < count; ++i)
        if (messages[i]->getSize() > best->getSize())
            best = messages[i];
    return CkReductionMsg::buildNew(best->getSize(), best->getData());
}
void registerReducer() {
    longestType = CkReduction::addReducer(longer);
    _registershapes();
}
void countShapes() { ++initialised; }
void countInitialised() { ++initialised; }

static CkCallback toPart() { return CkCallback(CkReductionTarget(Main, part), mainProxy); }

class Note : public CMessage_Note {
public:
    int *numbers;
};

class Main : public CBase_Main {
    int part_number = 0, gone_count = 0;
    CProxy_Own own;
    CProxy_Kept owned, kept;

public:
    Main() {
        CkAssert(initialised == 2);
        mainProxy = thisProxy;
        CmiUInt8 five = CmiTrue ? 5 : 0;
        always = static_cast<int>(five);
        inner::numbers = {1, 2, 3};
        part(0);
    }
    // The parts run one after the other: each gives the sum that is expected of it.
    void part(int sum) {
        static const int expected[] = {0, 12, 8, 8, 8, 8, 30, 50, 5, -1, -1, -1, 9, 0};
        if (expected[part_number] >= 0)
            CkAssert(sum == expected[part_number]);
        switch (part_number++) {
        case 0: {
            CProxy_Two two = CProxy_Two::ckNew(1, 2, 3);
            two.add(1);
            break;
        }
        case 1:
            CProxy_Three::ckNew(2, 2, 2).add();
            break;
        case 2:
            CProxy_Four::ckNew(1, 2, 2, 2).add();
            break;
        case 3:
            CProxy_Five::ckNew(CkArrayOptions(1, 1, 2, 2, 2)).add();
            break;
        case 4:
            CProxy_Six::ckNew(1, 1, 1, 2, 2, 2).add();
            break;
        case 5: {
            own = CProxy_Own::ckNew();
            for (short i = 0; i < 3; ++i)
                own(CkArrayIndexNamed(i, 7, i * 10)).insert(i * 10);
            own.doneInserting();
            own.add();
            break;
        }
        case 6: {
            for (short i = 0; i < 3; ++i)
                own[CkArrayIndexNamed(i, 7, i * 10)].end();
            CProxy_Base plain = CProxy_Base::ckNew(2);
            CProxy_Derived derived = CProxy_Derived::ckNew(25, 2);
            CProxy_Base as_base = derived;
            plain[0].who();
            as_base.who();
            derived.more();
            break;
        }
        case 7: {
            CProxy_Generic<double, 2> one = CProxy_Generic<double, 2>::ckNew(1);
            CProxy_Generic<int, 3> other = CProxy_Generic<int, 3>::ckNew(1);
            double d[2] = {0.5, 1};
            int i[3] = {1, 2, 3};
            one.add(1.5, 2, d);
            other[0].add(4, 3, i);
            one.more(1.5);
            other.more(4);
            break;
        }
        case 8:
            CProxy_Nodes::ckNew();
            break;
        case 9: {
            CProxy_Shapes shapes = CProxy_Shapes::ckNew(4);
            shapes[CkNumPes() - 1].count(CkCallback(CkIndex_Main::set(nullptr), thisProxy), {{4, "four"}});
            break;
        }
        case 10: {
            inner::CProxy_Grouped grouped = inner::CProxy_Grouped::ckNew();
            CkAssert(grouped.ckLocalBranch() != nullptr);
            grouped.add();
            break;
        }
        case 11:
            CProxy_Single::ckNew(toPart(), 9).forward();
            break;
        case 12:
            owned = CProxy_Kept::ckNew(true, 0);
            kept = CProxy_Kept::ckNew(false, 0);
            CkStartQD(CkCallback(CkIndex_Main::quiet(nullptr), thisProxy));
            break;
        }
    }
    void longest(int n, int *values) {
        CkAssert(n == 3 && values[2] == 2);
        int five = 5;
        CkCallback(CkReductionTarget(Main, part), thisProxy).send(sizeof five, &five);
    }
    void set(CkReductionMsg *m) {
        int sum = 0;
        auto *element = m->getSize() > 4 ? (CkReduction::setElement *)m->getData() : nullptr;
        if (element == nullptr)
            CkAssert(*(int *)m->getData() == 4);
        for (; element != nullptr; element = element->next()) {
            CkAssert(element->dataSize == sizeof(int));
            sum += *(int *)element->data;
        }
        CkAssert(sum == 0 || sum == CkNumPes());
        delete m;
        part(-1);
    }
    void quiet(CkQdMsg *m);
    void called(Note *m) {
        CkAssert(m->numbers == nullptr);
        delete m;
        ckout << "ok" << endl;
        CkExit();
    }
};

// Ends as the program deletes it, in the destructor of its owner or in a method of another chare.
class Kept : public CBase_Kept {
public:
    static inline int ended = 0;
    explicit Kept(bool is_owned) {
        if (is_owned)
            CProxy_Owner::ckNew(thisProxy, 1)[0].ckDestroy();
    }
    ~Kept() { ++ended; }
};
class Owner : public CBase_Owner {
    CProxy_Kept kept;

public:
    explicit Owner(CProxy_Kept kept) : kept(kept) {}
    explicit Owner(CkMigrateMessage *) {}
    ~Owner() {
        if (kept.ckLocal() != nullptr)
            delete kept.ckLocal();
    }
};

void Main::quiet(CkQdMsg *m) {
    delete m;
    CkAssert(owned.ckLocal() == nullptr && Kept::ended == 1);
    CkAssert(kept.ckLocal() != nullptr);
    delete kept.ckLocal();
    CkAssert(kept.ckLocal() == nullptr && Kept::ended == 2);
    CkCallback(CkIndex_Main::called(nullptr), thisProxy).send();
}

#define ADDER(type, count)                                                                         \
    class type : public CBase_##type {                                                             \
    public:                                                                                        \
        type() {}                                                                                  \
        explicit type(CkMigrateMessage *) {}                                                       \
        void add() {                                                                               \
            const int coordinates = sizeof thisIndex / (count > 3 ? sizeof(short) : sizeof(int));  \
            CkAssert(coordinates == count && thisIndexMax.getNumInts() == count);                  \
            CkAssert(thisProxy[thisIndex].ckLocal() == this);                                      \
            int one = 1;                                                                           \
            contribute(sizeof one, &one, CkReduction::sum_int, toPart());                          \
        }                                                                                          \
    };
ADDER(Three, 3)
ADDER(Four, 4)
ADDER(Five, 5)
ADDER(Six, 6)

class Two : public CBase_Two {
    int offset;

public:
    explicit Two(int offset) : offset(offset) {}
    explicit Two(CkMigrateMessage *) {}
    void add(int x) {
        CkAssert(thisProxy(thisIndex.x, thisIndex.y).ckLocal() == this);
        int value = offset + x + thisIndex.x * thisIndex.y - (thisIndex.x + thisIndex.y - 1) / 2;
        value = 2;
        contribute(sizeof value, &value, CkReduction::sum_int, toPart());
    }
};
class Own : public CBase_Own {
    int value;

public:
    explicit Own(int value) : value(value) {}
    explicit Own(CkMigrateMessage *) {}
    ~Own() { value = -1; }
    void add() {
        CkAssert(thisIndex.number == 7 && thisIndex.row == value);
        contribute(sizeof value, &value, CkReduction::sum_int, toPart());
    }
    void end() { thisProxy[CkArrayIndexNamed(thisIndex)].ckDestroy(); }
};

class Base : public CBase_Base {
public:
    Base() {}
    explicit Base(CkMigrateMessage *) {}
    virtual int name() { return 1; }
    virtual void who() {
        int x = 4;
        thisProxy[thisIndex].direct(x);
        CkAssert(thisProxy[thisIndex].twice(x) == 2 * x);
        double half = 3;
        thisProxy[thisIndex].halve(&half);
        CkAssert(half == 1.5);
        CkAssert(name() == (isDerived() ? 2 : 1));
    }
    virtual bool isDerived() { return false; }
    void direct(int &x) { x += 1; }
    int twice(int x) { return 2 * x; }
    void halve(double *x) { *x /= 2; }
};
class Derived : public CBase_Derived {
    int value;

public:
    explicit Derived(int value) : value(value) {}
    explicit Derived(CkMigrateMessage *m) : CBase_Derived(m) {}
    int name() override { return 2; }
    bool isDerived() override { return true; }
    void more() {
        CkAssert(thisProxy[thisIndex].ckLocal() == this);
        contribute(sizeof value, &value, CkReduction::sum_int, toPart());
    }
};

class Second : public CBase_Second {
public:
    Second() {}
    explicit Second(CkMigrateMessage *) {}
    virtual void second() {}
};
class Both : public CBase_Both {
public:
    Both() {}
    explicit Both(CkMigrateMessage *m) : CBase_Both(m) {}
    void ckJustMigrated() override {}
};

#define CK_TEMPLATES_ONLY
#include "kinds.def.h"
#undef CK_TEMPLATES_ONLY

template <class T, int N> class Generic : public CBase_Generic<T, N> {
    Generic_SDAG_CODE

public:
    Generic() {}
    explicit Generic(CkMigrateMessage *) {}
    void sum(int n, T *values) {
        CkAssert(n == N && values[0] + values[1] > 1);
        if (N == 2) {
            int data[3] = {0, 1, 2};
            this->contribute(sizeof data, data, longestType,
                             CkCallback(CkReductionTarget(Main, longest), mainProxy));
        }
    }
};

class Nodes : public CBase_Nodes {
public:
    Nodes() {
        CkAssert(always == 5 && inner::numbers.size() == 3);
        if (CkMyNode() != 0)
            return;
        Shape shape;
        shape.sides = 2;
        shape.lengths = {1, 2};
        Square square(2);
        thisProxy.add(shape, &square);
    }
    void add(const Shape &shape, CkPointer<Figure> figure) {
        Figure *mine = figure;
        CkAssert(shape.sides == 2 && shape.lengths[1] == 2 && mine->area() == 4);
        delete mine;
        int one = 1;
        contribute(sizeof one, &one, CkReduction::set,
                   CkCallback(CkIndex_Main::set(nullptr), mainProxy));
    }
};

class Shapes : public CBase_Shapes {
    int sides;

public:
    explicit Shapes(int sides) : sides(sides) {}
    void count(CkCallback result, const std::vector<std::pair<int, std::string>> &names) {
        CkAssert(names[0].first == sides && names[0].second == "four");
        result.send(CkDataMsg::buildNew(sizeof sides, &sides));
    }
};
#include "shapes.def.h"

class Moving : public CBase_Moving {
public:
    Moving() {}
    explicit Moving(CkMigrateMessage *) {}
};

class Single : public CBase_Single {
    CkCallback done;
    int hops;

public:
    Single(CkCallback done, int hops) : done(done), hops(hops) {}
    void forward(int count) {
        CkAssert(thisProxy.ckLocal() == this);
        if (count == 0)
            done.send(sizeof hops, &hops);
        else
            CProxy_Single::ckNew(done, hops, count % CkNumPes()).forward(count - 1);
        delete this;
    }
};

namespace inner {
class Grouped : public CBase_Grouped {
public:
    Grouped() {}
    void add() {
        int sum = numbers[0] + numbers[2];
        CkAssert(thisProxy[thisIndex].ckLocal() == this);
        contribute(sizeof sum, &sum, CkReduction::max_int, toPart());
    }
};
} // namespace inner

#include "kinds.def.h"
