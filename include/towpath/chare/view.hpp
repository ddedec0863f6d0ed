// Arrays in messages: the receiver sees them where they are.
#pragma once

#include <ranges>
#include <span>
#include <vector>

#include "serialize.hpp"

namespace towpath {

// Parameter of an entry method: an array of the message, which is there until the method returns.
// A caller passes any contiguous range, or `nocopy`.
template <class T>
class View {
public:
    static_assert(std::is_const_v<T>, "what a message contains is not changed: View<const T>");
    static_assert(detail::Plain<std::remove_const_t<T>>,
                  "elements of a View are copied byte by byte: they have no member serialize and no "
                  "addresses; use std::vector for others");
    static_assert(alignof(T) <= detail::array_alignment);
    using value_type = std::remove_const_t<T>;

    View() = default;
    View(T *data, std::size_t size) : elements_(data, size) {}
    // An argument that is sent from where it is; the callback is told when it may change.
    View(T *data, std::size_t size, const towpath_callback *done)
        : elements_(data, size), done_(done) {}

    // So many elements of an MPI datatype, from this address on, which are packed into the message.
    static View strided(T *data, std::size_t count, std::uintptr_t datatype) {
        View view(data, count);
        view.datatype_ = datatype;
        return view;
    }

    T *data() const { return elements_.data(); }
    std::size_t size() const { return elements_.size(); }
    bool empty() const { return elements_.empty(); }
    T &operator[](std::size_t at) const { return elements_[at]; }
    T *begin() const { return data(); }
    T *end() const { return data() + size(); }
    std::span<T> span() const { return elements_; }
    operator std::span<T>() const { return elements_; }

    // A copy, which outlives the method.
    std::vector<value_type> keep() const { return {begin(), end()}; }

    void serialize(detail::Sizer &archive) { write(archive); }
    void serialize(detail::Writer &archive) { write(archive); }
    void serialize(detail::Reader &archive) {
        std::size_t count;
        std::uint32_t array;
        archive.plain(count);
        archive.plain(array);
        if (array != inside) {
            elements_ = {static_cast<T *>(archive.array(array, count * sizeof(T))), count};
            return;
        }
        archive.align();
        archive.check(count, sizeof(T));
        elements_ = {static_cast<T *>(archive.skip(count * sizeof(T))), count};
    }

private:
    template <class Archive>
    void write(Archive &archive) {
        std::size_t count = size();
        std::uint32_t array = inside;
        if (datatype_ != 0)
            array = archive.add_strided(data(), count, datatype_, sizeof(T));
        else if (done_ != nullptr)
            array = archive.add_array(data(), count * sizeof(T), done_);
        else if (archive.copies_beside(count * sizeof(T)))
            array = archive.add_copy(data(), count * sizeof(T));
        archive.plain(count);
        archive.plain(array);
        if (array == inside) {
            archive.align();
            archive.bytes(data(), count * sizeof(T));
        }
    }

    // Instead of the number of an array beside the payload: the elements are in it.
    static constexpr std::uint32_t inside = UINT32_MAX;

    std::span<T> elements_;
    const towpath_callback *done_ = nullptr;
    std::uintptr_t datatype_ = 0;
};

namespace detail {

template <class T>
inline constexpr bool is_view = false;
template <class T>
inline constexpr bool is_view<View<T>> = true;

}  // namespace detail

}  // namespace towpath
