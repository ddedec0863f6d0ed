// Proxies: names of chares, by which messages are sent. They are values that can be sent.
#pragma once

#include "entry.hpp"

namespace towpath {

// How a message is sent: `proxy[8].with({.priority = -5}).send<&Cell::work>()`.
struct SendOptions {
    // Smaller is more urgent. Messages without priority have priority 0.
    std::optional<std::int32_t> priority{};
    // The message passes all that are not expedited.
    bool is_expedited = false;
    // The number by which a mailbox finds it.
    std::uint32_t reference = 0;
};

// An array to be sent without a copy on the way, where that is possible; it must not change until
// the callback is called, once. The parameter is a View.
template <class T>
struct NoCopy {
    using is_not_serializable = void;

    const T *data;
    std::size_t size;
    Callback done;

    // A short one is copied into the message, which takes less time.
    bool is_short() const { return size * sizeof(T) < detail::beside; }
};

template <detail::Plain T>
NoCopy<T> nocopy(const T *data, std::size_t size, Callback done = {}) {
    return {data, size, done};
}

template <std::ranges::contiguous_range Range>
auto nocopy(const Range &range, Callback done = {}) {
    return nocopy(std::ranges::data(range), std::ranges::size(range), done);
}

namespace detail {

template <class T>
inline constexpr bool is_nocopy = false;
template <class T>
inline constexpr bool is_nocopy<NoCopy<T>> = true;

// An argument as the parameter of this type that is sent. What needs no conversion is not copied.
template <class P, class A>
decltype(auto) converted(A &&argument) {
    using Argument = std::remove_cvref_t<A>;
    if constexpr (std::is_same_v<Argument, P>)
        return static_cast<const P &>(argument);
    else if constexpr (is_view<P> && is_nocopy<Argument>)
        return argument.is_short() ? P(argument.data, argument.size)
                                   : P(argument.data, argument.size, argument.done.get());
    else if constexpr (is_view<P> && std::ranges::contiguous_range<Argument>)
        return P(std::ranges::data(argument), std::ranges::size(argument));
    else
        return static_cast<P>(std::forward<A>(argument));
}

// Calls the callback of an array that has been copied.
template <class A>
void tell_copied(const A &argument) {
    if constexpr (is_nocopy<A>) {
        if (argument.is_short())
            argument.done();
    }
}

template <class Archive>
void transfer_all(Archive &archive, const auto &...values) {
    (transfer(archive, values), ...);
}

inline towpath_message new_message(std::size_t bytes, std::uint32_t entry,
                                   const SendOptions &options) {
    towpath_message message;
    towpath_message_new(bytes, &message);
    message.entry = entry;
    message.reference = options.reference;
    if (options.is_expedited)
        message.flags |= TOWPATH_EXPEDITED;
    if (options.priority) {
        message.flags |= TOWPATH_PRIORITY;
        message.priority = *options.priority;
    }
    return message;
}

// A message with these values.
template <class... V>
towpath_message message_of(std::uint32_t entry, const SendOptions &options, const V &...values) {
    Sizer sizer;
    sizer.of_message();
    transfer_all(sizer, values...);
    towpath_message message = new_message(sizer.size(), entry, options);
    Writer writer(message);
    transfer_all(writer, values...);
    return message;
}

template <class Parameters, class... A>
inline constexpr bool fits = false;
template <class... P, class... A>
    requires(sizeof...(P) == sizeof...(A))
inline constexpr bool fits<std::tuple<P...>, A...> =
    (requires(A &&argument) { converted<P>(std::forward<A>(argument)); } && ...);

// A message with these arguments as parameters.
template <class... P, class... A>
towpath_message message_for(std::tuple<P...> *, std::uint32_t entry, const SendOptions &options,
                            const auto &before, A &&...arguments) {
    auto build = [&](const auto &...values) {
        if constexpr (std::is_same_v<decltype(before), const std::monostate &>)
            return message_of(entry, options, values...);
        else
            return message_of(entry, options, before, values...);
    };
    return build(converted<P>(std::forward<A>(arguments))...);
}

// Where an index type stands in the six words.
template <class I>
towpath_index words_of(const I &index) {
    static_assert(std::is_trivially_copyable_v<I> && sizeof(I) <= 24 && sizeof(I) % 4 == 0,
                  "an index is an int, a std::array of up to six ints, or a structure of up to "
                  "six words of 32 bits that can be copied byte by byte");
    towpath_index words{};
    words.length = sizeof(I) / 4;
    std::memcpy(words.words, &index, sizeof(I));
    return words;
}

template <class I>
I index_of(const towpath_index &words) {
    I index;
    std::memcpy(&index, words.words, sizeof(I));
    return index;
}

template <auto Member>
using ParametersOf = typename MemberTraits<decltype(Member)>::Parameters;
template <auto Member>
using ResultOf =
    typename TaskResult<typename MemberTraits<decltype(Member)>::Result>::type;

}  // namespace detail

// These arguments fit to the parameters of an entry method.
template <auto Member, class... A>
concept ArgumentsOf = detail::fits<detail::ParametersOf<Member>, A...>;

template <class T>
class ElementProxy;

// A proxy with options.
template <class Proxy>
class Sender {
public:
    Sender(const Proxy &proxy, const SendOptions &options) : proxy_(proxy), options_(options) {}

    template <auto Member, class... A>
        requires EntryOf<Member, typename Proxy::Chare> && ArgumentsOf<Member, A...>
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

    // Sends a message that invokes a method of it, or reaches a mailbox.
    template <auto Member, class... A>
        requires EntryOf<Member, T> && ArgumentsOf<Member, A...>
    void send(A &&...arguments) const {
        send_with<Member>(SendOptions(), std::forward<A>(arguments)...);
    }

    Sender<ElementProxy> with(const SendOptions &options) const { return {*this, options}; }

    // Invokes a method, whose result the future gets.
    template <auto Member, class... A>
        requires MethodOf<Member, T> && ArgumentsOf<Member, A...>
    auto call(A &&...arguments) const {
        Future<detail::ResultOf<Member>> result;
        auto message = detail::message_for(
            static_cast<detail::ParametersOf<Member> *>(nullptr),
            detail::CallRecord<T, Member>::entry.number(), SendOptions(), result.callback(),
            std::forward<A>(arguments)...);
        detail::check(towpath_invoke(&id_, &message));
        (detail::tell_copied(arguments), ...);
        return result;
    }

    // A callback that invokes a method of it with the result.
    template <auto Member>
        requires MethodOf<Member, T>
    Callback callback() const {
        towpath_callback call{};
        call.kind = TOWPATH_CALL_CHARE;
        call.entry = detail::EntryRecord<T, Member>::entry.number();
        call.collection = id_.collection;
        call.index = id_.index;
        return Callback(call);
    }

    // Inserts the element, on the home of its index.
    template <class... A>
    void insert(A &&...arguments) const {
        insert_at(-1, std::forward<A>(arguments)...);
    }
    // The same on a rank.
    template <class... A>
    void insert_at(int rank, A &&...arguments) const {
        std::tuple<std::decay_t<A>...> parameters(std::forward<A>(arguments)...);
        std::vector<std::byte> bytes = packed(parameters);
        auto number = detail::ConstructorRecord<T, std::decay_t<A>...>::entry.number();
        detail::check(towpath_insert(&id_, number, rank, bytes.data(), bytes.size()));
    }

    // The object, if it is on this rank.
    T *local() const { return static_cast<T *>(towpath_local(&id_)); }
    const towpath_chare_id &id() const { return id_; }

    template <auto Member, class... A>
    void send_with(const SendOptions &options, A &&...arguments) const {
        auto message = detail::message_for(
            static_cast<detail::ParametersOf<Member> *>(nullptr),
            detail::EntryRecord<T, Member>::entry.number(), options, std::monostate(),
            std::forward<A>(arguments)...);
        detail::check(towpath_invoke(&id_, &message));
        (detail::tell_copied(arguments), ...);
    }

    // Parameters of a constructor as bytes.
    static std::vector<std::byte> packed(const auto &parameters) {
        detail::Sizer sizer;
        sizer & parameters;
        std::vector<std::byte> bytes(sizer.size());
        detail::Writer(bytes.data()) & parameters;
        return bytes;
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
        return ElementProxy<T>(towpath_chare_id{collection_, detail::words_of(index)});
    }

    // Broadcasts a message, which every chare gets once.
    template <auto Member, class... A>
        requires EntryOf<Member, T> && ArgumentsOf<Member, A...>
    void send(A &&...arguments) const {
        send_with<Member>(SendOptions(), std::forward<A>(arguments)...);
    }

    Sender<CollectionProxy> with(const SendOptions &options) const { return {*this, options}; }

    // A callback that invokes a method of all with the result.
    template <auto Member>
        requires MethodOf<Member, T>
    Callback callback() const {
        towpath_callback call{};
        call.kind = TOWPATH_CALL_ALL;
        call.entry = detail::EntryRecord<T, Member>::entry.number();
        call.collection = collection_;
        return Callback(call);
    }

    // All elements that this rank has inserted are the first ones: reductions may begin.
    void done_inserting() const { towpath_done_inserting(collection_); }
    // Of a group: the branch of this rank.
    T *local() const { return (*this)[rank()].local(); }
    std::uint64_t id() const { return collection_; }

    template <auto Member, class... A>
    void send_with(const SendOptions &options, A &&...arguments) const {
        auto message = detail::message_for(
            static_cast<detail::ParametersOf<Member> *>(nullptr),
            detail::EntryRecord<T, Member>::entry.number(), options, std::monostate(),
            std::forward<A>(arguments)...);
        detail::check(towpath_broadcast(collection_, &message));
        (detail::tell_copied(arguments), ...);
    }

private:
    std::uint64_t collection_ = 0;
};

namespace detail {

template <class T, class... A>
CollectionProxy<T> create(towpath_collection options, A &&...arguments) {
    options.type = TypeRecord<T>::type.number();
    std::tuple<std::decay_t<A>...> parameters(std::forward<A>(arguments)...);
    auto bytes = ElementProxy<T>::packed(parameters);
    if (options.is_filled)
        options.constructor = ConstructorRecord<T, std::decay_t<A>...>::entry.number();
    std::uint64_t collection;
    check(towpath_create_collection(&options, bytes.data(), bytes.size(), &collection));
    return CollectionProxy<T>(collection);
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
    options.is_filled = 1;
    return detail::create<T>(options, std::forward<A>(arguments)...);
}

// The same, with elements dealt out to the ranks.
template <class T, class... A>
CollectionProxy<T> create_round_robin_array(const detail::ExtentsOf<T> &extents, A &&...arguments) {
    auto options = detail::dense<T>(extents);
    options.map = TOWPATH_ROUND_ROBIN;
    options.is_filled = 1;
    return detail::create<T>(options, std::forward<A>(arguments)...);
}

// Makes an array without elements, for `insert` and `done_inserting`.
template <class T>
CollectionProxy<T> create_sparse_array() {
    towpath_collection options{};
    options.map = TOWPATH_HASH;
    return detail::create<T>(options);
}

// Makes a group: one chare on each rank, whose index is the rank.
template <class T, class... A>
CollectionProxy<T> create_group(A &&...arguments) {
    static_assert(std::is_same_v<typename T::Index, int>, "the index in a group is the rank");
    towpath_collection options{};
    options.map = TOWPATH_GROUP;
    options.is_filled = 1;
    return detail::create<T>(options, std::forward<A>(arguments)...);
}

// Makes a chare of its own on a rank; -1: on this one.
template <class T, class... A>
ElementProxy<T> create_chare_at(int rank, A &&...arguments) {
    std::tuple<std::decay_t<A>...> parameters(std::forward<A>(arguments)...);
    auto bytes = ElementProxy<T>::packed(parameters);
    auto number = detail::ConstructorRecord<T, std::decay_t<A>...>::entry.number();
    towpath_chare_id id;
    detail::check(towpath_create_chare(number, rank, bytes.data(), bytes.size(), &id));
    return ElementProxy<T>(id);
}

// Makes a chare of its own on this rank.
template <class T, class... A>
ElementProxy<T> create_chare(A &&...arguments) {
    return create_chare_at<T>(-1, std::forward<A>(arguments)...);
}

}  // namespace towpath
