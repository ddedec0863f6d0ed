// Reductions by function objects of the program.
#pragma once

#include <typeinfo>

#include "section.hpp"

namespace towpath {

namespace detail {

// What is combined element by element.
template <class T>
concept Elementwise = PlainArray<T> || (is_array<T> && Plain<T>);

// How contributions of T are combined.
template <class Operation, class T>
struct ReducerRecord {
    static void combine(void *, towpath_value *into, const void *value, std::size_t bytes) {
        guarded([&] {
            std::size_t had = towpath_value_bytes(into);
            if constexpr (Elementwise<T>) {
                combine_arrays(into, value, bytes);
            } else {
                T combined = Operation()(read_value<T>(towpath_value_data(into), had),
                                         read_value<T>(value, bytes));
                std::size_t size = value_bytes(combined);
                towpath_value_resize(into, size);
                write_value(combined, towpath_value_data(into), size);
            }
        });
    }

    static void combine_arrays(towpath_value *into, const void *value, std::size_t bytes) {
        using Element = std::ranges::range_value_t<T>;
        if (towpath_value_bytes(into) != bytes)
            throw Error("arrays of " + std::to_string(towpath_value_bytes(into)) + " and " +
                        std::to_string(bytes) + " bytes were contributed to one reduction");
        auto *to = static_cast<std::byte *>(towpath_value_data(into));
        auto *from = static_cast<const std::byte *>(value);
        for (std::size_t at = 0; at < bytes; at += sizeof(Element)) {
            Element a, b;
            std::memcpy(&a, to + at, sizeof a);
            std::memcpy(&b, from + at, sizeof b);
            a = Operation()(a, b);
            std::memcpy(to + at, &a, sizeof a);
        }
    }

    static towpath_reducer record() {
        towpath_reducer reducer{};
        reducer.combine = combine;
        return reducer;
    }

    static std::string name() {
        std::string operation = type_name<Operation>();
        // GCC calls all lambdas of a function the same, Clang those of a template.
        if (operation.find("lambda") != std::string::npos)
            operation += std::string(" ") + typeid(Operation).name();
        return operation + " of " + type_name<T>();
    }

    static inline Registered<towpath_reducer> reducer{name(), record(),
                                                      towpath_register_reducer};
};

template <class Operation, class T>
consteval bool combines() {
    if constexpr (Elementwise<T>) {
        using Element = std::ranges::range_value_t<T>;
        return std::is_invocable_r_v<Element, Operation, Element, Element>;
    } else {
        return std::is_invocable_r_v<T, Operation, T, T>;
    }
}

}  // namespace detail

// Values of T can be combined by this operation. Otherwise a sentence says what is wrong.
template <class Operation, class T>
consteval bool can_combine() {
    constexpr bool has_no_state =
        std::is_empty_v<Operation> && std::is_default_constructible_v<Operation>;
    constexpr bool combines = detail::combines<Operation, T>();
    static_assert(has_no_state, "an operation is a function object without state: a lambda "
                                "that captures nothing, or a structure without members");
    static_assert(combines, "the operation does not combine two of these values, or elements "
                            "of these arrays, to one of the same type");
    return has_no_state && combines;
}

}  // namespace towpath
