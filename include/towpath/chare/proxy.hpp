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
        return P(argument.data, argument.size, argument.done.get());
    else if constexpr (is_view<P> && std::ranges::contiguous_range<Argument>)
        return P(std::ranges::data(argument), std::ranges::size(argument));
    else
        return static_cast<P>(std::forward<A>(argument));
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

// Whether an argument can be given for a parameter of this type.
template <class P, class A>
inline constexpr bool converts = std::is_convertible_v<A, P> ||
                                 std::is_same_v<std::remove_cvref_t<A>, P>;
template <class T, class A>
consteval bool converts_to_view() {
    using Argument = std::remove_cvref_t<A>;
    using Element = std::remove_const_t<T>;
    if constexpr (std::ranges::contiguous_range<Argument>)
        return std::is_same_v<std::ranges::range_value_t<Argument>, Element>;
    else
        return std::is_same_v<Argument, NoCopy<Element>>;
}
template <class T, class A>
inline constexpr bool converts<View<T>, A> = converts_to_view<T, A>();

// Arguments fit to parameters. Otherwise a sentence says what is wrong.
template <class... P, class... A>
consteval bool do_fit(std::tuple<P...> *, std::type_identity<A>...) {
    static_assert(sizeof...(P) == sizeof...(A),
                  "the entry method has another number of parameters");
    if constexpr (sizeof...(P) == sizeof...(A)) {
        static_assert((converts<P, A> && ...),
                      "an argument does not convert to the parameter of the entry method; for a "
                      "View it is a contiguous range, or nocopy, of the same elements");
        return (converts<P, A> && ...);
    }
    return false;
}

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

// What is sent for an argument of a constructor: for a C string, a std::string.
template <class A>
using Sent = std::conditional_t<std::is_convertible_v<A, const char *>, std::string,
                                std::decay_t<A>>;

// A constructor of T, and its parameters as bytes.
template <class T>
struct Constructor {
    std::uint32_t number = 0;
    std::vector<std::byte> parameters;

    template <class... A>
    explicit Constructor(A &&...arguments) {
        if constexpr (can_construct<T, Sent<A>...>()) {
            std::tuple<Sent<A>...> sent(std::forward<A>(arguments)...);
            Sizer sizer;
            sizer & sent;
            parameters.resize(sizer.size());
            Writer(parameters.data()) & sent;
            number = ConstructorRecord<T, Sent<A>...>::entry.number();
        }
    }
};

template <auto Member>
using ParametersOf = typename MemberTraits<decltype(Member)>::Parameters;
template <auto Member>
using ResultOf =
    std::remove_cvref_t<typename TaskResult<typename MemberTraits<decltype(Member)>::Result>::type>;

}  // namespace detail

template <auto Member, class T, class... A>
consteval bool can_send() {
    if constexpr (is_entry_of<Member, T>())
        return detail::do_fit(static_cast<detail::ParametersOf<Member> *>(nullptr),
                              std::type_identity<A>()...);
    return false;
}

template <auto Member, class T>
consteval bool takes_result() {
    if constexpr (is_method_of<Member, T>()) {
        constexpr bool fits = std::tuple_size_v<detail::ParametersOf<Member>> <= 1;
        static_assert(fits, "a method that is told of a result has one parameter, or none");
        return fits;
    }
    return false;
}

template <class T>
class ElementProxy;

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
            return result;
        } else {
            // What `co_await` accepts, so that the compiler says nothing more.
            return Future<>();
        }
    }

    // A callback that invokes a method of it with the result.
    template <auto Member>
    Callback callback() const {
        towpath_callback call{};
        call.kind = TOWPATH_CALL_CHARE;
        call.collection = id_.collection;
        call.index = id_.index;
        if constexpr (takes_result<Member, T>())
            call.entry = detail::EntryRecord<T, Member>::entry.number();
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
        return ElementProxy<T>(towpath_chare_id{collection_, detail::words_of(index)});
    }

    // Broadcasts a message, which every chare gets once.
    template <auto Member, class... A>
    void send(A &&...arguments) const {
        send_with<Member>(SendOptions(), std::forward<A>(arguments)...);
    }

    Sender<CollectionProxy> with(const SendOptions &options) const { return {*this, options}; }

    // A callback that invokes a method of all with the result.
    template <auto Member>
    Callback callback() const {
        towpath_callback call{};
        call.kind = TOWPATH_CALL_ALL;
        call.collection = collection_;
        if constexpr (takes_result<Member, T>())
            call.entry = detail::EntryRecord<T, Member>::entry.number();
        return Callback(call);
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
