// What proxies send: messages with arguments as parameters, and constructors.
#pragma once

#include "entry.hpp"
#include "priority.hpp"

namespace towpath {

// How a message is sent: `proxy[8].with({.priority = -5}).send<&Cell::work>()`.
struct SendOptions {
    // Messages without priority have priority 0.
    Priority priority{};
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
    bool is_short = !detail::ShortestArray().is_beside(size * sizeof(T));
};

template <detail::Plain T>
NoCopy<T> nocopy(const T *data, std::size_t size, Callback done = {}) {
    return {data, size, done};
}

template <std::ranges::contiguous_range Range>
auto nocopy(Range &&range, Callback done = {}) {
    static_assert(std::is_lvalue_reference_v<Range> || std::ranges::borrowed_range<Range>,
                  "nocopy sends an array from where it is, but a temporary is gone too early");
    using Element = std::remove_const_t<std::ranges::range_value_t<Range>>;
    return NoCopy<Element>{std::ranges::data(range), std::ranges::size(range), done};
}

template <detail::Plain T, class P>
NoCopy<T> nocopy(const T *data, std::size_t size, const CallbackOf<P> &done) {
    static_cast<void>(takes_nothing<P>());
    return {data, size, done};
}

template <std::ranges::contiguous_range Range, class P>
auto nocopy(Range &&range, const CallbackOf<P> &done) {
    static_cast<void>(takes_nothing<P>());
    return nocopy(std::forward<Range>(range), Callback(done));
}

// Elements that an MPI datatype describes, to be sent one behind the other. The parameter is a
// View.
template <class T>
struct Strided {
    using is_not_serializable = void;

    const T *data;
    std::size_t count;
    std::uintptr_t datatype;
};

// So many elements of a committed datatype, as MPI_Send takes them; it consists of elements T. They
// are copied once, into the message, and may change at once.
template <detail::Plain T, class Datatype>
Strided<T> strided(const T *data, std::size_t count, Datatype datatype) {
    std::uintptr_t handle;
    if constexpr (std::is_pointer_v<Datatype>)
        handle = reinterpret_cast<std::uintptr_t>(datatype);
    else
        handle = static_cast<std::uintptr_t>(static_cast<unsigned>(datatype));
    if (handle == 0)
        throw Error("strided was called with a datatype that is no handle: it was not set");
    return {data, count, handle};
}

namespace detail {

template <class T>
inline constexpr bool is_nocopy = false;
template <class T>
inline constexpr bool is_nocopy<NoCopy<T>> = true;
template <class T>
inline constexpr bool is_strided = false;
template <class T>
inline constexpr bool is_strided<Strided<T>> = true;

// An argument as the parameter of this type that is sent. What needs no conversion is not copied.
template <class P, class A>
decltype(auto) converted(A &&argument) {
    using Argument = std::remove_cvref_t<A>;
    if constexpr (std::is_same_v<Argument, P>)
        return static_cast<const P &>(argument);
    else if constexpr (is_view<P> && is_nocopy<Argument>)
        return argument.is_short ? P(argument.data, argument.size)
                                   : P(argument.data, argument.size, argument.done.get());
    else if constexpr (is_view<P> && is_strided<Argument>)
        return P::strided(argument.data, argument.count, argument.datatype);
    else if constexpr (is_view<P> && std::ranges::contiguous_range<Argument>)
        return P(std::ranges::data(argument), std::ranges::size(argument));
    else
        return static_cast<P>(std::forward<A>(argument));
}

// Calls the callback of an array that has been copied.
template <class A>
void tell_copied(const A &argument) {
    if constexpr (is_nocopy<A>) {
        if (argument.is_short)
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
    const auto &priority = options.priority;
    if (priority.is_integer()) {
        towpath_message_new(bytes, &message);
        message.priority = priority.number();
        message.flags = priority.is_set() ? TOWPATH_PRIORITY : 0;
    } else {
        auto words = priority.words();
        check(towpath_message_new_prioritized(bytes, words.data(), priority.bits(), &message));
    }
    message.entry = entry;
    message.reference = options.reference;
    if (options.is_expedited)
        message.flags |= TOWPATH_EXPEDITED;
    return message;
}

// A message with these values.
template <class... V>
towpath_message message_of(std::uint32_t entry, const SendOptions &options, const V &...values) {
    Sizer sizer;
    sizer.of_message();
    transfer_all(sizer, values...);
    towpath_message message = new_message(sizer.size(), entry, options);
    try {
        Writer writer(message, sizer);
        transfer_all(writer, values...);
    } catch (...) {
        towpath_message_free(&message);
        throw;
    }
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
        return std::is_same_v<Argument, NoCopy<Element>> ||
               std::is_same_v<Argument, Strided<Element>>;
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
                      "View it is a contiguous range, nocopy or strided of the same elements");
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
    static_assert(std::has_unique_object_representations_v<I>,
                  "an index has no bytes between its members, and no floating-point numbers");
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
            Writer(parameters.data(), parameters.size()) & sent;
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

namespace detail {

// The first of these types, or void.
template <class Parameters>
struct FirstOf {
    using type = void;
};
template <class First, class... P>
struct FirstOf<std::tuple<First, P...>> {
    using type = First;
};
// What a callback that invokes a method is told.
template <auto Member>
using ToldTo = typename FirstOf<ParametersOf<Member>>::type;

}  // namespace detail

template <auto Member, class T>
consteval bool takes_result() {
    if constexpr (is_method_of<Member, T>()) {
        constexpr bool fits = std::tuple_size_v<detail::ParametersOf<Member>> <= 1;
        static_assert(fits, "a method that is told of a result has one parameter, or none");
        return fits;
    }
    return false;
}

}  // namespace towpath
