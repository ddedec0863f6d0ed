#ifndef RARE_H
#define RARE_H
#include <charm++.h>

template <int N> struct Pair {
    int at[N];
};
template <int N> class CkArrayIndexPair : public CkArrayIndex {
public:
    CkArrayIndexPair(const Pair<N> &pair) {
        nInts = N;
        new (index) Pair<N>(pair);
    }
};

namespace inner {
struct Named {
    int number;
};
class CkArrayIndexNamed : public CkArrayIndex {
public:
    CkArrayIndexNamed(const Named &named) {
        nInts = 1;
        new (index) Named(named);
    }
};
} // namespace inner
#endif
