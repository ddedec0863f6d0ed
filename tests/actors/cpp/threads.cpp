// Methods on user-level threads that wait while they handle an exception, or while one is thrown:
// each has its own.
#include "check.hpp"

#include <exception>

using namespace towpath;

constexpr int threads = 3;

struct Branch : Chare<Branch> {
    std::vector<towpath_thread *> waiting;
    int ended = 0;
    Callback done;

    void go(Callback all_done);
    // Waits until all threads of this rank do, which go on in the order in which they came.
    void wait() {
        waiting.push_back(towpath_thread_self());
        if (waiting.size() == threads)
            for (auto *thread : std::exchange(waiting, {}))
                detail::check(towpath_thread_awaken(thread));
        detail::check(towpath_thread_suspend());
    }
    void handle(int number);
    void unwind();
    void run(int number) {
        handle(number);
        unwind();
        CHECK(std::current_exception() == nullptr && std::uncaught_exceptions() == 0);
        if (++ended == threads)
            contribute(done);
    }
};

void Branch::handle(int number) {
    try {
        throw Error(std::to_string(number));
    } catch (const Error &caught) {
        wait();
        CHECK(caught.what() == std::to_string(number));
        const Error *again = nullptr;
        try {
            throw;
        } catch (const Error &rethrown) {
            again = &rethrown;
        }
        CHECK(again == &caught);
    }
}

// Waits when it is destroyed, and counts the exceptions then.
struct Waits {
    Branch &branch;
    int &uncaught;

    ~Waits() {
        branch.wait();
        uncaught = std::uncaught_exceptions();
    }
};

void Branch::unwind() {
    int uncaught = 0;
    try {
        Waits waits{*this, uncaught};
        throw Error("unwound");
    } catch (const Error &) {
    }
    CHECK(uncaught == 1);
}

void run_thread(void *, void *branch, const towpath_chare_id *, towpath_message *message) {
    detail::guarded([&] {
        int number = 0;
        detail::Reader(*message) & number;
        static_cast<Branch *>(branch)->run(number);
    });
}
towpath_entry thread_entry() {
    towpath_entry entry{};
    entry.invoke = run_thread;
    entry.flags = TOWPATH_THREADED;
    return entry;
}
detail::Registered<towpath_entry> entry{"run thread", thread_entry(), towpath_register_entry};

void Branch::go(Callback all_done) {
    done = all_done;
    for (int number = 0; number < threads; ++number) {
        auto message = detail::message_of(entry.number(), {}, number);
        detail::check(towpath_invoke(&self().id(), &message));
    }
}

int main() {
    return run([]() -> Task<> {
        Future<> done;
        create_group<Branch>().send<&Branch::go>(done.callback());
        co_await done;
        pass();
    });
}
