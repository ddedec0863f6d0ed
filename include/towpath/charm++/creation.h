// What is made: chares, groups and arrays, and where their elements begin.
#ifndef TOWPATH_CHARM_CREATION_H
#define TOWPATH_CHARM_CREATION_H

#include <algorithm>
#include <vector>

#include "maps.h"

// Extents of an array, and where its elements begin.
class CkArrayOptions {
public:
    CkArrayOptions() = default;
    CkArrayOptions(int n) : CkArrayOptions({n}) {}
    CkArrayOptions(int n1, int n2) : CkArrayOptions({n1, n2}) {}
    CkArrayOptions(int n1, int n2, int n3) : CkArrayOptions({n1, n2, n3}) {}
    CkArrayOptions(int n1, int n2, int n3, int n4) : CkArrayOptions({n1, n2, n3, n4}) {}
    CkArrayOptions(int n1, int n2, int n3, int n4, int n5)
        : CkArrayOptions({n1, n2, n3, n4, n5}) {}
    CkArrayOptions(int n1, int n2, int n3, int n4, int n5, int n6)
        : CkArrayOptions({n1, n2, n3, n4, n5, n6}) {}

    // How many elements it begins with: as many as there can be, if setBounds does not say that.
    CkArrayOptions &setNumInitial(int n) {
        first = extents_of({n});
        if (!is_bounded)
            bound(first);
        return *this;
    }
    CkArrayOptions &setBounds(int n) { return set_bounds({n}); }
    CkArrayOptions &setBounds(int n1, int n2) { return set_bounds({n1, n2}); }
    CkArrayOptions &setBounds(int n1, int n2, int n3) { return set_bounds({n1, n2, n3}); }
    // On which rank each element begins.
    CkArrayOptions &setMap(CkGroupID map) {
        is_in_turn = map.id == CProxy_RRMap::NAME;
        bool is_own = !is_in_turn && map.id != CProxy_BlockMap::NAME;
        own_map = is_own ? map : CkGroupID();
        return *this;
    }
    CkArrayOptions &setAnytimeMigration(bool) { return *this; }
    CkArrayOptions &setStaticInsertion(bool) { return *this; }

    // As the library is asked for it.
    towpath_collection ck_collection(const towpath_type &type) const {
        towpath_collection made = c;
        made.type = type.number;
        made.is_filled = !first.empty() && ck_has_all();
        if (is_in_turn && made.map == TOWPATH_BLOCK)
            made.map = TOWPATH_ROUND_ROBIN;
        return made;
    }
    // Whether it begins with all elements that it can have.
    bool ck_has_all() const {
        return std::equal(first.begin(), first.end(), c.extents, c.extents + c.dimensions);
    }
    // The extents of the elements that it begins with; none if there are none.
    const std::vector<std::uint32_t> &ck_first() const { return first; }
    // A map of the program, or none.
    CkGroupID own_map;

private:
    towpath_collection c = {0, 0, TOWPATH_HASH, 0, {}, 0};
    std::vector<std::uint32_t> first;
    bool is_bounded = false;
    bool is_in_turn = false;

    CkArrayOptions(std::initializer_list<int> extents) : first(extents_of(extents)) {
        bound(first);
    }
    CkArrayOptions &set_bounds(std::initializer_list<int> extents) {
        is_bounded = true;
        bound(extents_of(extents));
        return *this;
    }
    void bound(const std::vector<std::uint32_t> &extents) {
        c.map = TOWPATH_BLOCK;
        c.dimensions = static_cast<std::uint32_t>(extents.size());
        std::copy(extents.begin(), extents.end(), c.extents);
    }
    static std::vector<std::uint32_t> extents_of(std::initializer_list<int> extents) {
        std::vector<std::uint32_t> all;
        for (int extent : extents) {
            if (extent < 0)
                CkAbort("an array has a negative extent: %d", extent);
            all.push_back(static_cast<std::uint32_t>(extent));
        }
        return all;
    }
};

namespace ck {

inline std::uint64_t create(towpath_collection options, towpath_message parameters) {
    std::uint64_t collection = 0;
    int result = towpath_create_collection(&options, parameters.payload, parameters.bytes,
                                           &collection);
    towpath_message_free(&parameters);
    check(result);
    return collection;
}

// Makes an array without elements, of which its map knows.
inline CkArrayID create_mapped_array(towpath_collection options, CkGroupID map) {
    options.is_filled = 0;
    CkArrayID array = {create(options, nothing())};
    if (!map.isZero()) {
        CkArrayIndex extents;
        extents.nInts = static_cast<int>(options.dimensions);
        for (std::uint32_t at = 0; at < options.dimensions; ++at)
            extents.data()[at] = static_cast<int>(options.extents[at]);
        use_map(map, array, extents);
    }
    return array;
}

inline CkArrayID create_array(const towpath_type &type, const EntryMethod &constructor,
                              const CkArrayOptions &options, towpath_message parameters) {
    towpath_collection c = options.ck_collection(type);
    c.constructor = constructor.c.number;
    bool has_some = !options.ck_first().empty() && c.is_filled == 0;
    if (options.own_map.isZero() && !has_some)
        return {create(c, parameters)};
    CkArrayID array = create_mapped_array(c, options.own_map);
    if (!options.ck_first().empty()) {
        each_index(options.ck_first(), [&](const towpath_index &index) {
            towpath_chare_id id = {array.id, index};
            check(towpath_insert(&id, c.constructor, mapped_rank(id), parameters.payload,
                                 parameters.bytes));
        });
        towpath_done_inserting(array.id);
    }
    towpath_message_free(&parameters);
    return array;
}

// An array to which elements are inserted.
inline CkArrayID create_empty_array(const towpath_type &type, const CkArrayOptions &options) {
    return create_mapped_array(options.ck_collection(type), options.own_map);
}

inline CkGroupID create_group(const towpath_type &type, const EntryMethod &constructor,
                              const towpath_message &parameters) {
    towpath_collection c = {type.number, constructor.c.number, TOWPATH_GROUP, 0, {}, 1};
    return {create(c, parameters)};
}

// Chares for which no rank is given are made on one after the other.
inline CkChareID create_chare(const EntryMethod &constructor, int rank,
                              towpath_message parameters) {
    static std::uint32_t next = towpath_rank();
    if (rank < 0)
        rank = static_cast<int>(next++ % towpath_ranks());
    CkChareID chare;
    int result = towpath_create_chare(constructor.c.number, rank, parameters.payload,
                                      parameters.bytes, &chare.id);
    towpath_message_free(&parameters);
    check(result);
    return chare;
}

} // namespace ck

#define CK_PE_ANY (-1)

#endif
