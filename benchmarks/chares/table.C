// The table of "Accelerating Large Charm++ Messages using RDMA" with a program of Charm++: one way
// of a message between two ranks, in microseconds. All ways are measured in turn, several times;
// the median of each is printed.
//
//     small      an entry method with one double
//     copied     an array that is marshalled
//     viewed     a nocopy array; the receiver, who declares a const pointer, reads one element
//     given      a nocopy array; the receiver, who declares a pointer, gets a copy
//     posted     a nocopypost array in memory of the receiver
//     onecopy    one memcpy by the receiver out of the memory of the sender
//
//     towpath-charmc table.ci && towpath-charmc -O2 -o table table.C
//     towpath-charmrun +p2 ./table                    0.125 to 64 MB
//     towpath-charmrun +p2 ./table 1                  up to 1 MB
#include <algorithm>
#include <cstring>
#include <vector>

#include "table.decl.h"

CProxy_Main mainProxy;

enum Way { SMALL, COPIED, VIEWED, GIVEN, POSTED, ONECOPY, WAYS };
static const int SAMPLES = 9;
static const std::size_t MB = 1 << 20;
// Copied by zero-copy, as published, from 0.125 MB on.
static const double PUBLISHED[] = {1.01, 1.07, 1.12, 1.14, 1.30, 1.31, 1.25, 1.25, 1.39, 1.27};

static int rounds(int way, std::size_t bytes) {
    // What is only looked at takes as long at any size.
    return bytes < MB / 8 ? 5000 : bytes <= MB || way == VIEWED ? 200 : 6;
}

class Main : public CBase_Main {
    CProxy_Player players;
    std::size_t bytes = 0, longest = 64 * MB;
    int way = SMALL, size = 0;
    std::vector<double> samples[WAYS];

    double median(int of) {
        std::vector<double> &all = samples[of];
        std::sort(all.begin(), all.end());
        return all[all.size() / 2];
    }
    void show() {
        if (bytes == 0) {
            CkPrintf("small, 8 bytes: %.3f\n\n", median(SMALL));
            CkPrintf("%8s %10s %10s %10s %10s %10s %14s %10s %16s\n", "MB", "copied", "viewed",
                     "given", "posted", "onecopy", "copied/posted", "published", "posted/onecopy");
            return;
        }
        CkPrintf("%8.3f %10.2f %10.2f %10.2f %10.2f %10.2f %14.2f %10.2f %16.2f\n",
                 double(bytes) / MB, median(COPIED), median(VIEWED), median(GIVEN),
                 median(POSTED), median(ONECOPY), median(COPIED) / median(POSTED),
                 PUBLISHED[size], median(POSTED) / median(ONECOPY));
        ++size;
    }
    // Arrays in all ways once more, or the next size.
    void next() {
        if (bytes != 0 && ++way < WAYS)
            return players.begin(way, bytes);
        way = bytes == 0 ? SMALL : COPIED;
        if (samples[way].size() < SAMPLES)
            return players.begin(way, bytes);
        show();
        for (auto &all : samples)
            all.clear();
        bytes = bytes == 0 ? MB / 8 : 2 * bytes;
        if (bytes > longest)
            CkExit();
        way = COPIED;
        players.begin(way, bytes);
    }

public:
    explicit Main(CkArgMsg *m) {
        if (m->argc > 1)
            longest = std::size_t(std::max(1, std::atoi(m->argv[1]))) * MB;
        longest = std::min(longest, 64 * MB);
        delete m;
        mainProxy = thisProxy;
        if (CkNumPes() != 2)
            CkAbort("two ranks play: run this with +p2");
        players = CProxy_Player::ckNew(2);
    }
    void ready() { players.begin(way, bytes); }
    void measured(double microseconds) {
        samples[way].push_back(microseconds);
        next();
    }
};

class Player : public CBase_Player {
    std::vector<double> array, own;
    int way = SMALL, left = 0, warm = 0, copies = 0;
    double began = 0, copying = 0;
    volatile double seen = 0;

    std::size_t bytes() const { return array.size() * sizeof(double); }
    void warmUp() {
        --warm;
        began = CkWallTimer();
        copies = 0;
        copying = 0;
    }
    void reply() {
        if (thisIndex == 0)
            return play();
        if (warm > 0)
            warmUp();
        send();
    }
    void send() {
        CProxyElement_Player other = thisProxy[1 - thisIndex];
        int n = static_cast<int>(array.size());
        switch (way) {
        case SMALL: return other.small(1);
        case COPIED: return other.copied(n, array.data());
        case VIEWED:
        case ONECOPY: return other.viewed(n, CkSendBuffer(array.data()));
        case GIVEN: return other.given(n, CkSendBuffer(array.data()));
        default: return other.posted(n, CkSendBuffer(array.data()));
        }
    }

public:
    Player() { contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy)); }
    explicit Player(CkMigrateMessage *) {}

    // The first one begins when both know what is played.
    void begin(int chosen, std::size_t bytes) {
        way = chosen;
        array.resize(bytes / sizeof(double), 1);
        own.resize(array.size(), 2);
        // The last one of the warm-up is measured too.
        left = rounds(way, bytes) - 1;
        warm = 2 - thisIndex;
        contribute(CkCallback(CkIndex_Player::play(), thisProxy[0]));
    }
    void play() {
        if (warm > 0) {
            warmUp();
        } else if (warm == 0 && left-- == 0) {
            double passed = CkWallTimer() - began;
            if (way == ONECOPY)
                return thisProxy[1].average(copying / copies);
            return mainProxy.measured(1e6 * passed / rounds(way, bytes()) / 2);
        }
        send();
    }
    // One core may be slower than the other: both have copied.
    void average(double other) { mainProxy.measured(1e6 * (other + copying / copies) / 2); }
    void small(double value) {
        seen = value;
        reply();
    }
    void copied(int n, double *a) {
        seen = a[n - 1];
        reply();
    }
    void viewed(int n, const double *a) {
        if (way == ONECOPY) {
            double since = CkWallTimer();
            std::memcpy(own.data(), a, n * sizeof(double));
            copying += CkWallTimer() - since;
            ++copies;
        } else {
            seen = a[n - 1];
        }
        reply();
    }
    void given(int n, double *a) {
        seen = a[n - 1];
        reply();
    }
    void posted(int &, double *&a, CkNcpyBufferPost *) { a = own.data(); }
    void posted(int n, double *a) {
        seen = a[n - 1];
        reply();
    }
};

#include "table.def.h"
