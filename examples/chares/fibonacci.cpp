// Fibonacci numbers by a tree of chares: each waits for the results of two others.
//
//     fibonacci [n]
#include <towpath/chare.hpp>

#include <cstdio>
#include <cstdlib>

constexpr int threshold = 16;

long sequential(int n) { return n < 2 ? n : sequential(n - 1) + sequential(n - 2); }

struct Fibonacci : towpath::Chare<Fibonacci> {
    towpath::Task<long> compute(int n) {
        long result;
        if (n < threshold)
            result = sequential(n);
        else
            result = co_await divide(n);
        destroy();
        co_return result;
    }

    towpath::Task<long> divide(int n) {
        int next_rank = (towpath::rank() + 1) % towpath::ranks();
        auto first = towpath::create_chare<Fibonacci>();
        auto second = towpath::create_chare_at<Fibonacci>(next_rank);
        auto left = first.call<&Fibonacci::compute>(n - 1);
        auto right = second.call<&Fibonacci::compute>(n - 2);
        co_return co_await left + co_await right;
    }
};

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 24;
    return towpath::run([n]() -> towpath::Task<> {
        auto root = towpath::create_chare<Fibonacci>();
        long result = co_await root.call<&Fibonacci::compute>(n);
        std::printf("fibonacci(%d) = %ld\n", n, result);
        towpath::exit(result == sequential(n) ? 0 : 1);
    });
}
