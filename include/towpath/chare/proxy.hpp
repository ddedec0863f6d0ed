// Proxies: names of chares, by which messages are sent. They are values that can be sent.
#pragma once

#include "send.hpp"

namespace towpath {

template <class T>
class ElementProxy;
template <class T>
class Section;

namespace detail {

// False, but the compiler does not know before it sees a call.
template <auto Member>
inline constexpr bool never = false;

// A callback that invokes a method of those that this one names.
template <class T, auto Member>
auto callback_of(towpath_callback call) {
    if constexpr (takes_result<Member, T>()) {
        call.entry = EntryRecord<T, Member>::entry.number();
        return CallbackOf<ToldTo<Member>>(Callback(call));
    } else {
        return Callback(call);
    }
}

template <class I>
inline constexpr bool is_coordinates = std::is_same_v<I, int>;
template <std::size_t N>
inline constexpr bool is_coordinates<std::array<int, N>> = true;

}  // namespace detail

// A proxy with options.
template <class Proxy>
class Sender {
public:
    Sender(const Proxy &proxy, const SendOptions &options) : proxy_(proxy), options_(options) {}

    template <auto Member, class... A>
    void send(A &&...arguments) const {
        proxy_.template send_with<Member>(options_, std::forward<A>(arguments)...);
    }

private:
    Proxy proxy_;
    SendOptions options_;
};

// One chare.
template <class T>
class ElementProxy {
public:
    using Chare = T;

    ElementProxy() : id_{} {}
    explicit ElementProxy(const towpath_chare_id &id) : id_(id) {}

    // Made in its place: a copy would wait for the words that were just written.
    template <class I>
    ElementProxy(std::uint64_t collection, const I &index)
        : id_{collection, detail::words_of(index)} {}

    // Sends a message that invokes a method of it, or reaches a mailbox.
    template <auto Member, class... A>
    void send(A &&...arguments) const {
        send_with<Member>(SendOptions(), std::forward<A>(arguments)...);
    }

    Sender<ElementProxy> with(const SendOptions &options) const { return {*this, options}; }

    // Invokes a method, whose result the future gets.
    template <auto Member, class... A>
    auto call(A &&...arguments) const {
        if constexpr (is_method_of<Member, T>() && can_send<Member, T, A...>()) {
            Future<detail::ResultOf<Member>> result;
            auto message = detail::message_for(
                static_cast<detail::ParametersOf<Member> *>(nullptr),
                detail::CallRecord<T, Member>::entry.number(), SendOptions(), result.callback(),
                std::forward<A>(arguments)...);
            detail::check(towpath_invoke(&id_, &message));
            (detail::tell_copied(arguments), ...);
            return result;
        } else {
            // What `co_await` accepts, so that the compiler says nothing more.
            return Future<>();
        }
    }

    // A callback that invokes a method of it with the result.
    template <auto Member>
    auto callback() const {
        towpath_callback call{};
        call.kind = TOWPATH_CALL_CHARE;
        call.collection = id_.collection;
        call.index = id_.index;
        return detail::callback_of<T, Member>(call);
    }

    // Inserts the element, on the home of its index.
    template <class... A>
    void insert(A &&...arguments) const {
        insert_at(-1, std::forward<A>(arguments)...);
    }
    // The same on a rank.
    template <class... A>
    void insert_at(int rank, A &&...arguments) const {
        detail::Constructor<T> constructor(std::forward<A>(arguments)...);
        const auto &parameters = constructor.parameters;
        detail::check(towpath_insert(&id_, constructor.number, rank, parameters.data(),
                                     parameters.size()));
    }

    // The object, if it is on this rank.
    T *local() const { return static_cast<T *>(towpath_local(&id_)); }
    const towpath_chare_id &id() const { return id_; }

    template <auto Member, class... A>
    void send_with(const SendOptions &options, A &&...arguments) const {
        if constexpr (can_send<Member, T, A...>()) {
            auto message = detail::message_for(
                static_cast<detail::ParametersOf<Member> *>(nullptr),
                detail::EntryRecord<T, Member>::entry.number(), options, std::monostate(),
                std::forward<A>(arguments)...);
            detail::check(towpath_invoke(&id_, &message));
            (detail::tell_copied(arguments), ...);
        }
    }

private:
    towpath_chare_id id_;
};

// All chares of an array or a group.
template <class T>
class CollectionProxy {
public:
    using Chare = T;

    CollectionProxy() = default;
    explicit CollectionProxy(std::uint64_t collection) : collection_(collection) {}

    // One of them.
    template <class U = T>
    ElementProxy<T> operator[](const typename U::Index &index) const {
        return ElementProxy<T>(collection_, index);
    }

    // Broadcasts a message, which every chare gets once.
    template <auto Member, class... A>
    void send(A &&...arguments) const {
        send_with<Member>(SendOptions(), std::forward<A>(arguments)...);
    }

    Sender<CollectionProxy> with(const SendOptions &options) const { return {*this, options}; }

    template <auto Member, class... A>
    Future<> call(A &&...) const {
        static_assert(detail::never<Member>, "call is for one chare, which gives one result; send "
                      "a callback to all, and let them contribute to it");
        return {};
    }

    // Makes a section of the chares with these indexes, which exist or are made later; a range of
    // them, or a list in braces.
    template <std::ranges::input_range Range>
    Section<T> section(Range &&indexes) const;
    template <class U = T>
    Section<T> section(std::initializer_list<typename U::Index> indexes) const {
        return section(std::span(indexes.begin(), indexes.size()));
    }
    // The same of those between two indexes, in each coordinate from the first to before the end.
    template <class U = T>
    Section<T> section_between(const typename U::Index &first, const typename U::Index &end,
                               int step = 1) const;

    // A callback that invokes a method of all with the result.
    template <auto Member>
    auto callback() const {
        towpath_callback call{};
        call.kind = TOWPATH_CALL_ALL;
        call.collection = collection_;
        return detail::callback_of<T, Member>(call);
    }

    // All elements that this rank has inserted are the first ones: reductions may begin.
    void done_inserting() const { towpath_done_inserting(collection_); }
    // Of a group: the branch of this rank.
    T *local() const { return (*this)[rank()].local(); }
    std::uint64_t id() const { return collection_; }

    template <auto Member, class... A>
    void send_with(const SendOptions &options, A &&...arguments) const {
        if constexpr (can_send<Member, T, A...>()) {
            auto message = detail::message_for(
                static_cast<detail::ParametersOf<Member> *>(nullptr),
                detail::EntryRecord<T, Member>::entry.number(), options, std::monostate(),
                std::forward<A>(arguments)...);
            detail::check(towpath_broadcast(collection_, &message));
            (detail::tell_copied(arguments), ...);
        }
    }

private:
    std::uint64_t collection_ = 0;
};

namespace detail {

template <class T>
CollectionProxy<T> create(towpath_collection options, const std::vector<std::byte> &parameters) {
    options.type = TypeRecord<T>::type.number();
    std::uint64_t collection;
    check(towpath_create_collection(&options, parameters.data(), parameters.size(), &collection));
    return CollectionProxy<T>(collection);
}

// One that begins with chares that are constructed with these arguments.
template <class T, class... A>
CollectionProxy<T> create_filled(towpath_collection options, A &&...arguments) {
    Constructor<T> constructor(std::forward<A>(arguments)...);
    options.is_filled = 1;
    options.constructor = constructor.number;
    return create<T>(options, constructor.parameters);
}

template <class T, std::size_t N>
towpath_collection dense(const std::array<int, N> &extents) {
    static_assert(sizeof(typename T::Index) == N * sizeof(int),
                  "the array has as many extents as its index has words");
    towpath_collection options{};
    options.dimensions = N;
    for (std::size_t at = 0; at < N; ++at) {
        if (extents[at] < 0)
            throw Error("an array has the extent " + std::to_string(extents[at]) +
                        "; extents are 0 or more");
        options.extents[at] = static_cast<std::uint32_t>(extents[at]);
    }
    return options;
}

// The extents of arrays of T.
template <class T>
using ExtentsOf = std::array<int, sizeof(typename T::Index) / sizeof(int)>;

}  // namespace detail

// Makes an array with these extents, divided into blocks among the ranks. Each element is constructed
// with these arguments.
template <class T, class... A>
CollectionProxy<T> create_array(const detail::ExtentsOf<T> &extents, A &&...arguments) {
    auto options = detail::dense<T>(extents);
    options.map = TOWPATH_BLOCK;
    return detail::create_filled<T>(options, std::forward<A>(arguments)...);
}

// The same, with elements dealt out to the ranks.
template <class T, class... A>
CollectionProxy<T> create_round_robin_array(const detail::ExtentsOf<T> &extents, A &&...arguments) {
    auto options = detail::dense<T>(extents);
    options.map = TOWPATH_ROUND_ROBIN;
    return detail::create_filled<T>(options, std::forward<A>(arguments)...);
}

// Makes an array without elements, for `insert` and `done_inserting`.
template <class T>
CollectionProxy<T> create_sparse_array() {
    towpath_collection options{};
    options.map = TOWPATH_HASH;
    return detail::create<T>(options, {});
}

// Makes a group: one chare on each rank, whose index is the rank.
template <class T, class... A>
CollectionProxy<T> create_group(A &&...arguments) {
    static_assert(std::is_same_v<typename T::Index, int>, "the index in a group is the rank");
    towpath_collection options{};
    options.map = TOWPATH_GROUP;
    return detail::create_filled<T>(options, std::forward<A>(arguments)...);
}

// Makes a chare of its own on a rank; -1: on this one.
template <class T, class... A>
ElementProxy<T> create_chare_at(int rank, A &&...arguments) {
    detail::Constructor<T> constructor(std::forward<A>(arguments)...);
    const auto &parameters = constructor.parameters;
    towpath_chare_id id;
    detail::check(towpath_create_chare(constructor.number, rank, parameters.data(),
                                       parameters.size(), &id));
    return ElementProxy<T>(id);
}

// Makes a chare of its own on this rank.
template <class T, class... A>
ElementProxy<T> create_chare(A &&...arguments) {
    return create_chare_at<T>(-1, std::forward<A>(arguments)...);
}

}  // namespace towpath
