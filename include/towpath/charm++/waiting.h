// Threaded methods that wait for a result.
#ifndef TOWPATH_CHARM_WAITING_H
#define TOWPATH_CHARM_WAITING_H

#include <algorithm>
#include <cstdint>
#include <utility>
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

// A result that threads wait for.
class Wait {
public:
    // Takes the result in.
    void complete(const void *data, std::size_t bytes) {
        auto *from = static_cast<const char *>(data);
        value.assign(from, from + bytes);
        is_complete = true;
        for (towpath_thread *thread : std::exchange(threads, {}))
            check(towpath_thread_awaken(thread));
    }
    // Waits until it is there.
    const std::vector<char> &wait() {
        while (!is_complete) {
            towpath_thread *thread = towpath_thread_self();
            if (thread == nullptr)
                fail("a method that is not [threaded] waits for a result: declare it so");
            threads.push_back(thread);
            suspend();
            // Something else may have awakened it.
            threads.erase(std::remove(threads.begin(), threads.end(), thread), threads.end());
        }
        return value;
    }
    bool ready() const { return is_complete; }

private:
    std::vector<towpath_thread *> threads;
    bool is_complete = false;
    std::vector<char> value;
};

} // namespace ck

typedef towpath_thread *CthThread;
inline CthThread CthSelf() { return towpath_thread_self(); }
inline void CthSuspend() { ck::suspend(); }
// Lets others run that wait in the queue.
inline void CthYield() {
    if (towpath_thread_self() == nullptr)
        ck::fail("CthYield was called by a method that is not [threaded]: declare it so");
    ck::check(towpath_thread_awaken(towpath_thread_self()));
    ck::suspend();
}
inline void CthAwaken(CthThread thread) { ck::check(towpath_thread_awaken(thread)); }

#endif
