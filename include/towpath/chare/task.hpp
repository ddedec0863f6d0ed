// Coroutines: entry methods that wait. A chare whose method waits cannot migrate meanwhile.
#pragma once

#include <coroutine>
#include <optional>
#include <variant>

#include "callback.hpp"

namespace towpath {

namespace detail {

// A coroutine that waits, the list in which it does, and the chare whose method it is, if it is one
// of a chare.
class Suspension {
public:
    using List = std::vector<Suspension *>;

    Suspension() = default;
    Suspension(const Suspension &) = delete;
    // A coroutine that is deleted waits no more.
    ~Suspension() {
        if (!handle_)
            return;
        std::erase(*list_, this);
        if (is_of_chare_)
            towpath_unpin(&id_);
    }

    void suspend(std::coroutine_handle<> handle, List &list) {
        is_of_chare_ = running != nullptr;
        if (is_of_chare_) {
            id_ = *running;
            check(towpath_pin(&id_));
        }
        handle_ = handle;
        list_ = &list;
        list.push_back(this);
    }

    // Lets it go on. It may end, and this with it.
    void resume() {
        if (!is_of_chare_) {
            RunningScope scope(nullptr, true);
            taken().resume();
            return;
        }
        towpath_chare_id id = id_;
        bool runs_already = running != nullptr && is_same(*running, id);
        // This finds the chare, which is here while it is pinned.
        if (!runs_already)
            check(towpath_enter(&id));
        towpath_unpin(&id);
        {
            RunningScope scope(&id, true);
            taken().resume();
        }
        if (!runs_already)
            towpath_leave(&id);
    }

private:
    // The coroutine, which waits no more.
    std::coroutine_handle<> taken() {
        std::erase(*list_, this);
        return std::exchange(handle_, nullptr);
    }

    std::coroutine_handle<> handle_;
    List *list_ = nullptr;
    towpath_chare_id id_{};
    bool is_of_chare_ = false;
};

}  // namespace detail

// What a coroutine returns. It begins at once; a method that returns one is an entry method that may
// wait, and another coroutine may `co_await` it.
template <class R = void>
class [[nodiscard]] Task;

namespace detail {

struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        auto next = handle.promise().continuation;
        return next ? next : std::noop_coroutine();
    }
    void await_resume() noexcept {}
};

template <class R>
struct PromiseBase {
    std::coroutine_handle<> continuation;
    std::exception_ptr exception;

    std::suspend_never initial_suspend() noexcept { return {}; }
    FinalAwaiter final_suspend() noexcept { return {}; }
    void unhandled_exception() { exception = std::current_exception(); }
};

template <class R>
struct Promise : PromiseBase<R> {
    std::optional<R> result;

    Task<R> get_return_object();
    template <class V>
    void return_value(V &&value) {
        result.emplace(std::forward<V>(value));
    }
};

template <>
struct Promise<void> : PromiseBase<void> {
    Task<void> get_return_object();
    void return_void() {}
};

template <class T>
inline constexpr bool is_task = false;
template <class R>
inline constexpr bool is_task<Task<R>> = true;

template <class T>
struct TaskResult {
    using type = T;
};
template <class R>
struct TaskResult<Task<R>> {
    using type = R;
};

}  // namespace detail

template <class R>
class [[nodiscard]] Task {
public:
    using promise_type = detail::Promise<R>;

    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    Task(Task &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    ~Task() {
        if (handle_)
            handle_.destroy();
    }

    bool await_ready() const { return handle_.done(); }
    void await_suspend(std::coroutine_handle<> next) { handle_.promise().continuation = next; }
    R await_resume() {
        auto &promise = handle_.promise();
        if (promise.exception)
            std::rethrow_exception(promise.exception);
        if constexpr (!std::is_void_v<R>)
            return std::move(*promise.result);
    }

private:
    std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class R>
Task<R> Promise<R>::get_return_object() {
    return Task<R>(std::coroutine_handle<Promise>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() {
    return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

// A coroutine that nobody waits for: an entry method, or the main function.
struct Detached {
    struct promise_type {
        std::string (*name)();

        promise_type(auto &, auto &, std::string (*method)(), bool) : name(method) {}
        Detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void unhandled_exception() {
            // Unless it has waited, the library knows what runs.
            std::string where;
            if (has_waited)
                where = name() + running_index() + ", which had waited, failed: ";
            fail(std::current_exception(), where);
        }
        void return_void() {}
    };
};

// What an exception of a method says to its caller.
inline void tell_failure(const Callback &reply, const std::string &method) {
    std::string where = method + running_index() + " failed: ";
    try {
        throw;
    } catch (const std::exception &error) {
        reply.fail(where + error.what());
    } catch (...) {
        reply.fail(where + no_exception);
    }
}

// Lets a task end, and tells a callback of its result, or that it has failed if somebody wants to
// know.
template <class R>
Detached finish(Task<R> task, Callback reply, std::string (*method)(), bool is_told) {
    try {
        if constexpr (std::is_void_v<R>) {
            co_await task;
            if (!reply.is_nobody())
                reply();
        } else {
            R result = co_await task;
            if (!reply.is_nobody())
                reply(result);
        }
    } catch (...) {
        if (!is_told)
            throw;
        tell_failure(reply, method());
    }
}

template <class R>
struct FutureState : Completion {
    static_assert(!is_view<R>, "a future outlives the message");

    std::optional<std::conditional_t<std::is_void_v<R>, std::monostate, R>> value;
    // Why there is no value.
    std::optional<std::string> failure;
    Suspension::List waiting;

    bool is_ready() const { return value.has_value() || failure.has_value(); }

    void complete(const void *bytes, std::size_t size) override {
        if constexpr (std::is_void_v<R>)
            value.emplace();
        else
            value.emplace(read_value<R>(bytes, size));
        resume_all();
    }
    void fail(std::string reason) override {
        failure = std::move(reason);
        resume_all();
    }
    void resume_all() {
        while (!waiting.empty())
            waiting.front()->resume();
    }
};

template <class R>
struct FutureAwaiter {
    std::shared_ptr<FutureState<R>> state;
    Suspension suspension{};

    bool await_ready() const { return state->is_ready(); }
    void await_suspend(std::coroutine_handle<> handle) {
        suspension.suspend(handle, state->waiting);
    }
    // The value, which several may wait for if it can be copied.
    R await_resume() const {
        if (state->failure)
            throw Error(*state->failure);
        if constexpr (std::is_copy_constructible_v<R>)
            return *state->value;
        else if constexpr (!std::is_void_v<R>)
            return std::move(*state->value);
    }
};

}  // namespace detail

// A value that comes later, on this rank, by its callback, which can be sent anywhere:
//
//     Future<double> sum;
//     contribute(towpath::sum, part, sum.callback());
//     double all = co_await sum;
template <class R = void>
class [[nodiscard]] Future {
public:
    Future() : state_(std::make_shared<detail::FutureState<R>>()) {
        callback_ = CallbackOf<R>(detail::completions.add(state_));
    }

    // Completes the future, once.
    const CallbackOf<R> &callback() const { return callback_; }
    bool is_ready() const { return state_->is_ready(); }

    auto operator co_await() const { return detail::FutureAwaiter<R>{state_}; }

private:
    std::shared_ptr<detail::FutureState<R>> state_;
    CallbackOf<R> callback_;
};

// A future that is ready when no message is left anywhere, but for those that wait for it.
inline Future<> quiescence() {
    Future<> future;
    detail::check(towpath_start_quiescence(future.callback().get()));
    return future;
}

}  // namespace towpath
