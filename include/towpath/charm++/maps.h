// Maps of arrays: programs say on which rank each element begins.
#ifndef TOWPATH_CHARM_MAPS_H
#define TOWPATH_CHARM_MAPS_H

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "chares.h"

// Base of groups whose branches say where elements begin. The rank that makes the array asks its
// own branch for all elements, and for those that it inserts later without a rank.
class CkArrayMap : public Group {
public:
    CkArrayMap() = default;
    explicit CkArrayMap(CkMigrateMessage *message) : Group(message) {}
    // Is told of an array, before it is asked about its elements; gives a number for it.
    virtual int registerArray(const CkArrayIndex &, CkArrayID) { return 0; }
    virtual int procNum(int array, const CkArrayIndex &index) = 0;
};

// What generated code for groups that inherit from it refers to.
class CProxy_CkArrayMap : public CProxy_Group {
public:
    using CProxy_Group::CProxy_Group;
};
class CProxyElement_CkArrayMap : public CProxyElement_Group {
public:
    using CProxyElement_Group::CProxyElement_Group;
};
class CkIndex_CkArrayMap {
public:
    static void ck_pup(CkArrayMap *, PUP::er &) {}
    static Chare *ck_base(CkArrayMap *map) { return map; }
};

// The maps that the library has: elements are dealt out to the ranks in turn, or in blocks.
class CProxy_RRMap : public CProxy_Group {
public:
    static constexpr std::uint64_t NAME = UINT64_MAX - 1;
    static CProxy_RRMap ckNew() {
        CProxy_RRMap map;
        map.ckSetGroupID({NAME});
        return map;
    }
};
class CProxy_BlockMap : public CProxy_Group {
public:
    static constexpr std::uint64_t NAME = UINT64_MAX - 2;
    static CProxy_BlockMap ckNew() {
        CProxy_BlockMap map;
        map.ckSetGroupID({NAME});
        return map;
    }
};
typedef CProxy_BlockMap CProxy_DefaultArrayMap;

namespace ck {

// The map of an array that this rank has made.
struct UsedMap {
    CkArrayMap *map;
    int array;
};
inline std::unordered_map<std::uint64_t, UsedMap> &used_maps() {
    static std::unordered_map<std::uint64_t, UsedMap> all;
    return all;
}

// The branch of a map on this rank is asked about an array.
inline void use_map(CkGroupID group, CkArrayID array, const CkArrayIndex &extents) {
    auto *of_group = static_cast<Chare *>(local(branch(group.id, CkMyPe())));
    auto *map = dynamic_cast<CkArrayMap *>(of_group);
    if (of_group == nullptr)
        fail("setMap was given a group that has no branch on the rank which makes the array");
    if (map == nullptr)
        fail("setMap was given a group that does not inherit from CkArrayMap");
    used_maps()[array.id] = {map, map->registerArray(extents, array)};
}

inline int mapped_rank(const towpath_chare_id &element) {
    auto used = used_maps().find(element.collection);
    if (used == used_maps().end())
        return -1;
    int rank = used->second.map->procNum(used->second.array, CkArrayIndex(element.index));
    if (rank < 0 || rank >= CkNumPes())
        fail("procNum of an array's map says rank " + std::to_string(rank) + ", but the job has " +
             std::to_string(CkNumPes()) + " ranks");
    return rank;
}

// Calls a function with each index of a dense array, the last coordinate the fastest.
template <class Each>
inline void each_index(const std::vector<std::uint32_t> &extents, Each &&each) {
    towpath_index index = {};
    index.length = static_cast<std::int32_t>(extents.size());
    if (std::find(extents.begin(), extents.end(), 0u) != extents.end())
        return;
    for (;;) {
        each(index);
        std::size_t at = extents.size();
        while (at > 0 && ++index.words[at - 1] == static_cast<std::int32_t>(extents[at - 1]))
            index.words[--at] = 0;
        if (at == 0)
            return;
    }
}

} // namespace ck

#endif
