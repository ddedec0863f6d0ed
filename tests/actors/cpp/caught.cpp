// Failures of methods that reach those who have called them for a result.
#include "check.hpp"

using namespace towpath;

// A setting of each chare, which the constructor gets.
struct Victim : Chare<Victim> {
    bool failures_reach_callers;

    explicit Victim(bool caught) : failures_reach_callers(caught) {}
    void fails() { throw Error("it must be caught"); }
};

// A setting of the type.
struct Careful : Chare<Careful> {
    static constexpr bool failures_reach_callers = true;

    Mailbox<int> box;
    int calls = 0;

    void serialize(auto &archive) { archive & box & calls; }

    int half(int number) {
        ++calls;
        if (number % 2 != 0)
            throw std::runtime_error(std::to_string(number) + " is odd");
        return number / 2;
    }
    void number() { throw 5; }
    void nowhere() { all()[77].send<&Careful::number>(); }
    Task<int> later(int number) {
        int result = co_await all()[index() + 1].call<&Careful::half>(number);
        auto [more] = co_await box.receive();
        if (more < 0)
            throw std::runtime_error("less than nothing");
        co_return result + more;
    }
    Task<> at_once() {
        throw std::runtime_error("before it waits");
        co_return;
    }
    int count() { return calls; }
};

Task<> check_failure(auto future, std::string expected) {
    std::string said = "nothing";
    try {
        co_await future;
    } catch (const Error &error) {
        said = error.what();
    }
    if (said.find(expected) == said.npos)
        throw Error("expected \"" + expected + "\", but it was \"" + said + "\"");
}

int main() {
    return run([]() -> Task<> {
        auto careful = create_round_robin_array<Careful>({4});
        auto third = careful[3];
        CHECK(co_await third.call<&Careful::half>(8) == 4);
        co_await check_failure(third.call<&Careful::half>(7),
                               "Careful::half(int) of chare [3] failed: 7 is odd");
        // Two wait for one, which both throw.
        auto shared = third.call<&Careful::half>(9);
        auto first = check_failure(shared, "9 is odd"), second = check_failure(shared, "9 is odd");
        co_await first;
        co_await second;
        CHECK(shared.is_ready());
        co_await check_failure(third.call<&Careful::number>(), "no std::exception");
        co_await check_failure(third.call<&Careful::nowhere>(), "array has no element");
        co_await check_failure(third.call<&Careful::at_once>(), "before it waits");
        careful[1].send<&Careful::box>(3);
        CHECK(co_await careful[1].call<&Careful::later>(10) == 8);
        // That of another one, which it does not catch.
        co_await check_failure(careful[1].call<&Careful::later>(11),
                               "later(int) of chare [1] failed: Careful::half(int) of chare [2] ");
        auto waits = careful[1].call<&Careful::later>(12);
        careful[1].send<&Careful::box>(-1);
        co_await check_failure(waits, "Careful::later(int) of chare [1] failed: less than nothing");
        CHECK(co_await third.call<&Careful::count>() == 3);
        auto victims = create_group<Victim>(true);
        co_await check_failure(victims[ranks() - 1].call<&Victim::fails>(), "must be caught");
        pass();
    });
}
