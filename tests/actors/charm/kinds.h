#ifndef KINDS_H
#define KINDS_H
#include "pup.h"
#include "pup_stl.h"
#include <charm++.h>

struct Shape {
    int sides = 0;
    std::vector<double> lengths;
    void pup(PUP::er &p) {
        p | sides;
        p | lengths;
    }
};

class Figure : public PUP::able {
public:
    Figure() = default;
    explicit Figure(CkMigrateMessage *m) : PUP::able(m) {}
    virtual double area() const = 0;
    PUPable_abstract(Figure);
};
class Circle : public Figure {
public:
    explicit Circle(double r) : r(r) {}
    explicit Circle(CkMigrateMessage *m) : Figure(m) {}
    double area() const override { return 3 * r * r; }
    void pup(PUP::er &p) override {
        Figure::pup(p);
        p | r;
    }
    double r = 0;
    PUPable_decl(Circle);
};
class Square : public Figure {
public:
    explicit Square(double a) : a(a) {}
    explicit Square(CkMigrateMessage *m) : Figure(m) {}
    double area() const override { return a * a; }
    void pup(PUP::er &p) override { p | a; }
    double a = 0;
    PUPable_decl(Square);
};

struct Named {
    short kind, number;
    int row;
};
class CkArrayIndexNamed : public CkArrayIndex {
public:
    CkArrayIndexNamed(short kind, short number, int row) : CkArrayIndexNamed(Named{kind, number, row}) {}
    CkArrayIndexNamed(const Named &named) {
        nInts = sizeof(named) / sizeof(int);
        new (index) Named(named);
    }
};
#endif
