// Parameters and objects as bytes. A type is serialized by one function,
//
//     template <class Archive> void serialize(Archive &archive) { archive & first & second; }
//
// which measures, writes and reads. Types that can be copied byte by byte need none.
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../actors.h"

namespace towpath {

// What a wrong call, or a message that does not fit, throws.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

namespace detail {

// Whether arrays of a message are copied beside the payload: receivers on this host read them where
// they are. All arrays of a message are asked about by the same length.
class ShortestArray {
public:
    bool is_beside(std::size_t bytes) {
        if (bytes < TOWPATH_SHORTEST_ARRAY)
            return false;
        if (length_ == 0)
            length_ = towpath_shortest_array();
        return bytes >= length_;
    }

private:
    // Asked for by the first long array.
    std::size_t length_ = 0;
};

// Values are at any offset; arrays in messages are at multiples of this one from its beginning.
inline constexpr std::size_t array_alignment = 16;

constexpr std::size_t aligned(std::size_t offset) {
    return (offset + array_alignment - 1) / array_alignment * array_alignment;
}

template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

template <class T, class Archive>
concept HasSerialize = requires(T &value, Archive &archive) { value.serialize(archive); };

// Addresses mean nothing on another rank.
template <class T>
inline constexpr bool has_address = std::is_pointer_v<T> || std::is_member_pointer_v<T>;
template <class T>
inline constexpr bool has_address<std::reference_wrapper<T>> = true;
template <class C, class Traits>
inline constexpr bool has_address<std::basic_string_view<C, Traits>> = true;
template <class T, std::size_t N>
inline constexpr bool has_address<std::span<T, N>> = true;

class Sizer;

// Copied byte by byte.
template <class T>
inline constexpr bool is_plain = std::is_trivially_copyable_v<T> && !has_address<T> &&
                                 !is_tuple<T> && !HasSerialize<T, Sizer> &&
                                 !requires { typename T::is_not_serializable; };
template <class T>
inline constexpr bool is_plain<std::optional<T>> = is_plain<T>;
template <class T, std::size_t N>
inline constexpr bool is_plain<std::array<T, N>> = is_plain<T>;
template <class T, std::size_t N>
inline constexpr bool is_plain<T[N]> = is_plain<T>;

template <class T>
concept Plain = is_plain<T>;

template <class T>
concept Resizable = requires(T &value) {
    typename T::value_type;
    value.resize(std::size_t{});
};

template <class T>
concept Insertable = requires(T &value, typename T::value_type &&element) {
    value.insert(std::move(element));
};

// The elements of a map have constant keys.
template <class T>
struct MutableElement {
    using type = T;
};
template <class K, class V>
struct MutableElement<std::pair<const K, V>> {
    using type = std::pair<K, V>;
};

template <class Archive, class T>
void transfer(Archive &archive, T &value);

template <class Archive, class T>
void transfer_elements(Archive &archive, T &container) {
    using Element = typename T::value_type;
    std::size_t count = container.size();
    archive.plain(count);
    if constexpr (Resizable<T>) {
        if constexpr (Archive::reads) {
            archive.check(count, Plain<Element> ? sizeof(Element) : 1);
            container.resize(count);
        }
        if constexpr (Plain<Element> && requires { container.data(); }) {
            archive.bytes(container.data(), count * sizeof(Element));
        } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
            for (std::size_t at = 0; at < count; ++at) {
                bool element = container[at];
                archive.plain(element);
                container[at] = element;
            }
        } else {
            for (auto &element : container)
                transfer(archive, element);
        }
    } else if constexpr (Archive::reads) {
        container.clear();
        for (; count > 0; --count) {
            typename MutableElement<Element>::type element{};
            transfer(archive, element);
            container.insert(std::move(element));
        }
    } else {
        for (auto &element : container)
            transfer(archive, element);
    }
}

template <class Archive, class T>
void transfer_optional(Archive &archive, T &value, auto make) {
    bool is_there = static_cast<bool>(value);
    archive.plain(is_there);
    if constexpr (Archive::reads) {
        if (is_there)
            make();
        else
            value.reset();
    }
    if (is_there)
        transfer(archive, *value);
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_unique_pointer = false;
template <class T>
inline constexpr bool is_unique_pointer<std::unique_ptr<T>> = true;
template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;

template <class Archive, class T>
void transfer(Archive &archive, T &value) {
    using Value = std::remove_const_t<T>;
    // What is measured or written is not changed.
    auto &changed = const_cast<Value &>(value);
    if constexpr (HasSerialize<Value, Archive>) {
        changed.serialize(archive);
    } else if constexpr (Plain<Value>) {
        archive.plain(changed);
    } else if constexpr (is_tuple<Value>) {
        std::apply([&](auto &...parts) { (transfer(archive, parts), ...); }, changed);
    } else if constexpr (is_array<Value>) {
        for (auto &element : changed)
            transfer(archive, element);
    } else if constexpr (is_optional<Value>) {
        transfer_optional(archive, changed, [&] { changed.emplace(); });
    } else if constexpr (is_unique_pointer<Value>) {
        using Target = typename Value::element_type;
        transfer_optional(archive, changed, [&] { changed = std::make_unique<Target>(); });
    } else if constexpr (Resizable<Value> || Insertable<Value>) {
        transfer_elements(archive, changed);
    } else {
        static_assert(!sizeof(Value), "this type cannot be serialized: give it a member "
                                      "template <class Archive> void serialize(Archive &archive)");
    }
}

template <class Archive>
class ArchiveBase {
public:
    template <class T>
    Archive &operator&(T &&value) {
        transfer(self(), value);
        return self();
    }

    template <class... T>
    Archive &operator()(T &&...values) {
        (transfer(self(), values), ...);
        return self();
    }

    template <class T>
    void plain(T &value) {
        self().bytes(&value, sizeof(T));
    }

private:
    Archive &self() { return static_cast<Archive &>(*this); }
};

// Measures.
class Sizer : public ArchiveBase<Sizer> {
public:
    static constexpr bool reads = false;

    void bytes(const void *, std::size_t count) { size_ += count; }
    std::uint32_t add_array(const void *, std::size_t, const towpath_callback *) { return 0; }
    std::uint32_t add_copy(const void *, std::size_t) { return 0; }
    std::uint32_t add_strided(const void *, std::size_t &, std::uintptr_t, std::size_t) {
        return 0;
    }
    bool copies_beside(std::size_t bytes) { return is_of_message_ && shortest_.is_beside(bytes); }
    // What is measured will be written into a message.
    void of_message() { is_of_message_ = true; }
    const ShortestArray &shortest() const { return shortest_; }
    void align() { size_ = aligned(size_); }
    std::size_t size() const { return size_; }

private:
    std::size_t size_ = 0;
    bool is_of_message_ = false;
    ShortestArray shortest_;
};

// Writes into memory that a Sizer has measured, or into a message.
class Writer : public ArchiveBase<Writer> {
public:
    static constexpr bool reads = false;

    Writer(void *into, std::size_t size) : begin_(static_cast<std::byte *>(into)), size_(size) {}
    // A message that the Sizer has measured.
    Writer(towpath_message &message, const Sizer &sizer) : Writer(message.payload, message.bytes) {
        message_ = &message;
        shortest_ = sizer.shortest();
    }

    // Puts an array beside the payload of the message.
    std::uint32_t add_array(const void *data, std::size_t bytes, const towpath_callback *done) {
        if (message_ == nullptr)
            throw Error("nocopy is for parameters of entry methods");
        int number = towpath_message_add_array(message_, data, bytes, done);
        if (number < 0)
            throw Error(towpath_error());
        return static_cast<std::uint32_t>(number);
    }
    // The same with a copy of it.
    std::uint32_t add_copy(const void *data, std::size_t bytes) {
        int number = towpath_message_add_copy(message_, data, bytes);
        if (number < 0)
            throw Error(towpath_error());
        return static_cast<std::uint32_t>(number);
    }
    // The same with what so many elements of an MPI datatype describe: it says how many of so many
    // bytes that are.
    std::uint32_t add_strided(const void *data, std::size_t &count, std::uintptr_t datatype,
                              std::size_t element) {
        if (message_ == nullptr)
            throw Error("strided is for parameters of entry methods");
        int number = towpath_message_add_strided(message_, data, count, datatype);
        if (number < 0)
            throw Error(towpath_error());
        std::size_t bytes;
        towpath_message_array(message_, static_cast<std::uint32_t>(number), &bytes);
        if (bytes % element != 0)
            throw Error("a datatype describes " + std::to_string(bytes) +
                        " bytes, which are no elements of " + std::to_string(element) + " bytes");
        count = bytes / element;
        return static_cast<std::uint32_t>(number);
    }
    bool copies_beside(std::size_t bytes) { return message_ && shortest_.is_beside(bytes); }

    void bytes(const void *from, std::size_t count) {
        std::byte *to = room(count);
        if (count > 0)
            std::memcpy(to, from, count);
    }
    void align() {
        std::size_t count = aligned(offset_) - offset_;
        std::memset(room(count), 0, count);
    }

private:
    // Where so many bytes go.
    std::byte *room(std::size_t count) {
        if (count > size_ - offset_)
            throw Error("more bytes are written than were measured; serialize names the same "
                        "members each time, and changes nothing");
        return begin_ + std::exchange(offset_, offset_ + count);
    }

    std::byte *begin_;
    std::size_t size_;
    std::size_t offset_ = 0;
    towpath_message *message_ = nullptr;
    ShortestArray shortest_;
};

// Reads what a Writer has written.
class Reader : public ArchiveBase<Reader> {
public:
    static constexpr bool reads = true;

    Reader(const void *from, std::size_t size)
        : begin_(static_cast<const std::byte *>(from)), size_(size) {}
    explicit Reader(const towpath_message &message) : Reader(message.payload, message.bytes) {
        message_ = &message;
    }

    // An array beside the payload of the message.
    const void *array(std::uint32_t number, std::size_t expected) const {
        std::size_t bytes = 0;
        const void *data = message_ ? towpath_message_array(message_, number, &bytes) : nullptr;
        if (bytes != expected)
            throw Error("an array of a message has " + std::to_string(bytes) + " bytes, but " +
                        std::to_string(expected) + " are expected");
        return data;
    }

    void bytes(void *into, std::size_t count) {
        const void *from = skip(count);
        if (count > 0)
            std::memcpy(into, from, count);
    }
    // So many bytes, where they are.
    const void *skip(std::size_t count) {
        check(count, 1);
        const void *at = begin_ + offset_;
        offset_ += count;
        return at;
    }
    void align() { skip(std::min(aligned(offset_), size_) - offset_); }
    // So many elements of so many bytes, at least, are there.
    void check(std::size_t count, std::size_t size) const {
        if (count > (size_ - offset_) / size)
            throw Error("a message or a packed object has fewer bytes than its type needs; do all "
                        "ranks run the same program?");
    }

private:
    const std::byte *begin_;
    std::size_t size_;
    std::size_t offset_ = 0;
    const towpath_message *message_ = nullptr;
};

}  // namespace detail

namespace detail {

template <class T>
consteval bool is_serializable();

template <class T>
inline constexpr bool are_parts_serializable = false;
template <class... T>
inline constexpr bool are_parts_serializable<std::tuple<T...>> = (is_serializable<T>() && ...);
template <class A, class B>
inline constexpr bool are_parts_serializable<std::pair<A, B>> =
    is_serializable<A>() && is_serializable<B>();
template <class T, std::size_t N>
inline constexpr bool are_parts_serializable<std::array<T, N>> = is_serializable<T>();
template <class T>
inline constexpr bool are_parts_serializable<std::optional<T>> = is_serializable<T>();
template <class T>
inline constexpr bool are_parts_serializable<std::unique_ptr<T>> = is_serializable<T>();

template <class T>
consteval bool is_serializable() {
    if constexpr (HasSerialize<T, Sizer> || Plain<T>)
        return true;
    else if constexpr (Resizable<T> || Insertable<T>)
        return is_serializable<typename MutableElement<typename T::value_type>::type>();
    else
        return are_parts_serializable<T>;
}

}  // namespace detail

// A type that can be a parameter, a result, or a member of a chare that migrates.
template <class T>
concept Serializable = detail::is_serializable<std::remove_const_t<T>>();

}  // namespace towpath
