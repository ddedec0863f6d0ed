// Values that callbacks get: plain ones and arrays of plain ones as they are, so that reducers can
// combine them, others serialized.
#pragma once

#include <ranges>

#include "call.hpp"
#include "view.hpp"

namespace towpath::detail {

template <class T>
concept PlainArray = std::ranges::contiguous_range<T> && std::ranges::sized_range<T> &&
                     Plain<std::ranges::range_value_t<T>> && !is_array<T>;

// What only a reduction gives, by towpath_parts: `Set` and `Results`.
template <class T>
concept ListOfParts = requires { typename T::is_list_of_parts; };

template <Serializable T>
std::size_t value_bytes(const T &value) {
    if constexpr (PlainArray<T>) {
        return std::ranges::size(value) * sizeof(std::ranges::range_value_t<T>);
    } else if constexpr (Plain<T>) {
        return sizeof(T);
    } else {
        Sizer sizer;
        sizer & value;
        return sizer.size();
    }
}

// Writes a value of so many bytes.
template <Serializable T>
void write_value(const T &value, void *into, std::size_t bytes) {
    if constexpr (PlainArray<T>) {
        if (bytes > 0)
            std::memcpy(into, std::ranges::data(value), bytes);
    } else if constexpr (Plain<T>) {
        std::memcpy(into, &value, sizeof(T));
    } else {
        Writer(into, bytes) & value;
    }
}

// Calls a function with the bytes of a value, which are there unless it has to be serialized.
template <Serializable T>
void with_value(const T &value, auto &&use) {
    if constexpr (PlainArray<T>) {
        use(std::ranges::data(value), value_bytes(value));
    } else if constexpr (Plain<T>) {
        use(std::addressof(value), sizeof(T));
    } else {
        std::vector<std::byte> bytes(value_bytes(value));
        write_value(value, bytes.data(), bytes.size());
        use(bytes.data(), bytes.size());
    }
}

[[noreturn]] inline void wrong_value(std::size_t bytes, const std::string &type) {
    throw Error("a result of " + std::to_string(bytes) + " bytes is no " + type);
}

template <class T>
T read_value(const void *from, std::size_t bytes) {
    if constexpr (ListOfParts<T>) {
        return T::read(from, bytes);
    } else if constexpr (PlainArray<T>) {
        using Element = std::ranges::range_value_t<T>;
        if (bytes % sizeof(Element) != 0)
            wrong_value(bytes, type_name<T>());
        auto *first = static_cast<const Element *>(from);
        if constexpr (is_view<T>) {
            return T(first, bytes / sizeof(Element));
        } else {
            T value(bytes / sizeof(Element), Element());
            if (bytes > 0)
                std::memcpy(value.data(), from, bytes);
            return value;
        }
    } else if constexpr (Plain<T>) {
        if (bytes != sizeof(T))
            wrong_value(bytes, type_name<T>());
        T value;
        std::memcpy(&value, from, sizeof(T));
        return value;
    } else {
        T value{};
        Reader(from, bytes) & value;
        return value;
    }
}

}  // namespace towpath::detail
