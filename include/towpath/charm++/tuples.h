// Reductions by statistics and by tuples.
#ifndef TOWPATH_CHARM_TUPLES_H
#define TOWPATH_CHARM_TUPLES_H

#include "reduction.h"

namespace ck {

inline void combine_statistics(Combined &into, const void *value, std::size_t bytes) {
    using Statistics = CkReduction::statisticsElement;
    if (into.size() != bytes || bytes % sizeof(Statistics) != 0)
        fail("a contribution to a reduction by statistics is no CkReduction::statisticsElement, or "
             "another number of them");
    auto *from = static_cast<const char *>(value);
    for (std::size_t at = 0; at < bytes; at += sizeof(Statistics)) {
        Statistics a, b;
        std::memcpy(static_cast<void *>(&a), into.data() + at, sizeof a);
        std::memcpy(static_cast<void *>(&b), from + at, sizeof b);
        double count = a.count + b.count, distance = b.mean - a.mean;
        if (count == 0)
            continue;
        a.m2 += b.m2 + distance * distance * a.count * b.count / count;
        a.mean += distance * b.count / count;
        a.count += b.count;
        std::memcpy(into.data() + at, static_cast<void *>(&a), sizeof a);
    }
}

// What describes a tuple in front of its values, and one of them.
struct TupleHeader {
    std::uint64_t count;
    std::uint64_t unused;
};
struct TupleValue {
    std::uint64_t bytes;
    std::uint64_t reducer;
};

// The values of a tuple, where they are.
inline std::vector<CkReduction::tupleElement> tuple_values(char *tuple, std::size_t bytes) {
    auto no_tuple = [] {
        fail("a contribution to a reduction by tuples was not made by "
             "CkReductionMsg::buildFromTuple");
    };
    TupleHeader header;
    if (bytes < sizeof header)
        no_tuple();
    std::memcpy(&header, tuple, sizeof header);
    std::size_t at = sizeof header;
    if (header.count > (bytes - at) / sizeof(TupleValue))
        no_tuple();
    std::vector<CkReduction::tupleElement> values;
    std::size_t begin = at + header.count * sizeof(TupleValue);
    for (std::uint64_t i = 0; i < header.count; ++i, at += sizeof(TupleValue)) {
        TupleValue value;
        std::memcpy(&value, tuple + at, sizeof value);
        if (begin > bytes || value.bytes > bytes - begin)
            no_tuple();
        auto reducer = static_cast<CkReduction::reducerType>(value.reducer);
        values.emplace_back(value.bytes, tuple + begin, reducer);
        begin += rounded(value.bytes);
    }
    return values;
}

inline std::vector<char> tuple_of(const std::vector<CkReduction::tupleElement> &values) {
    TupleHeader header = {values.size(), 0};
    std::size_t bytes = sizeof header + values.size() * sizeof(TupleValue);
    for (const auto &value : values)
        bytes += rounded(value.dataSize);
    std::vector<char> tuple(bytes);
    std::memcpy(tuple.data(), &header, sizeof header);
    std::size_t at = sizeof header;
    std::size_t begin = at + values.size() * sizeof(TupleValue);
    for (const auto &value : values) {
        TupleValue described = {value.dataSize, static_cast<std::uint64_t>(value.reducer)};
        std::memcpy(tuple.data() + at, &described, sizeof described);
        at += sizeof described;
        if (value.dataSize != 0)
            std::memcpy(tuple.data() + begin, value.data, value.dataSize);
        begin += rounded(value.dataSize);
    }
    return tuple;
}

inline void combine_tuples(Combined &into, const void *value, std::size_t bytes) {
    std::vector<char> other(static_cast<const char *>(value),
                            static_cast<const char *>(value) + bytes);
    auto first = tuple_values(into.data(), into.size());
    auto second = tuple_values(other.data(), other.size());
    bool are_alike = std::equal(
        first.begin(), first.end(), second.begin(), second.end(),
        [](const auto &a, const auto &b) { return a.reducer == b.reducer; });
    if (!are_alike)
        fail("tuples with different reducers were contributed to one reduction");
    std::vector<Combined> combined;
    for (std::size_t i = 0; i < first.size(); ++i) {
        combined.emplace_back(
            std::vector<char>(first[i].data, first[i].data + first[i].dataSize));
        reducer_of(first[i].reducer).apply(combined[i], second[i].data, second[i].dataSize);
        first[i].data = combined[i].data();
        first[i].dataSize = combined[i].size();
    }
    std::vector<char> all = tuple_of(first);
    into.resize(all.size());
    std::memcpy(into.data(), all.data(), all.size());
}

} // namespace ck

inline CkReductionMsg *CkReductionMsg::buildFromTuple(CkReduction::tupleElement *elements,
                                                      int count) {
    std::vector<CkReduction::tupleElement> values(elements, elements + count);
    std::deque<std::vector<char>> sets;
    for (auto &value : values) {
        ck::reducer_of(value.reducer);
        if (value.reducer == CkReduction::set) {
            sets.push_back(ck::set_of_one(value.data, value.dataSize));
            value.data = sets.back().data();
            value.dataSize = sets.back().size();
        }
    }
    std::vector<char> tuple = ck::tuple_of(values);
    return buildNew(static_cast<int>(tuple.size()), tuple.data(), CkReduction::tuple);
}

inline void CkReductionMsg::toTuple(CkReduction::tupleElement **elements, int *count) {
    auto values = ck::tuple_values(data, static_cast<std::size_t>(getSize()));
    *count = static_cast<int>(values.size());
    *elements = new CkReduction::tupleElement[values.size()];
    std::copy(values.begin(), values.end(), *elements);
}

#endif
