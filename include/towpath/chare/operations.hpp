// Operations of reductions. Sums, products, extremes, logic and bits of numbers are done by the
// library, others by the function object.
#pragma once

#include <algorithm>
#include <functional>

#include "reduction.hpp"

namespace towpath {

// Combine two values. Any function object without state can be used, whose result for two values of
// a type has that type, and for which order does not matter; arrays are combined element by element.
// Of the library it may call `rank` and `ranks`.
inline constexpr std::plus<> sum{};
inline constexpr std::multiplies<> product{};
inline constexpr struct Minimum {
    template <class T>
    T operator()(const T &a, const T &b) const {
        return std::min(a, b);
    }
} minimum{};
inline constexpr struct Maximum {
    template <class T>
    T operator()(const T &a, const T &b) const {
        return std::max(a, b);
    }
} maximum{};
inline constexpr std::logical_and<> logical_and{};
inline constexpr std::logical_or<> logical_or{};
// Whether one of both is true.
inline constexpr struct LogicalXor {
    template <class T>
    T operator()(const T &a, const T &b) const {
        return static_cast<T>(!a != !b);
    }
} logical_xor{};
inline constexpr std::bit_and<> bit_and{};
inline constexpr std::bit_or<> bit_or{};
inline constexpr std::bit_xor<> bit_xor{};

// Appends the contributions to each other, in any order.
inline constexpr struct Concatenation {
} concatenation{};
// All contributions: a `Set`.
inline constexpr struct Collecting {
} set{};
// One of the contributions, each with the same probability.
inline constexpr struct AnyOne {
} any_one{};
// `Statistics` of numbers; of arrays, for each place in them.
inline constexpr struct Describing {
} statistics{};
// Several operations at once, for a std::tuple of as many values: `Results`.
template <class... Operation>
struct TupleOf {};
template <class... Operation>
constexpr TupleOf<Operation...> tuple_of(Operation...) {
    return {};
}

namespace detail {

// Of enum towpath_number; 0 for what is no number there.
template <class E>
consteval std::uint32_t number_of() {
    if constexpr (std::is_floating_point_v<E>) {
        return sizeof(E) == 4 ? TOWPATH_F32 : sizeof(E) == 8 ? TOWPATH_F64 : 0;
    } else if constexpr (std::is_integral_v<E> && sizeof(E) <= 8) {
        constexpr std::uint32_t first = std::is_signed_v<E> ? TOWPATH_I8 : TOWPATH_U8;
        return first + (sizeof(E) > 1) + (sizeof(E) > 2) + (sizeof(E) > 4);
    } else {
        return 0;
    }
}

// A function object of the standard library, of numbers of any type or of this one.
template <class Operation, template <class> class Function, class E>
inline constexpr bool is_standard =
    std::is_same_v<Operation, Function<void>> || std::is_same_v<Operation, Function<E>>;

// Of enum towpath_operation; 0 for function objects of the program.
template <class Operation, class E>
consteval std::uint32_t operation_of() {
    // A bool is a number of one byte there.
    if constexpr (is_standard<Operation, std::plus, E>)
        return std::is_same_v<E, bool> ? 0 : TOWPATH_SUM;
    else if constexpr (is_standard<Operation, std::multiplies, E>)
        return TOWPATH_PRODUCT;
    else if constexpr (std::is_same_v<Operation, Minimum>)
        return TOWPATH_MIN;
    else if constexpr (std::is_same_v<Operation, Maximum>)
        return TOWPATH_MAX;
    else if constexpr (std::is_floating_point_v<E>)
        return 0;
    else if constexpr (is_standard<Operation, std::logical_and, E>)
        return TOWPATH_LOGICAL_AND;
    else if constexpr (is_standard<Operation, std::logical_or, E>)
        return TOWPATH_LOGICAL_OR;
    else if constexpr (std::is_same_v<Operation, LogicalXor>)
        return TOWPATH_LOGICAL_XOR;
    else if constexpr (is_standard<Operation, std::bit_and, E>)
        return TOWPATH_BIT_AND;
    else if constexpr (is_standard<Operation, std::bit_or, E>)
        return TOWPATH_BIT_OR;
    else if constexpr (is_standard<Operation, std::bit_xor, E>)
        return TOWPATH_BIT_XOR;
    else
        return 0;
}

template <class V>
struct ElementOf {
    using type = V;
};
template <Elementwise V>
struct ElementOf<V> {
    using type = std::ranges::range_value_t<V>;
};

// The library's reducer for contributions of V; 0 if it has none.
template <class Operation, class V>
consteval std::uint32_t built_in() {
    using Element = typename ElementOf<V>::type;
    constexpr std::uint32_t number = number_of<Element>();
    constexpr std::uint32_t operation = operation_of<Operation, Element>();
    return number == 0 || operation == 0 ? 0 : TOWPATH_REDUCER(operation, number);
}

// A contribution that names nobody leaves it to others to name somebody.
inline const towpath_callback *get_unless_nobody(const Callback &done) {
    return done.is_nobody() ? nullptr : done.get();
}

// To a reduction of a section, or if that is null of the whole collection.
inline void contribute(const towpath_chare_id &id, const towpath_section *section,
                       std::uint32_t reducer, const void *value, std::size_t bytes,
                       const Callback &done) {
    const towpath_callback *told = get_unless_nobody(done);
    check(section == nullptr
              ? towpath_contribute(&id, reducer, value, bytes, told)
              : towpath_contribute_to_section(&id, section, reducer, value, bytes, told));
}

// How contributions of V are combined, and to what.
template <class Operation, class V>
struct Reduction {
    using Result = V;

    static consteval bool is_possible() { return can_combine<Operation, V>(); }
    static std::uint32_t number() {
        if constexpr (constexpr std::uint32_t number = built_in<Operation, V>(); number != 0)
            return number;
        else
            return ReducerRecord<Operation, V>::reducer.number();
    }
    static void with_bytes(const V &value, auto &&use) { with_value(value, use); }
};

template <class V>
struct Reduction<Concatenation, V> {
    using Result = V;

    static consteval bool is_possible() {
        static_assert(PlainArray<V>, "concatenation is of arrays or strings whose elements are "
                                     "copied byte by byte");
        return PlainArray<V>;
    }
    static std::uint32_t number() { return TOWPATH_CONCAT; }
    static void with_bytes(const V &value, auto &&use) { with_value(value, use); }
};

template <class V>
struct Reduction<Collecting, V> {
    using Result = Set<V>;

    static consteval bool is_possible() { return true; }
    static std::uint32_t number() { return TOWPATH_SET; }
    static void with_bytes(const V &value, auto &&use) { with_value(value, use); }
};

template <class V>
struct Reduction<AnyOne, V> {
    using Result = V;

    static consteval bool is_possible() { return true; }
    static std::uint32_t number() { return TOWPATH_RANDOM; }
    static void with_bytes(const V &value, auto &&use) { with_value(value, use); }
};

template <class V>
struct Reduction<Describing, V> {
    using Result = std::conditional_t<Elementwise<V>, std::vector<Statistics>, Statistics>;

    static consteval bool is_possible() {
        constexpr bool are_numbers = std::is_arithmetic_v<typename ElementOf<V>::type>;
        static_assert(are_numbers, "statistics are of numbers, or of arrays of numbers");
        return are_numbers;
    }
    static std::uint32_t number() { return TOWPATH_STATISTICS; }
    static void with_bytes(const V &value, auto &&use) {
        std::vector<Statistics> all;
        auto add = [&](auto number) { all.push_back({1, static_cast<double>(number), 0}); };
        if constexpr (Elementwise<V>)
            std::ranges::for_each(value, add);
        else
            add(value);
        with_value(all, use);
    }
};

template <class Operation>
inline constexpr bool is_tuple_of = false;
template <class... Operation>
inline constexpr bool is_tuple_of<TupleOf<Operation...>> = true;

template <class... Operation, class... V>
struct Reduction<TupleOf<Operation...>, std::tuple<V...>> {
    using Result = Results<typename Reduction<Operation, V>::Result...>;

    static consteval bool is_possible() {
        constexpr bool are_single = (!is_tuple_of<Operation> && ...);
        static_assert(are_single, "a tuple_of is part of another one; name all operations in one");
        if constexpr (are_single)
            return (Reduction<Operation, V>::is_possible() && ...);
        return false;
    }

    static void contribute(const towpath_chare_id &id, const towpath_section *section,
                           const std::tuple<V...> &values, const Callback &done) {
        std::array<towpath_part, sizeof...(V)> parts{};
        gather<0>(parts, values, [&] {
            check(towpath_contribute_tuple(&id, section, parts.data(), parts.size(),
                                           get_unless_nobody(done)));
        });
    }

private:
    template <std::size_t At>
    using Part = Reduction<std::tuple_element_t<At, std::tuple<Operation...>>,
                           std::tuple_element_t<At, std::tuple<V...>>>;

    // The bytes of each value are there as long as this calls the function.
    template <std::size_t At>
    static void gather(auto &parts, const std::tuple<V...> &values, auto &&use) {
        if constexpr (At == sizeof...(V))
            use();
        else
            Part<At>::with_bytes(std::get<At>(values), [&](const void *data, std::size_t bytes) {
                parts[At] = {Part<At>::number(), data, bytes};
                gather<At + 1>(parts, values, use);
            });
    }
};

template <class Operation, class V>
inline constexpr bool fits_tuple = !is_tuple_of<Operation>;
template <class... Operation, class... V>
inline constexpr bool fits_tuple<TupleOf<Operation...>, std::tuple<V...>> =
    sizeof...(Operation) == sizeof...(V);

// Contributes a value to the next reduction of a chare.
template <class Operation, class V>
void contribute(const towpath_chare_id &id, const towpath_section *section, const V &value,
                const Callback &done) {
    if constexpr (is_tuple_of<Operation>)
        Reduction<Operation, V>::contribute(id, section, value, done);
    else
        Reduction<Operation, V>::with_bytes(value, [&](const void *at, std::size_t bytes) {
            contribute(id, section, Reduction<Operation, V>::number(), at, bytes, done);
        });
}

}  // namespace detail

// Contributions of V can be made with this operation. Otherwise a sentence says what is wrong.
template <class Operation, class V>
consteval bool can_reduce() {
    static_assert(Serializable<V>, "a contribution cannot be sent: give its type a member template "
                                   "<class Archive> void serialize(Archive &archive)");
    static_assert(detail::fits_tuple<Operation, V>, "tuple_of is for a std::tuple with a value for "
                                                    "each of its operations");
    if constexpr (Serializable<V> && detail::fits_tuple<Operation, V>)
        return detail::Reduction<Operation, V>::is_possible();
    return false;
}

// What is told a P takes the result of such a reduction.
template <class P, class Operation, class V>
consteval bool takes_result_of() {
    if constexpr (can_reduce<Operation, V>()) {
        using Result = typename detail::Reduction<Operation, V>::Result;
        constexpr bool takes_it = detail::takes_value<P, Result>;
        static_assert(takes_it, "the callback is told a value of another type than what this "
                                "reduction gives");
        return takes_it;
    }
    return false;
}

}  // namespace towpath
