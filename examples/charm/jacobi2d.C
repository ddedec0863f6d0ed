// Jacobi iterations on a square that is divided into blocks, which exchange their borders. The
// result is compared with that of one loop over the whole square.
//
//     towpath-charmc jacobi2d.ci && towpath-charmc -O2 -o jacobi2d jacobi2d.C
//     towpath-charmrun +p2 ./jacobi2d 4 16 50        blocks in each direction, width, iterations
#include <cmath>
#include <vector>

#include "jacobi2d.decl.h"

CProxy_Main mainProxy;
int blocks, width;

// A square of cells with a border of one cell around it.
struct Square {
    int n = 0;
    std::vector<double> cells;

    explicit Square(int n = 0) : n(n), cells(std::size_t(n + 2) * (n + 2)) {}
    double &at(int row, int column) { return cells[std::size_t(row) * (n + 2) + column]; }
    void pup(PUP::er &p) {
        p | n;
        p | cells;
    }

    Square next() {
        Square result = *this;
        for (int row = 1; row <= n; ++row)
            for (int column = 1; column <= n; ++column)
                result.at(row, column) = (at(row - 1, column) + at(row + 1, column) +
                                          at(row, column - 1) + at(row, column + 1)) / 4;
        return result;
    }
    double sum() {
        double sum = 0;
        for (int row = 1; row <= n; ++row)
            for (int column = 1; column <= n; ++column)
                sum += at(row, column);
        return sum;
    }
};

// The edge above the whole square is hot.
static double hot(int column) { return 1 + column % 3; }

class Main : public CBase_Main {
    int iterations;
    double started;

public:
    explicit Main(CkArgMsg *m) {
        blocks = m->argc > 1 ? atoi(m->argv[1]) : 4;
        width = m->argc > 2 ? atoi(m->argv[2]) : 16;
        iterations = m->argc > 3 ? atoi(m->argv[3]) : 50;
        delete m;
        mainProxy = thisProxy;
        started = CkWallTimer();
        CProxy_Block::ckNew(blocks, blocks).run(iterations);
    }

    void report(double sum) {
        double each = (CkWallTimer() - started) / iterations;
        Square whole(blocks * width);
        for (int column = 1; column <= whole.n; ++column)
            whole.at(0, column) = hot(column - 1);
        for (int i = 0; i < iterations; ++i)
            whole = whole.next();
        bool isRight = std::fabs(sum - whole.sum()) <= 1e-9 * std::fabs(sum);
        CkPrintf("sum %.6f, %.1f us for each iteration\n", sum, each * 1e6);
        CkPrintf(isRight ? "right\n" : "wrong\n");
        CkExit(isRight ? 0 : 1);
    }
};

class Block : public CBase_Block {
    Block_SDAG_CODE

    enum Side { Above, Below, Left, Right };
    Square square;
    int iteration = 0, received = 0, neighbours = 0;

    bool hasNeighbour(int side) const {
        switch (side) {
        case Above: return thisIndex.x > 0;
        case Below: return thisIndex.x < blocks - 1;
        case Left: return thisIndex.y > 0;
        default: return thisIndex.y < blocks - 1;
        }
    }
    // A cell inside the border of a side, or with 1 outside of it.
    double &cell(int side, int i, int outside) {
        switch (side) {
        case Above: return square.at(1 - outside, i);
        case Below: return square.at(width + outside, i);
        case Left: return square.at(i, 1 - outside);
        default: return square.at(i, width + outside);
        }
    }

public:
    Block() : square(width) {
        for (int side = 0; side < 4; ++side)
            neighbours += hasNeighbour(side);
        if (thisIndex.x == 0)
            for (int column = 1; column <= width; ++column)
                square.at(0, column) = hot(thisIndex.y * width + column - 1);
    }
    explicit Block(CkMigrateMessage *) {}
    void pup(PUP::er &p) {
        p | square;
        p | iteration;
        p | received;
        p | neighbours;
    }

    void sendBorders() {
        const int rows[] = {-1, 1, 0, 0}, columns[] = {0, 0, -1, 1};
        const int opposite[] = {Below, Above, Right, Left};
        std::vector<double> values(width);
        for (int side = 0; side < 4; ++side) {
            if (!hasNeighbour(side))
                continue;
            for (int i = 0; i < width; ++i)
                values[i] = cell(side, i + 1, 0);
            thisProxy(thisIndex.x + rows[side], thisIndex.y + columns[side])
                .border(iteration, opposite[side], width, values.data());
        }
    }
    void takeBorder(int side, int n, const double *values) {
        for (int i = 0; i < n; ++i)
            cell(side, i + 1, 1) = values[i];
    }
    void update() { square = square.next(); }
    void finish() {
        double sum = square.sum();
        contribute(sizeof sum, &sum, CkReduction::sum_double,
                   CkCallback(CkReductionTarget(Main, report), mainProxy));
    }
};

#include "jacobi2d.def.h"
