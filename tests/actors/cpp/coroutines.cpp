// Coroutines: results of methods, futures, tasks in tasks, mailboxes, quiescence.
#include "check.hpp"

#include <memory>

using namespace towpath;

struct Worker : Chare<Worker> {
    Mailbox<int, View<const double>, std::string> edges;
    Mailbox<> signals;
    Mailbox<std::unique_ptr<int>> owned;
    int migrations = 0;
    std::string log;

    Worker() = default;
    void serialize(auto &archive) { archive & edges & signals & owned & migrations & log; }

    // Results of plain methods.
    int add(int a, int b) { return a + b; }
    const std::string &name() { return log; }
    std::unique_ptr<std::string> own(std::string text) {
        return std::make_unique<std::string>(std::move(text));
    }
    std::vector<std::vector<bool>> bits() { return {{true, false}, {}}; }
    void write(std::string text) { log += text; }
    std::optional<int> maybe(bool there) { return there ? std::optional(5) : std::nullopt; }
    ElementProxy<Worker> proxy() { return self(); }

    // Tasks in tasks.
    Task<int> recursive(int depth) {
        if (depth == 0)
            co_return co_await all()[0].call<&Worker::add>(1, 0);
        co_return 1 + co_await recursive(depth - 1);
    }
    Task<std::string> through_all(int left, std::string text) {
        if (left == 0)
            co_return text + "!";
        auto next = all()[(index() + 1) % 4];
        co_return co_await next.call<&Worker::through_all>(left - 1, text + std::to_string(index()));
    }
    Task<int> throws_inside(bool late) {
        if (late)
            co_await all()[1].call<&Worker::add>(1, 1);
        throw std::runtime_error("inside");
    }
    Task<std::string> catches(bool late) {
        try {
            co_await throws_inside(late);
        } catch (const std::runtime_error &error) {
            co_return error.what();
        }
        co_return "nothing";
    }
    // Both wait at once, and the sum of what they get is the result.
    Task<int> both() {
        Task<int> first = recursive(3);
        Task<int> second = recursive(5);
        int sum = co_await second;
        sum += co_await first;
        co_return sum;
    }
    // A task that nobody waits for is deleted with what it waits for.
    Task<> forgets() {
        {
            Task<int> forgotten = recursive(4);
            Future<> never;
            Task<> waits = wait_for(never);
        }
        co_await all()[0].call<&Worker::add>(1, 1);
        migrate((rank() + 1) % ranks());
    }
    Task<> wait_for(Future<> future) { co_await future; }

    // Several methods wait for one future, and one of them lets the others go on.
    std::optional<Future<int>> shared;
    Callback start_waiting() { return shared.emplace().callback(); }
    Task<int> wait_shared(int more) {
        auto future = *shared;
        CHECK(!future.is_ready());
        int got = co_await future;
        CHECK(future.is_ready() && co_await future == got);
        co_return got + more;
    }

    // Mailboxes.
    Task<std::vector<int>> in_order(int count) {
        std::vector<int> order;
        for (int at = 0; at < count; ++at) {
            auto edge = co_await edges.receive();
            auto &[number, values, text] = edge.parameters();
            CHECK(static_cast<int>(values.size()) == number && text == std::to_string(number));
            order.push_back(number);
        }
        co_return order;
    }
    Task<int> backwards(int count) {
        int sum = 0;
        for (int at = count; at-- > 0;) {
            auto edge = co_await edges.receive(static_cast<std::uint32_t>(at));
            CHECK(edge.get<0>() == at && edge.reference() == static_cast<std::uint32_t>(at));
            auto kept = std::move(edge);
            CHECK(static_cast<int>(kept.get<1>().size()) == at);
            sum += kept.get<0>();
        }
        co_return sum;
    }
    Task<int> one_of(std::uint32_t reference) {
        auto edge = co_await edges.receive(reference);
        co_return edge.get<0>() * 10 + static_cast<int>(reference);
    }
    Task<int> signalled(int times) {
        for (int at = 0; at < times; ++at)
            co_await signals.receive();
        auto pointer = co_await owned.receive();
        std::unique_ptr<int> mine = std::move(pointer.get<0>());
        co_return *mine;
    }
    void move_away() {
        ++migrations;
        migrate((rank() + 1) % ranks());
    }
    int waiting() { return static_cast<int>(edges.size()); }
    int moves() { return migrations; }

    Task<> reduce_often(int times, Callback done) {
        for (int at = 1; at <= times; ++at) {
            CHECK(co_await reduce(sum, at) == 4 * at);
            CHECK(co_await reduce(minimum, index()) == 0);
            std::vector<int> mine{index()};
            auto all_indexes = co_await reduce(concatenation, mine);
            CHECK(all_indexes.size() == 4);
        }
        contribute(done);
    }
};

Task<> test_results(CollectionProxy<Worker> workers) {
    CHECK(co_await workers[1].call<&Worker::add>(2, 3) == 5);
    co_await workers[2].call<&Worker::write>("text");
    CHECK(co_await workers[2].call<&Worker::name>() == "text");
    auto owned = co_await workers[3].call<&Worker::own>("mine");
    CHECK(*owned == "mine");
    auto bits = co_await workers[3].call<&Worker::bits>();
    CHECK(bits.size() == 2 && bits[0][0] && !bits[0][1] && bits[1].empty());
    CHECK(*co_await workers[0].call<&Worker::maybe>(true) == 5);
    CHECK(!co_await workers[0].call<&Worker::maybe>(false));
    CHECK(co_await (co_await workers[3].call<&Worker::proxy>()).call<&Worker::add>(1, 1) == 2);
    std::vector<Future<int>> many;
    for (int at = 0; at < 200; ++at)
        many.push_back(workers[at % 4].call<&Worker::add>(at, at));
    for (int at = 200; at-- > 0;)
        CHECK(co_await many[static_cast<std::size_t>(at)] == 2 * at);
}

Task<> test_tasks(CollectionProxy<Worker> workers) {
    CHECK(co_await workers[2].call<&Worker::recursive>(500) == 501);
    CHECK(co_await workers[1].call<&Worker::through_all>(10, "") == "1230123012!");
    CHECK(co_await workers[0].call<&Worker::catches>(false) == "inside");
    CHECK(co_await workers[0].call<&Worker::catches>(true) == "inside");
    CHECK(co_await workers[3].call<&Worker::both>() == 4 + 6);
    for (int round = 0; round < 4; ++round)
        co_await workers[1].call<&Worker::forgets>();
    auto told = co_await workers[2].call<&Worker::start_waiting>();
    std::vector<Future<int>> waiting;
    for (int at = 0; at < 20; ++at)
        waiting.push_back(workers[2].call<&Worker::wait_shared>(at));
    co_await quiescence();
    told(100);
    for (int at = 0; at < 20; ++at)
        CHECK(co_await waiting[static_cast<std::size_t>(at)] == 100 + at);
}

void send_edges(ElementProxy<Worker> to, int count) {
    for (int at = 0; at < count; ++at) {
        std::vector<double> values(static_cast<std::size_t>(at), at);
        auto reference = static_cast<std::uint32_t>(at);
        to.with({.reference = reference}).send<&Worker::edges>(at, values, std::to_string(at));
    }
}

Task<> test_mailboxes(CollectionProxy<Worker> workers) {
    auto worker = workers[3];
    auto order = worker.call<&Worker::in_order>(30);
    send_edges(worker, 30);
    std::vector<int> got = co_await order;
    CHECK(std::ranges::is_sorted(got) && got.size() == 30);
    send_edges(worker, 30);
    CHECK(co_await worker.call<&Worker::backwards>(30) == 435);
    // Messages that wait migrate with their chare.
    send_edges(worker, 25);
    for (int at = 0; at < 7; ++at)
        worker.send<&Worker::move_away>();
    co_await quiescence();
    CHECK(co_await worker.call<&Worker::waiting>() == 25);
    CHECK(co_await worker.call<&Worker::moves>() == 7);
    CHECK(co_await worker.call<&Worker::backwards>(25) == 300);
    // Each of several waiting methods gets its own.
    std::vector<Future<int>> waiting;
    for (std::uint32_t at = 0; at < 10; ++at)
        waiting.push_back(worker.call<&Worker::one_of>(at));
    co_await quiescence();
    send_edges(worker, 10);
    for (int at = 0; at < 10; ++at)
        CHECK(co_await waiting[static_cast<std::size_t>(at)] == 11 * at);
    auto signalled = worker.call<&Worker::signalled>(3);
    for (int at = 0; at < 3; ++at)
        worker.send<&Worker::signals>();
    worker.send<&Worker::owned>(std::make_unique<int>(9));
    CHECK(co_await signalled == 9);
    // A broadcast reaches the mailboxes of all.
    std::vector<double> values(3000, 1);
    std::vector<Future<int>> each;
    for (int at = 0; at < 4; ++at)
        each.push_back(workers[at].call<&Worker::one_of>(5));
    workers.with({.reference = 5}).send<&Worker::edges>(3000, values, "");
    for (auto &one : each)
        CHECK(co_await one == 30005);
}

int main() {
    return run([]() -> Task<> {
        auto workers = create_array<Worker>({4});
        co_await test_results(workers);
        co_await test_tasks(workers);
        co_await test_mailboxes(workers);
        Future<> done;
        workers.send<&Worker::reduce_often>(30, done.callback());
        co_await done;
        co_await quiescence();
        CHECK(quiescence().is_ready() == false);
        pass();
    });
}
