// All at once: elements send, broadcast, wait, reduce, call, migrate and are made again; sums at
// quiescence show that every message was delivered once.
//
//     traffic [ROUNDS [SEED]]
#include "check.hpp"

#include <cstdlib>
#include <random>

using namespace towpath;

ReadOnly<std::vector<std::uint32_t>> seeds;
ReadOnly<std::string> greeting(std::string("before"));

constexpr std::uint64_t mixed(std::uint64_t value) {
    value *= 0x9e3779b97f4a7c15u;
    return value ^ value >> 29;
}

using Sums = std::array<std::uint64_t, 6>;
enum Sum { sent, received, broadcasts, tokens, boxed, elements };

struct Mover : Chare<Mover> {
    Mailbox<std::uint64_t, View<const std::uint64_t>> box;
    Sums sums{};
    std::minstd_rand random;
    std::vector<char> ballast;

    Mover() = default;
    explicit Mover(std::uint32_t seed) : random(seed + static_cast<unsigned>(index())) {
        CHECK(greeting.get() == "hello" && seeds->size() == 3);
        // Some are longer than what a short message carries.
        ballast.resize(index() % 3 == 0 ? 30000 : 5, 'b');
    }
    void serialize(auto &archive) {
        std::uint32_t state = 0;
        if constexpr (!std::remove_cvref_t<decltype(archive)>::reads)
            state = next_state();
        archive & box & sums & state & ballast;
        random.seed(state);
    }
    std::uint32_t next_state() { return static_cast<std::uint32_t>(random() % 1000000 + 1); }
    int any(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }

    void token(int steps, View<const std::uint64_t> values, int elements) {
        ++sums[tokens];
        for (auto value : values)
            sums[received] += value;
        if (any(3) == 0)
            migrate(any(ranks()));
        if (steps == 0)
            return;
        auto count = static_cast<std::size_t>(any(20) == 0 ? 5000 : any(10));
        auto sent_values = std::make_shared<std::vector<std::uint64_t>>(count);
        auto &next = *sent_values;
        for (auto &value : next)
            sums[sent] += value = mixed(random());
        auto to = all()[any(elements)];
        if (any(4) == 0)
            to.with({.priority = any(9) - 4}).send<&Mover::token>(steps - 1, next, elements);
        else if (any(9) == 0)
            to.with({.is_expedited = true}).send<&Mover::token>(steps - 1, next, elements);
        else
            to.send<&Mover::token>(steps - 1, nocopy(next, callback([sent_values] {})), elements);
        if (any(10) == 0)
            all()[any(elements)].send<&Mover::box>(7, next);
        if (any(40) == 0)
            all().send<&Mover::hear>(index());
    }
    void hear(int) {
        ++sums[broadcasts];
        if (any(8) == 0)
            migrate(any(ranks()));
    }
    // Asks others, and waits between messages that make it want to leave.
    Task<> ask(int times, int elements, Callback done) {
        std::uint64_t sum = 0;
        for (int at = 0; at < times; ++at) {
            sum += co_await all()[any(elements)].call<&Mover::answer>(at);
            all()[any(elements)].with({.reference = 9}).send<&Mover::hello>(any(ranks()));
        }
        CHECK(sum == static_cast<std::uint64_t>(times * (times - 1)));
        done();
    }
    std::uint64_t answer(int value) { return 2u * static_cast<unsigned>(value); }
    void hello(int) {}
    Task<> take_out() {
        while (box.size() > 0) {
            auto taken = co_await box.receive();
            sums[boxed] += taken.get<1>().size();
        }
    }
    void report(Callback done) {
        sums[elements] = 1;
        contribute(sum, sums, done);
    }
};

Task<> play(int rounds, int elements) {
    auto movers = create_round_robin_array<Mover>({elements}, seeds.get()[0]);
    Sums before{};
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::uint64_t> none;
        for (int at = 0; at < 2 * elements; ++at)
            movers[at % elements].send<&Mover::token>(30, none, elements);
        co_await quiescence();
        Future<> asked;
        int left = elements / 2;
        for (int at = 0; at < elements / 2; ++at)
            movers[at].send<&Mover::ask>(10, elements, callback([&] {
                if (--left == 0)
                    asked.callback()();
            }));
        co_await asked;
        movers.send<&Mover::take_out>();
        co_await quiescence();
        Future<Sums> reported;
        movers.send<&Mover::report>(reported.callback());
        Sums sums = co_await reported;
        CHECK(sums[Sum::elements] == static_cast<std::uint64_t>(elements));
        CHECK(sums[sent] == sums[received]);
        CHECK(sums[tokens] - before[tokens] == static_cast<std::uint64_t>(62 * elements));
        CHECK(sums[broadcasts] % static_cast<unsigned>(elements) == 0);
        before = sums;
    }
    std::printf("%lu broadcasts, %lu values in mailboxes\n",
                static_cast<unsigned long>(before[broadcasts]),
                static_cast<unsigned long>(before[boxed]));
}

int main(int count, char **arguments) {
    int rounds = count > 1 ? std::atoi(arguments[1]) : 5;
    auto seed = static_cast<std::uint32_t>(count > 2 ? std::atoi(arguments[2]) : 1);
    return run([=]() -> Task<> {
        seeds = {seed, seed + 1, seed + 2};
        greeting = "hello";
        co_await play(rounds, 3 * ranks() + 4);
        pass();
    });
}
