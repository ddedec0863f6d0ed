// Results of reductions that have parts: all values, or those of several reducers.
#pragma once

#include "value.hpp"

namespace towpath {

namespace detail {

inline std::vector<towpath_part> parts_of(const void *list, std::size_t bytes) {
    std::size_t count = 0;
    check(towpath_parts(list, bytes, nullptr, 0, &count));
    std::vector<towpath_part> parts(count);
    check(towpath_parts(list, bytes, parts.data(), count, &count));
    return parts;
}

}  // namespace detail

// What `set` gives: the values of all chares, in any order.
template <class T>
struct Set {
    static_assert(!detail::is_view<T>, "values of a set outlive the message; use std::vector");
    using is_list_of_parts = void;

    std::vector<T> values;

    static Set read(const void *list, std::size_t bytes) {
        Set set;
        for (const auto &part : detail::parts_of(list, bytes))
            set.values.push_back(detail::read_value<T>(part.data, part.bytes));
        return set;
    }

    template <class Archive>
    void serialize(Archive &archive) {
        archive & values;
    }
};

// What `tuple_of` gives: the result of each operation. `auto [sum, greatest] = co_await results;`
template <class... R>
struct Results : std::tuple<R...> {
    static_assert((!detail::is_view<R> && ...), "results outlive the message; use std::vector");
    using is_list_of_parts = void;

    static Results read(const void *list, std::size_t bytes) {
        auto parts = detail::parts_of(list, bytes);
        if (parts.size() != sizeof...(R))
            throw Error("a result of " + std::to_string(parts.size()) + " values is no " +
                        detail::type_name<Results>());
        Results results;
        auto part = parts.begin();
        auto take = [&](auto &value) {
            value = detail::read_value<std::remove_reference_t<decltype(value)>>(part->data,
                                                                                part->bytes);
            ++part;
        };
        std::apply([&](auto &...values) { (take(values), ...); }, results.all());
        return results;
    }

    std::tuple<R...> &all() { return *this; }

    template <class Archive>
    void serialize(Archive &archive) {
        archive & all();
    }
};

// What `statistics` gives.
struct Statistics {
    std::uint64_t count = 0;
    double mean = 0;
    // The sum of the squares of what the numbers differ from the mean.
    double squares = 0;

    double variance() const { return count == 0 ? 0 : squares / static_cast<double>(count); }
};
static_assert(sizeof(Statistics) == sizeof(towpath_statistics));

}  // namespace towpath

// For `auto [...] = `.
template <class... R>
struct std::tuple_size<towpath::Results<R...>> : std::tuple_size<std::tuple<R...>> {};
template <std::size_t N, class... R>
struct std::tuple_element<N, towpath::Results<R...>> : std::tuple_element<N, std::tuple<R...>> {};
