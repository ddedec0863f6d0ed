// Callbacks: who is told of a result. They can be sent to other ranks.
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>

#include "lists.hpp"

namespace towpath {

// Who is told of the result of a reduction, of quiescence, or that an array was sent. Proxies make
// those that invoke methods, `callback` those that call functions.
class Callback {
public:
    // Nobody.
    Callback() : call_{} {}
    explicit Callback(const towpath_callback &call) : call_(call) {}

    // Ends the job with code 0.
    static Callback exit() {
        Callback callback;
        callback.call_.kind = TOWPATH_CALL_EXIT;
        return callback;
    }

    // With this reference number.
    Callback with_reference(std::uint32_t reference) const {
        Callback callback(call_);
        callback.call_.reference = reference;
        return callback;
    }

    bool is_nobody() const { return call_.kind == TOWPATH_CALL_NOBODY; }

    void operator()() const { detail::check(towpath_call_back(&call_, nullptr, 0)); }

    template <Serializable T>
    void operator()(const T &value) const {
        static_assert(!detail::ListOfParts<T>, "only reductions give a Set or Results; call the "
                                               "callback with a std::vector or std::tuple");
        detail::with_value(value, [&](const void *at, std::size_t bytes) {
            detail::check(towpath_call_back(&call_, at, bytes));
        });
    }

    // For the library: tells a future that there will be no value, and why.
    void fail(const std::string &reason) const {
        towpath_callback call = call_;
        call.function |= failed;
        detail::check(towpath_call_back(&call, reason.data(), reason.size()));
    }
    // In the number of a function: the value is the reason why there is none.
    static constexpr std::uint64_t failed = std::uint64_t{1} << 63;

    const towpath_callback *get() const { return &call_; }

private:
    towpath_callback call_;
};

namespace detail {

template <class P, class V>
inline constexpr bool are_ranges_of_same = false;
template <std::ranges::contiguous_range P, std::ranges::contiguous_range V>
inline constexpr bool are_ranges_of_same<P, V> =
    std::is_same_v<std::ranges::range_value_t<P>, std::ranges::range_value_t<V>>;

// Who expects a P takes a V, or whatever if P is void.
template <class P, class V>
inline constexpr bool takes_value =
    std::is_void_v<P> || std::is_same_v<P, V> || are_ranges_of_same<P, V>;

}  // namespace detail

// What is told a P takes a call without a value.
template <class P>
consteval bool takes_nothing() {
    static_assert(std::is_void_v<P>, "the callback is told a value, and this gives it none");
    return std::is_void_v<P>;
}

// A callback of which the compiler knows what type of value it is told: that of a future, a function
// or a method. As a parameter `CallbackOf<int>` it is given to those only that tell it an int.
template <class P>
class CallbackOf : public Callback {
public:
    CallbackOf() = default;
    // The program knows that it takes such a value.
    explicit CallbackOf(const Callback &callback) : Callback(callback) {}

    CallbackOf with_reference(std::uint32_t reference) const {
        return CallbackOf(Callback::with_reference(reference));
    }

    void operator()() const {
        if constexpr (takes_nothing<P>())
            Callback::operator()();
    }

    template <Serializable T>
    void operator()(const T &value) const {
        constexpr bool converts = detail::takes_value<P, T> || std::is_convertible_v<T, P>;
        static_assert(converts, "the callback is told a value of another type");
        if constexpr (detail::takes_value<P, T>)
            Callback::operator()(value);
        else if constexpr (converts)
            Callback::operator()(static_cast<P>(value));
    }
};

namespace detail {

// Something on this rank that gets a value once.
struct Completion {
    virtual ~Completion() = default;
    virtual void complete(const void *value, std::size_t bytes) = 0;
    // There will be no value.
    virtual void fail(std::string reason) { throw Error(reason); }
};

// Completions by the numbers that callbacks name. A chare may keep a callback beyond a restart, so
// the numbers of a job begin behind those of earlier ones: with the nanoseconds since 1970.
struct Completions {
    std::unordered_map<std::uint64_t, std::shared_ptr<Completion>> waiting;
    std::uint64_t made = std::chrono::nanoseconds(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();

    Callback add(std::shared_ptr<Completion> completion) {
        waiting.emplace(++made, std::move(completion));
        towpath_callback call{};
        call.kind = TOWPATH_CALL_FUNCTION;
        call.rank = towpath_rank();
        call.function = made;
        return Callback(call);
    }

    void complete(std::uint64_t number, const void *value, std::size_t bytes) {
        auto found = waiting.extract(number & ~Callback::failed);
        if (!found)
            throw Error("a callback of a function or a future was called twice, or after a restart");
        auto &completion = found.mapped();
        if (!(number & Callback::failed))
            return completion->complete(value, bytes);
        std::string reason(static_cast<const char *>(value), bytes);
        // Nobody can ask for the value of a future that only this refers to.
        if (completion.use_count() == 1)
            throw Error(reason);
        completion->fail(reason);
    }
};

inline thread_local Completions completions;

template <class Function, class Value>
struct FunctionCompletion : Completion {
    explicit FunctionCompletion(Function called) : function(std::move(called)) {}

    void complete(const void *value, std::size_t bytes) override {
        if constexpr (std::is_void_v<Value>)
            function();
        else
            function(read_value<Value>(value, bytes));
    }

    Function function;
};

// The parameter of a function without or with one.
template <class Function>
struct FunctionValue {
    static_assert(!sizeof(Function), "a callback calls a function, or a lambda that is no template, "
                                     "with one parameter or none, which returns nothing");
};
template <class Function>
    requires requires { &Function::operator(); }
struct FunctionValue<Function> : FunctionValue<decltype(&Function::operator())> {};
template <bool N>
struct FunctionValue<void (*)() noexcept(N)> {
    using type = void;
};
template <class V, bool N>
struct FunctionValue<void (*)(V) noexcept(N)> {
    using type = std::decay_t<V>;
};
template <class C, bool N>
struct FunctionValue<void (C::*)() const noexcept(N)> {
    using type = void;
};
template <class C, bool N>
struct FunctionValue<void (C::*)() noexcept(N)> {
    using type = void;
};
template <class C, class V, bool N>
struct FunctionValue<void (C::*)(V) const noexcept(N)> {
    using type = std::decay_t<V>;
};
template <class C, class V, bool N>
struct FunctionValue<void (C::*)(V) noexcept(N)> {
    using type = std::decay_t<V>;
};

}  // namespace detail

// A callback that calls a function on this rank, once: `callback([](double sum) { ... })`.
template <class Function>
auto callback(Function function) {
    using Value = typename detail::FunctionValue<Function>::type;
    using Completion = detail::FunctionCompletion<Function, Value>;
    auto completion = std::make_shared<Completion>(std::move(function));
    return CallbackOf<Value>(detail::completions.add(std::move(completion)));
}

}  // namespace towpath
