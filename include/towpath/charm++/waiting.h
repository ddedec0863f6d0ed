// Threaded methods that wait for a result.
#ifndef TOWPATH_CHARM_WAITING_H
#define TOWPATH_CHARM_WAITING_H

#include <cstdint>
#include <vector>

#include "runtime.h"

namespace ck {

// Who waits for the result of a synchronous method: a function of a rank. 0 is nobody.
struct ReplyTo {
    std::uint32_t rank = 0;
    std::uint64_t function = 0;
};

// Suspends the thread of the running method until something awakens it.
inline void suspend() {
    Running mine = std::exchange(running(), Running());
    int result = towpath_thread_suspend();
    running() = mine;
    check(result);
}

// A result that a thread waits for.
class Wait {
public:
    // Takes the result in.
    void complete(const void *data, std::size_t bytes) {
        auto *from = static_cast<const char *>(data);
        value.assign(from, from + bytes);
        is_complete = true;
        if (thread != nullptr)
            check(towpath_thread_awaken(std::exchange(thread, nullptr)));
    }
    // Waits until it is there.
    const std::vector<char> &wait() {
        while (!is_complete) {
            thread = towpath_thread_self();
            if (thread == nullptr)
                fail("a method that is not [threaded] waits for a result: declare it so");
            suspend();
        }
        return value;
    }
    bool ready() const { return is_complete; }

private:
    towpath_thread *thread = nullptr;
    bool is_complete = false;
    std::vector<char> value;
};

} // namespace ck

typedef towpath_thread *CthThread;
inline CthThread CthSelf() { return towpath_thread_self(); }
inline void CthSuspend() { ck::suspend(); }
inline void CthAwaken(CthThread thread) { ck::check(towpath_thread_awaken(thread)); }

#endif
