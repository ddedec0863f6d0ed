// What is made: chares, groups and arrays, and where their elements begin.
#ifndef TOWPATH_CHARM_CREATION_H
#define TOWPATH_CHARM_CREATION_H

#include "chares.h"

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

    CkArrayOptions &setNumInitial(int n) { return *this = CkArrayOptions(n); }
    CkArrayOptions &setBounds(int n) { return bound({n}); }
    CkArrayOptions &setBounds(int n1, int n2) { return bound({n1, n2}); }
    CkArrayOptions &setBounds(int n1, int n2, int n3) { return bound({n1, n2, n3}); }
    CkArrayOptions &setAnytimeMigration(bool) { return *this; }
    CkArrayOptions &setStaticInsertion(bool) { return *this; }

    towpath_collection c = {0, 0, TOWPATH_HASH, 0, {}, 0};

private:
    CkArrayOptions(std::initializer_list<int> extents) {
        bound(extents);
        c.is_filled = 1;
    }
    CkArrayOptions &bound(std::initializer_list<int> extents) {
        c.map = TOWPATH_BLOCK;
        c.dimensions = 0;
        for (int extent : extents) {
            if (extent < 0)
                CkAbort("an array has a negative extent: %d", extent);
            c.extents[c.dimensions++] = static_cast<std::uint32_t>(extent);
        }
        return *this;
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

inline CkArrayID create_array(const towpath_type &type, const EntryMethod &constructor,
                              const CkArrayOptions &options, const towpath_message &parameters) {
    towpath_collection c = options.c;
    c.type = type.number;
    c.constructor = constructor.c.number;
    return {create(c, parameters)};
}

// An array to which elements are inserted.
inline CkArrayID create_empty_array(const towpath_type &type, const CkArrayOptions &options) {
    towpath_collection c = options.c;
    c.type = type.number;
    c.is_filled = 0;
    return {create(c, nothing())};
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
