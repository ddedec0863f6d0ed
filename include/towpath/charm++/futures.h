// Callbacks that awaken threads, futures, and quiescence.
#ifndef TOWPATH_CHARM_FUTURES_H
#define TOWPATH_CHARM_FUTURES_H

#include <exception>
#include <memory>

#include "tuples.h"
#include "waiting.h"

namespace ck {

inline void Functions::call(std::uint64_t number, const void *value, std::size_t bytes) {
    bool has_message = (number & WITH_MESSAGE) != 0;
    number &= ~WITH_MESSAGE;
    if (auto plain = ever.find(number); plain != ever.end()) {
        auto [function, parameter] = plain->second;
        if (has_message)
            return function(parameter, message_of_bytes(value, bytes));
        return function(parameter, new CkReductionMsg(value, bytes));
    }
    if (has_message)
        fail("a callback that awakens a thread was sent with a message of the program: send bytes "
             "or a CkDataMsg, or use a CkFuture");
    auto found = once.extract(number);
    if (found.empty())
        fail("a callback that can be used once was used twice, or is of the job before a restart");
    found.mapped()(value, bytes);
}

// A function of this rank that completes a wait.
inline towpath_callback completing(const std::shared_ptr<Wait> &wait) {
    towpath_callback c = {};
    c.kind = TOWPATH_CALL_FUNCTION;
    c.rank = towpath_rank();
    c.function = Functions::all().add_once(
        [wait](const void *value, std::size_t bytes) { wait->complete(value, bytes); });
    return c;
}

inline ReplyTo replying(const std::shared_ptr<Wait> &wait) {
    towpath_callback c = completing(wait);
    return {c.rank, c.function};
}

inline void reply(const ReplyTo &to, const void *value, std::size_t bytes) {
    if (to.function == 0)
        return;
    towpath_callback c = {};
    c.kind = TOWPATH_CALL_FUNCTION;
    c.rank = to.rank;
    c.function = to.function;
    check(towpath_call_back(&c, value, bytes));
}

// The result of a method, to whoever waits for it. Messages travel as they are.
template <class T> inline void reply_value(const ReplyTo &to, T &&result) {
    using Plain = std::decay_t<T>;
    if constexpr (std::is_pointer_v<Plain>) {
        void *packed_message = packed(result);
        reply(to, packed_message, MessageHeader::of(packed_message)->bytes);
        free_message(packed_message);
    } else {
        std::vector<char> bytes(PUP::size(result));
        PUP::toMemBuf(result, bytes.data(), bytes.size());
        reply(to, bytes.data(), bytes.size());
    }
}

template <class T> inline T awaited(const std::vector<char> &bytes) {
    if constexpr (std::is_pointer_v<T>) {
        void *object = allocate_message(bytes.size());
        if (!bytes.empty())
            std::memcpy(object, bytes.data(), bytes.size());
        return static_cast<T>(std::remove_pointer_t<T>::unpack(object));
    } else if constexpr (!std::is_void_v<T>) {
        T value = PUP::detail::fresh<T>();
        PUP::fromMemBuf(value, bytes.data(), bytes.size());
        return value;
    }
}

// What threads of this rank wait for, by the function that completes it.
inline std::unordered_map<std::uint64_t, std::shared_ptr<Wait>> &waits() {
    static std::unordered_map<std::uint64_t, std::shared_ptr<Wait>> all;
    return all;
}

inline std::shared_ptr<Wait> waited_for(std::uint32_t rank, std::uint64_t function) {
    auto known = waits().find(function);
    if (rank != towpath_rank() || known == waits().end())
        fail("only the rank that has made a future, or a callback of the kind resumeThread, can "
             "wait for it, until it is released");
    return known->second;
}

inline towpath_callback awaited_callback() {
    auto wait = std::make_shared<Wait>();
    towpath_callback c = completing(wait);
    waits().emplace(c.function, wait);
    return c;
}

} // namespace ck

inline CkCallback::CkCallback(callbackType type) {
    switch (type) {
    case ignore:
        ignores = true;
        break;
    case ckExit:
        c.kind = TOWPATH_CALL_EXIT;
        break;
    case resumeThread:
        c = ck::awaited_callback();
        break;
    default:
        break;
    }
}

inline CkDataMsg *CkCallback::thread_delay() const {
    std::shared_ptr<ck::Wait> wait = ck::waited_for(c.rank, c.function);
    const std::vector<char> &value = wait->wait();
    ck::waits().erase(c.function);
    return new CkReductionMsg(value.data(), value.size());
}

// A callback that awakens the thread which waits where this ends.
class CkCallbackResumeThread : public CkCallback {
public:
    CkCallbackResumeThread() : CkCallback(resumeThread) {}
    explicit CkCallbackResumeThread(void *&result) : CkCallback(resumeThread), result(&result) {}
    CkCallbackResumeThread(const CkCallbackResumeThread &) = delete;
    ~CkCallbackResumeThread() noexcept(false) {
        // The method is being left by an exception: nobody may have been given this.
        if (std::uncaught_exceptions() > before) {
            ck::waits().erase(c.function);
            return;
        }
        CkDataMsg *message = thread_delay();
        if (result != nullptr)
            *result = message;
        else
            delete message;
    }

private:
    void **result = nullptr;
    int before = std::uncaught_exceptions();
};

// Tells a callback when no message is left anywhere.
inline void CkStartQD(const CkCallback &callback) {
    ck::check(towpath_start_quiescence(&callback.c));
}
inline void CkStartQD(int entry, const CkChareID *chare) { CkStartQD(CkCallback(entry, *chare)); }

// Waits, in a threaded method, until no message is left anywhere.
inline void CkWaitQD() {
    auto wait = std::make_shared<ck::Wait>();
    towpath_callback c = ck::completing(wait);
    ck::check(towpath_start_quiescence(&c));
    wait->wait();
}

// A message that one threaded method waits for. Its identity can be sent to who gives it.
struct CkFuture {
    ck::ReplyTo to;
    void pup(PUP::er &p) { p.bytes(&to, sizeof to); }
};

inline CkFuture CkCreateFuture() {
    towpath_callback c = ck::awaited_callback();
    return {{c.rank, c.function}};
}
inline bool CkProbeFuture(const CkFuture &name) {
    return ck::waited_for(name.to.rank, name.to.function)->ready();
}
inline void CkReleaseFuture(const CkFuture &name) { ck::waits().erase(name.to.function); }

template <class M> inline void CkSendToFuture(const CkFuture &name, M *message) {
    ck::reply_value(name.to, message);
}

namespace ck {
// The message of a future, of the type to which the program assigns it.
class FutureMessage {
public:
    explicit FutureMessage(std::shared_ptr<Wait> wait) : wait(std::move(wait)) {}
    template <class M> operator M *() const { return awaited<M *>(wait->wait()); }

private:
    // Another thread may have released the future.
    std::shared_ptr<Wait> wait;
};
} // namespace ck

inline ck::FutureMessage CkWaitFuture(const CkFuture &name) {
    std::shared_ptr<ck::Wait> wait = ck::waited_for(name.to.rank, name.to.function);
    wait->wait();
    return ck::FutureMessage(std::move(wait));
}

namespace ck {

// A value that threaded methods wait for, as in ck::future<int>.
template <class T> class future {
public:
    future() : name(CkCreateFuture()) {}
    explicit future(PUP::reconstruct) {}
    T get() { return awaited<T>(ck::waited_for(name.to.rank, name.to.function)->wait()); }
    bool is_ready() const { return CkProbeFuture(name); }
    void set(const T &value) const { reply_value(name.to, T(value)); }
    void release() { CkReleaseFuture(name); }
    void pup(PUP::er &p) { p | name; }

private:
    CkFuture name;
};

} // namespace ck

#endif
