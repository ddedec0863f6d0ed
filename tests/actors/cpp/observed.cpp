// Programs that are observed: observed work SECONDS, last SECONDS, undelivered, order, nothing.
#include <towpath/chare.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

// Element i computes for about i milliseconds in each round, so ranks have different loads.
struct Worker : towpath::Chare<Worker> {
    int round = 0;
    double end = 0;

    Worker() = default;

    template <class Archive>
    void serialize(Archive &archive) {
        archive & round & end;
    }

    static double now() {
        return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
    }

    void work(double seconds, towpath::Callback done) {
        if (round++ == 0)
            end = now() + seconds;
        for (double until = now() + index() * 1e-3; now() < until;) {
        }
        if (now() < end)
            return self().send<&Worker::work>(seconds, done);
        if (index() == 0 && towpath::ranks() > 1)
            migrate(towpath::ranks() - 1);
        contribute(done);
    }
};

// Says in which order its messages came.
struct Ordered : towpath::Chare<Ordered> {
    std::vector<int> numbers;

    void take(int number, int all) {
        numbers.push_back(number);
        if (static_cast<int>(numbers.size()) < all)
            return;
        std::printf("order");
        for (int each : numbers)
            std::printf(" %d", each);
        std::printf("\n");
        towpath::exit(0);
    }
};

// Only the chare of the last rank works.
struct Last : towpath::Chare<Last> {
    void work(double end) {
        for (double until = Worker::now() + 1e-3; Worker::now() < until;) {
        }
        if (Worker::now() < end)
            return self().send<&Last::work>(end);
        towpath::exit(0);
    }
};

int main(int argc, char **argv) {
    const std::string what = argc > 1 ? argv[1] : "nothing";
    const double seconds = argc > 2 ? std::atof(argv[2]) : 0;
    return towpath::run([&] {
        if (what == "work") {
            auto workers = towpath::create_array<Worker>({8});
            workers.send<&Worker::work>(seconds, towpath::Callback::exit());
        } else if (what == "last") {
            auto last = towpath::create_chare_at<Last>(towpath::ranks() - 1);
            last.send<&Last::work>(Worker::now() + seconds);
        } else if (what == "undelivered") {
            auto workers = towpath::create_sparse_array<Worker>();
            for (int i = 0; i < 3; ++i)
                workers[5].send<&Worker::work>(0.0, towpath::Callback());
            towpath::create_group<Worker>().send<&Worker::work>(0.05, towpath::Callback::exit());
        } else if (what == "order") {
            auto ordered = towpath::create_chare<Ordered>();
            for (int number = 0; number < 20; ++number)
                ordered.send<&Ordered::take>(number, 20);
        }
    });
}
