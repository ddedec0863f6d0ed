// What load balancing gains and costs. Prints lines "WHAT VALUE", medians of several trials, in which
// the programs run in turn:
//
//     imbalanced    wall time of a program whose ranks begin with loads of 3:1, with all balancings,
//                   divided by that of the same work, perfectly divided, without messages
//     even          wall time of a program that is balanced already and balances its loads, divided
//                   by that of the same program with a barrier instead
//     spread        greatest processor time of a rank, divided by the average, in a program that
//                   begins with 3:1: the worst period from the second balancing on
//
//     mpiexec -n 2 balance [BALANCER]    (greedy if none is named)
#include <towpath/chare.hpp>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <numeric>

using namespace towpath;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int elements = 64, periods = 20, iterations = 10, trials = 7;
constexpr int unit = 10000;  // multiplications
constexpr int average_load = 2;

double seconds(Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
}

double processor_time() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

// So many units of work.
void work(std::uint64_t &value, int units) {
    for (int left = units * unit; left > 0; --left)
        // Not linear, which a compiler would abbreviate.
        value = (value ^ value >> 29) * 6364136223846793005u + 1;
}

// Gets the processor time of all ranks in each period.
struct Collector : Chare<Collector> {
    std::vector<double> spreads;

    void period(const std::vector<double> &times) {
        double all = std::accumulate(times.begin(), times.end(), 0.0);
        spreads.push_back(std::ranges::max(times) * ranks() / all);
    }
};

// How the loads of the elements are divided, and whether elements tell the collector.
struct Setup {
    bool is_even, reports;
    ElementProxy<Collector> collector;
};

// Works for some periods, after which all elements balance their loads, or wait for each other.
template <bool balances>
struct Worker : Chare<Worker<balances>> {
    Setup setup{};
    int period = 0, iteration = 0;
    std::uint64_t value = 1;
    double time = 0;
    Callback done;

    Worker() = default;
    explicit Worker(Setup chosen) : setup(chosen) {}

    template <class Archive>
    void serialize(Archive &archive) {
        archive & setup & period & iteration & value & time & done;
    }

    int load() const {
        if (setup.is_even)
            return average_load;
        return this->index() < elements / 2 ? 3 : 1;
    }
    void go(Callback when_done) {
        done = when_done;
        step();
    }
    void step() {
        double began = setup.reports ? processor_time() : 0;
        work(value, load());
        if (setup.reports)
            time += processor_time() - began;
        if (++iteration < iterations)
            return this->self().template send<&Worker::step>();
        iteration = 0;
        if (setup.reports) {
            std::vector<double> times(ranks());
            times[rank()] = std::exchange(time, 0);
            this->contribute(sum, times, setup.collector.template callback<&Collector::period>());
        }
        if constexpr (balances)
            this->at_sync();
        else
            this->contribute(this->all().template callback<&Worker::resume_from_sync>());
    }
    void resume_from_sync() {
        if (++period < periods)
            return step();
        this->contribute(sum, value, done);
        // Other arrays do not wait for this one then.
        this->destroy();
    }
};

// The work of a rank, if it is perfectly divided.
struct Divided : Chare<Divided> {
    void go(Callback done) {
        std::uint64_t value = 1;
        for (int at = 0; at < elements * iterations * periods / ranks(); ++at)
            work(value, average_load);
        contribute(sum, value, done);
    }
};

// How long the chares of a collection take.
template <class T>
Task<double> time_of(CollectionProxy<T> all) {
    co_await quiescence();
    Future<std::uint64_t> done;
    auto began = Clock::now();
    all.template send<&T::go>(done.callback());
    co_await done;
    co_return seconds(began);
}

Task<> measure() {
    auto collector = create_chare<Collector>();
    auto divided = create_group<Divided>();
    std::vector<double> imbalanced, even, spread;
    for (int trial = 0; trial < trials; ++trial) {
        double best = co_await time_of(divided);
        auto uneven = create_array<Worker<true>>({elements}, Setup{false, false, collector});
        imbalanced.push_back(co_await time_of(uneven) / best);
        auto with = create_array<Worker<true>>({elements}, Setup{true, false, collector});
        auto without = create_array<Worker<false>>({elements}, Setup{true, false, collector});
        double time = co_await time_of(with);
        even.push_back(time / co_await time_of(without));
        auto observed = create_array<Worker<true>>({elements}, Setup{false, true, collector});
        co_await time_of(observed);
        co_await quiescence();
        auto &spreads = collector.local()->spreads;
        spread.push_back(*std::max_element(spreads.begin() + 2, spreads.end()));
        spreads.clear();
    }
    std::printf("imbalanced %.3f\neven %.3f\nspread %.3f\n", median(imbalanced), median(even),
                median(spread));
    towpath::exit();
}

}  // namespace

int main(int argc, char **argv) {
    return run(measure, {.balancer = argc > 1 ? argv[1] : "greedy"});
}
