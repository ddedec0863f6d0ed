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
    template <class... More> CkArrayOptions &setNumInitial(int n, More... more) {
        first = extents_of({n, static_cast<int>(more)...});
        if (!is_bounded)
            bound(first);
        return *this;
    }
    template <class... More> CkArrayOptions &setBounds(int n, More... more) {
        is_bounded = true;
        bound(extents_of({n, static_cast<int>(more)...}));
        return *this;
    }
    CkArrayIndex getNumInitial() const {
        CkArrayIndex all;
        for (std::uint32_t extent : first)
            all.data()[all.nInts++] = static_cast<int>(extent);
        return all;
    }
    // It begins with the elements from this index on, by these steps, up to and without the end.
    CkArrayOptions &setStart(const CkArrayIndex &index) {
        start = index;
        return in_range();
    }
    CkArrayOptions &setEnd(const CkArrayIndex &index) {
        end = index;
        return in_range();
    }
    CkArrayOptions &setStep(const CkArrayIndex &index) {
        step = index;
        return in_range();
    }
    // Elements begin where those of another array of the same extents begin.
    CkArrayOptions &bindTo(CkArrayID array);
    // On which rank each element begins.
    CkArrayOptions &setMap(CkGroupID group) {
        map.is_in_turn = group.id == CProxy_RRMap::NAME;
        bool is_own = !map.is_in_turn && group.id != CProxy_BlockMap::NAME;
        map.own = is_own ? group : CkGroupID();
        return *this;
    }
    CkArrayOptions &setAnytimeMigration(bool) { return *this; }
    CkArrayOptions &setStaticInsertion(bool) { return *this; }

    // As the library is asked for it.
    towpath_collection ck_collection(const towpath_type &type) const {
        towpath_collection made = c;
        made.type = type.number;
        made.is_filled = !first.empty() && ck_has_all();
        if (map.is_in_turn && made.map == TOWPATH_BLOCK)
            made.map = TOWPATH_ROUND_ROBIN;
        return made;
    }
    // Whether it begins with all elements that it can have.
    bool ck_has_all() const {
        const int *low = start.data(), *by = step.data();
        return std::equal(first.begin(), first.end(), c.extents, c.extents + c.dimensions) &&
               std::count(low, low + start.nInts, 0) == start.nInts &&
               std::count(by, by + step.nInts, 1) == step.nInts;
    }
    // The index of a first element that has these coordinates among them.
    towpath_index ck_index(towpath_index among) const {
        for (int at = 0; at < among.length; ++at)
            among.words[at] = start.data()[at] + among.words[at] * step_of(at);
        return among;
    }
    // The extents of the elements that it begins with; none if there are none.
    const std::vector<std::uint32_t> &ck_first() const { return first; }
    // Where elements begin.
    struct Map {
        CkGroupID own; // a map of the program, or none
        bool is_in_turn = false;
    };
    Map map;

private:
    towpath_collection c = {0, 0, TOWPATH_HASH, 0, {}, 0};
    std::vector<std::uint32_t> first;
    CkArrayIndex start, end, step;
    bool is_bounded = false;

    CkArrayOptions(std::initializer_list<int> extents) : first(extents_of(extents)) {
        bound(first);
    }
    int step_of(int at) const {
        const int by = step.nInts == 0 ? 1 : step.data()[at];
        if (by <= 0)
            CkAbort("the step of an array's first elements is %d: it is 1 or more", by);
        return by;
    }
    CkArrayOptions &in_range() {
        if (end.nInts == 0)
            end = getNumInitial();
        std::vector<std::uint32_t> up_to;
        first.clear();
        for (int at = 0; at < end.nInts; ++at) {
            const int high = end.data()[at], by = step_of(at);
            const int length = std::max(high - start.data()[at], 0);
            up_to.push_back(static_cast<std::uint32_t>(std::max(high, 0)));
            first.push_back(static_cast<std::uint32_t>((length + by - 1) / by));
        }
        if (!is_bounded && end.nInts != 0)
            bound(up_to);
        return *this;
    }
    void bound(const std::vector<std::uint32_t> &extents) {
        c.map = TOWPATH_BLOCK;
        c.dimensions = static_cast<std::uint32_t>(extents.size());
        std::copy(extents.begin(), extents.end(), c.extents);
    }
    static std::vector<std::uint32_t> extents_of(std::initializer_list<int> extents) {
        if (extents.size() > 6)
            CkAbort("an array has 1 to 6 dimensions");
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

// The maps of arrays that this rank has made.
inline std::unordered_map<std::uint64_t, CkArrayOptions::Map> &made_arrays() {
    static std::unordered_map<std::uint64_t, CkArrayOptions::Map> all;
    return all;
}

inline CkArrayID made(CkArrayID array, const CkArrayOptions &options) {
    made_arrays()[array.id] = options.map;
    return array;
}

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
    if (options.map.own.isZero() && !has_some)
        return made({create(c, parameters)}, options);
    CkArrayID array = create_mapped_array(c, options.map.own);
    if (!options.ck_first().empty()) {
        each_index(options.ck_first(), [&](const towpath_index &index) {
            towpath_chare_id id = {array.id, options.ck_index(index)};
            check(towpath_insert(&id, c.constructor, mapped_rank(id), parameters.payload,
                                 parameters.bytes));
        });
        towpath_done_inserting(array.id);
    }
    towpath_message_free(&parameters);
    return made(array, options);
}

// An array to which elements are inserted.
inline CkArrayID create_empty_array(const towpath_type &type, const CkArrayOptions &options) {
    return made(create_mapped_array(options.ck_collection(type), options.map.own), options);
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

inline CkArrayOptions &CkArrayOptions::bindTo(CkArrayID array) {
    auto made = ck::made_arrays().find(array.id);
    if (made == ck::made_arrays().end())
        ck::fail("bindTo was given an array that this rank has not made");
    map = made->second;
    return *this;
}

#define CK_PE_ANY (-1)

#endif
