// Load balancing: all elements go on after all were ready, keep what they know, and go where there is
// less to do. Elements with a coroutine that waits stay.
#include "check.hpp"

#include <ctime>
#include <numeric>

using namespace towpath;

namespace {

constexpr int elements = 16, rounds = 4;

// Keeps the processor busy for so many microseconds of its time.
void work(int microseconds) {
    auto now = [] {
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return time.tv_sec * 1000000 + time.tv_nsec / 1000;
    };
    for (auto end = now() + microseconds; now() < end;) {
    }
}

// The first quarter has three times as much to do.
int load(int index) { return index < elements / 4 ? 3 : 1; }

}  // namespace

// It waits before it works, if it is told so.
struct Worker : Chare<Worker> {
    int round = 0, migrations = 0, last_rank = rank();
    std::vector<int> data = std::vector<int>(100, index());
    bool waits = false;
    Callback done;

    Worker() = default;
    explicit Worker(bool waits_first) : waits(waits_first) {}

    template <class Archive>
    void serialize(Archive &archive) {
        archive & round & migrations & last_rank & data & waits & done;
    }

    Task<> go(Callback all_done) {
        done = all_done;
        co_await step();
    }
    int answer() { return 5; }
    Task<> step() {
        if (waits) {
            Future<int> answer = self().call<&Worker::answer>();
            int five = co_await answer;
            CHECK(five == 5);
        }
        work(500 * load(index()));
        CHECK(++round <= rounds);
        at_sync();
    }
    Task<> resume_from_sync() {
        CHECK(data == std::vector<int>(100, index()));
        migrations += rank() != std::exchange(last_rank, rank());
        if (round < rounds) {
            co_await step();
            co_return;
        }
        std::vector<int> loads(ranks());
        loads[rank()] = load(index());
        loads.push_back(migrations);
        contribute(sum, loads, done);
        destroy();
    }
};

// Every second one waits in a coroutine while it is ready.
struct Waiter : Chare<Waiter> {
    Mailbox<int> box;
    int birthplace = rank();
    Callback done;

    template <class Archive>
    void serialize(Archive &archive) {
        archive & box & birthplace & done;
    }

    Task<> go(Callback all_done) {
        done = all_done;
        at_sync();
        if (index() % 2 == 0) {
            auto [value] = co_await box.receive();
            CHECK(value == 7);
        }
    }
    Task<> resume_from_sync() {
        bool waits = index() % 2 == 0;
        if (waits)
            CHECK(rank() == birthplace);
        if (waits)
            self().send<&Waiter::box>(7);
        Future<int> one;
        self().send<&Waiter::answer>(one.callback());
        CHECK(co_await one == 1);
        contribute(sum, int(rank() != birthplace), done);
    }
    void answer(Callback reply) { reply(1); }
};

// Its first elements have more to do, but migrations would take longer.
struct Heavy : Chare<Heavy> {
    std::vector<char> data = std::vector<char>(4 << 20);
    int birthplace = rank();
    Callback done;

    template <class Archive>
    void serialize(Archive &archive) {
        archive & data & birthplace & done;
    }
    void go(Callback all_done) {
        done = all_done;
        work(100 * load(index()));
        at_sync();
    }
    void resume_from_sync() {
        contribute(sum, int(rank() != birthplace), done);
        destroy();
    }
};

// Cannot be packed.
struct Stubborn : Chare<Stubborn> {
    void serialize(auto &) { throw std::runtime_error("not me"); }
    void go(Callback) { at_sync(); }
    void resume_from_sync() {}
};

// Its elements are ready twice.
struct Twice : Chare<Twice> {
    Callback done;

    template <class Archive>
    void serialize(Archive &archive) {
        archive & done;
    }
    void go(Callback all_done) {
        done = all_done;
        at_sync();
        std::string said;
        try {
            at_sync();
        } catch (const Error &error) {
            said = error.what();
        }
        CHECK(said.find("waits for load balancing already") != said.npos);
    }
    void resume_from_sync() {
        contribute(done);
        destroy();
    }
};

// Runs the array of a type of chares, whose elements delete themselves in the end, so that other
// arrays do not wait for them.
template <class T, class R>
Task<R> result_of(int size, auto... arguments) {
    Future<R> result;
    create_array<T>({size}, arguments...).template send<&T::go>(result.callback());
    co_return co_await result;
}

Task<> check_workers(std::string balancer, bool waits) {
    auto loads = co_await result_of<Worker, std::vector<int>>(elements, waits);
    int migrations = loads.back(), all = elements / 4 * 6;
    loads.pop_back();
    int most = *std::ranges::max_element(loads);
    CHECK(std::accumulate(loads.begin(), loads.end(), 0) == all);
    if (balancer == "rotate")
        CHECK(migrations == (ranks() > 1 ? elements * rounds : 0));
    else if (balancer == "none")
        CHECK(migrations == 0);
    else if (balancer != "hierarchical")
        // That one looks at groups of ranks, which have few elements here.
        CHECK(most * ranks() <= all + 3 * ranks());
}

// balancing [BALANCER [throws]]
int main(int argc, char **argv) {
    std::string balancer = argc > 1 ? argv[1] : "rotate";
    auto main = [=]() -> Task<> {
        if (argc > 2)
            co_await result_of<Stubborn, void>(elements);
        co_await check_workers(balancer, false);
        co_await check_workers(balancer, true);
        if (balancer != "none")
            co_await result_of<Twice, void>(elements);
        if (balancer != "rotate")
            CHECK((co_await result_of<Heavy, int>(elements)) == 0);
        int moved = co_await result_of<Waiter, int>(elements);
        if (balancer == "rotate")
            CHECK(moved == (ranks() > 1 ? elements / 2 : 0));
        pass();
    };
    return run(main, {.balancer = balancer});
}
