// Indexes of arrays.
#ifndef TOWPATH_CHARM_INDEX_H
#define TOWPATH_CHARM_INDEX_H

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <type_traits>

#include "../actors.h"
#include "pup.h"

typedef int CkIndex1D;
struct CkIndex2D { int x, y; };
struct CkIndex3D { int x, y, z; };
struct CkIndex4D { short w, x, y, z; };
struct CkIndex5D { short v, w, x, y, z; };
struct CkIndex6D { short x1, y1, z1, x2, y2, z2; };

inline bool operator==(const CkIndex2D &a, const CkIndex2D &b) { return a.x == b.x && a.y == b.y; }
inline bool operator==(const CkIndex3D &a, const CkIndex3D &b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// The index of an element of any array. A class of the program that inherits from it sets nInts,
// and makes its value in the words of index.
class CkArrayIndex {
public:
    CkArrayIndex() = default;
    CkArrayIndex(int x) : CkArrayIndex({x}) {}
    CkArrayIndex(std::initializer_list<int> words) : nInts(static_cast<int>(words.size())) {
        int at = 0;
        for (int word : words)
            index[at++] = word;
    }
    explicit CkArrayIndex(const towpath_index &from) : nInts(from.length) {
        std::memcpy(index, from.words, sizeof index);
    }

    int *data() { return index; }
    const int *data() const { return index; }
    int getNumInts() const { return nInts; }
    int getCombinedCount() const {
        int count = 1;
        for (int i = 0; i < nInts; ++i)
            count *= index[i];
        return count;
    }
    towpath_index to_c() const {
        towpath_index words = {};
        words.length = nInts;
        std::memcpy(words.words, index, sizeof(int) * static_cast<std::size_t>(nInts));
        return words;
    }
    bool operator==(const CkArrayIndex &other) const {
        return nInts == other.nInts &&
               std::memcmp(index, other.index, sizeof(int) * nInts) == 0;
    }
    bool operator<(const CkArrayIndex &other) const {
        return std::lexicographical_compare(index, index + nInts, other.index,
                                            other.index + other.nInts);
    }
    void pup(PUP::er &p) {
        p | nInts;
        p(index, 6);
    }

    int nInts = 0;

protected:
    alignas(8) int index[6] = {};
};

class CkArrayIndex1D : public CkArrayIndex {
public:
    CkArrayIndex1D() = default;
    CkArrayIndex1D(int x) : CkArrayIndex({x}) {}
};
class CkArrayIndex2D : public CkArrayIndex {
public:
    CkArrayIndex2D() = default;
    CkArrayIndex2D(int x, int y) : CkArrayIndex({x, y}) {}
    CkArrayIndex2D(CkIndex2D i) : CkArrayIndex({i.x, i.y}) {}
};
class CkArrayIndex3D : public CkArrayIndex {
public:
    CkArrayIndex3D() = default;
    CkArrayIndex3D(int x, int y, int z) : CkArrayIndex({x, y, z}) {}
    CkArrayIndex3D(CkIndex3D i) : CkArrayIndex({i.x, i.y, i.z}) {}
};
class CkArrayIndex4D : public CkArrayIndex {
public:
    CkArrayIndex4D() = default;
    CkArrayIndex4D(int w, int x, int y, int z) : CkArrayIndex({w, x, y, z}) {}
    CkArrayIndex4D(CkIndex4D i) : CkArrayIndex({i.w, i.x, i.y, i.z}) {}
};
class CkArrayIndex5D : public CkArrayIndex {
public:
    CkArrayIndex5D() = default;
    CkArrayIndex5D(int v, int w, int x, int y, int z) : CkArrayIndex({v, w, x, y, z}) {}
    CkArrayIndex5D(CkIndex5D i) : CkArrayIndex({i.v, i.w, i.x, i.y, i.z}) {}
};
class CkArrayIndex6D : public CkArrayIndex {
public:
    CkArrayIndex6D() = default;
    CkArrayIndex6D(int x1, int y1, int z1, int x2, int y2, int z2)
        : CkArrayIndex({x1, y1, z1, x2, y2, z2}) {}
    CkArrayIndex6D(CkIndex6D i) : CkArrayIndex({i.x1, i.y1, i.z1, i.x2, i.y2, i.z2}) {}
};

namespace ck {

// What an element has as thisIndex.
template <class Index> inline Index element_index(const towpath_index &index) {
    static_assert(std::is_trivially_copyable_v<Index> && sizeof(Index) <= sizeof index.words,
                  "An index type is plain data of 24 bytes at most.");
    Index value;
    std::memcpy(&value, index.words, sizeof value);
    return value;
}

// Those of more than three dimensions have a word for each, of which programs see a short.
template <class Index> inline Index short_index(const towpath_index &index) {
    short coordinates[sizeof(Index) / sizeof(short)];
    std::size_t at = 0;
    for (short &one : coordinates) {
        one = static_cast<short>(index.words[at]);
        if (one != index.words[at++])
            throw std::out_of_range("a coordinate of an index of four dimensions or more is no "
                                    "short: let it be below 32768");
    }
    Index value;
    std::memcpy(&value, coordinates, sizeof value);
    return value;
}
template <> inline CkIndex4D element_index<CkIndex4D>(const towpath_index &index) {
    return short_index<CkIndex4D>(index);
}
template <> inline CkIndex5D element_index<CkIndex5D>(const towpath_index &index) {
    return short_index<CkIndex5D>(index);
}
template <> inline CkIndex6D element_index<CkIndex6D>(const towpath_index &index) {
    return short_index<CkIndex6D>(index);
}

} // namespace ck

#endif
