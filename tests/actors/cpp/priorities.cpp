// Priorities: integers and strings of bits, of messages that wait together.
#include "check.hpp"

using namespace towpath;

// Writes down what it hears in which order.
struct Listener : Chare<Listener> {
    std::vector<int> heard;
    Priority kept;

    void hear(int what) { heard.push_back(what); }
    void keep(Priority priority) { kept = priority; }
    std::vector<int> take() { return std::exchange(heard, {}); }
    // All wait until this method has returned.
    void send_all() {
        auto root = Priority::root();
        auto left = root.followed_by(0, 1), right = root.followed_by(1, 1);
        auto deep = right;
        for (int level = 0; level < 40; ++level)
            deep = deep.followed_by(level % 2, 2);
        CHECK(deep.bits() == 81 && right.bits() == 1 && root.bits() == 0);
        say({}, 60);
        say(right, 55);
        say(5, 80);
        say(deep.followed_by(1, 1), 101);
        say(deep, 100);
        say(-5, 40);
        say(right.followed_by(3, 2), 200);
        say(left, 1);
        say(root, 0);
        say(deep.followed_by(0xffffffff, 32).followed_by(0, 32), 102);
        say(Priority(-5).followed_by(0, 1), 41);
        say(Priority(INT32_MAX), 300);
        self().with({.priority = 1000, .is_expedited = true}).send<&Listener::hear>(-1);
        self().with({.priority = deep, .is_expedited = true}).send<&Listener::hear>(-2);
    }
    void say(const Priority &priority, int what) {
        self().with({.priority = priority}).send<&Listener::hear>(what);
    }
    // Messages that are kept, with arrays in and beside the payload.
    Mailbox<View<const double>, std::string> box;
    void send_to_box(ElementProxy<Listener> to) {
        auto priority = kept.followed_by(5, 3);
        for (std::uint32_t count : {20, 20000}) {
            std::vector<double> values(count, 1.5);
            to.with({.priority = priority, .reference = count}).send<&Listener::box>(values, "text");
        }
        all()[index()].with({.priority = priority}).send<&Listener::keep>(priority);
    }
    Task<> take_from_box(Callback done) {
        for (std::uint32_t count : {20000, 20}) {
            auto [values, text] = co_await box.receive(count);
            CHECK(values.size() == count && values[count - 1] == 1.5 && text == "text");
            CHECK(reinterpret_cast<std::uintptr_t>(values.data()) % 16 == 0);
        }
        done(static_cast<int>(kept.bits()));
    }
    void broadcast_heard(int what, Callback done) {
        hear(what);
        contribute(done);
    }
};

// Those that begin with 0, then those that begin with 1: by what follows.
const std::vector<int> order{0, 1, 40, 41, 55, 60, 80, 100, 101, 102, 200, 300};

void check_order(const std::vector<int> &heard) {
    CHECK(heard.size() == order.size() + 2);
    // Nothing is said about the order of these.
    CHECK(heard[0] + heard[1] == -3 && heard[0] < 0 && heard[1] < 0);
    CHECK(std::equal(order.begin(), order.end(), heard.begin() + 2));
}

int main() {
    return run([]() -> Task<> {
        auto listeners = create_group<Listener>();
        listeners.send<&Listener::send_all>();
        co_await quiescence();
        for (int rank = 0; rank < ranks(); ++rank)
            check_order(co_await listeners[rank].call<&Listener::take>());
        auto last = listeners[ranks() - 1];
        last.send<&Listener::keep>(Priority(7).followed_by(1, 1));
        co_await quiescence();
        last.send<&Listener::send_to_box>(last);
        Future<int> bits;
        last.send<&Listener::take_from_box>(bits.callback());
        CHECK(co_await bits >= 33);
        Future<> done;
        auto urgent = Priority::root().followed_by(1, 3);
        listeners.with({.priority = urgent}).send<&Listener::broadcast_heard>(9, done.callback());
        co_await done;
        CHECK((co_await last.call<&Listener::take>()).front() == 9);
        pass();
    });
}
