// What many chares cost. Prints lines "WHAT VALUE".
//
//     create       seconds until a million chares exist and have got one message each
//     bytes        resident memory for each of them, beside the object
//     broadcast    microseconds for each element of a broadcast to 100,000
//     migrate      seconds for 1,000 elements of 64 KiB to another rank and back
//     memcpy       seconds for packing and unpacking them by memcpy
#include <towpath/chare.hpp>

#include <chrono>
#include <cstdio>

using namespace towpath;
using Clock = std::chrono::steady_clock;

namespace {

double seconds(Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
}

constexpr int many = 1000000, some = 100000, few = 1000, packed = 64 << 10;

long resident() {
    long pages = 0, size = 0;
    if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &size, &pages) != 2)
            pages = 0;
        std::fclose(file);
    }
    return pages * 4096;
}

struct Small : Chare<Small> {
    void message(Callback done) { contribute(done); }
};

struct Element : Chare<Element> {
    int got = 0;
    void message() { ++got; }
    void end(Callback done) { contribute(done); }
};

struct Large : Chare<Large> {
    std::vector<char> data;
    Large() = default;
    explicit Large(int bytes) : data(bytes, 1) {}
    template <class Archive>
    void serialize(Archive &archive) {
        archive & data;
    }
    void go(int to, Callback done) {
        migrate(to);
        contribute(done);
    }
};

// The memory of a rank.
struct Memory : Chare<Memory> {
    void report(Callback done) { contribute(sum, resident(), done); }
};

Task<long> total(CollectionProxy<Memory> memory) {
    Future<long> bytes;
    memory.send<&Memory::report>(bytes.callback());
    co_return co_await bytes;
}

Task<> creation(CollectionProxy<Memory> memory) {
    long before = co_await total(memory);
    auto began = Clock::now();
    auto all = create_array<Small>({many});
    Future<> done;
    for (int at = 0; at < many; ++at)
        all[at].send<&Small::message>(done.callback());
    co_await done;
    std::printf("create %.4f\n", seconds(began));
    long after = co_await total(memory);
    std::printf("bytes %.1f\n", static_cast<double>(after - before) / many - sizeof(Small));
}

Task<> broadcasts() {
    auto all = create_array<Element>({some});
    auto round = [&](int count) -> Task<double> {
        auto began = Clock::now();
        for (int at = 0; at < count; ++at)
            all.send<&Element::message>();
        Future<> done;
        all.send<&Element::end>(done.callback());
        co_await done;
        co_return seconds(began);
    };
    co_await round(5);
    double one = co_await round(0), more = co_await round(20);
    std::printf("broadcast %.5f\n", (more - one) / 20 / some * 1e6);
}

Task<> migrations() {
    auto all = create_array<Large>({few}, packed);
    // Each element goes to the rank that is `shift` ranks beyond its home.
    auto round = [&](int shift) -> Task<> {
        Future<> done;
        for (int at = 0; at < few; ++at)
            all[at].send<&Large::go>((at * ranks() / few + shift) % ranks(), done.callback());
        co_await done;
        co_await quiescence();
    };
    for (int at = 0; at < 4; ++at)
        co_await round(at + 1);
    auto began = Clock::now();
    constexpr int times = 10;
    for (int at = 0; at < times; ++at) {
        co_await round(1);
        co_await round(0);
    }
    std::printf("migrate %.5f\n", seconds(began) / times);
    std::vector<std::vector<char>> from(few, std::vector<char>(packed, 1)), to = from;
    began = Clock::now();
    for (int at = 0; at < times; ++at)
        for (int way = 0; way < 4; ++way)
            for (int element = 0; element < few; ++element) {
                auto &target = way % 2 ? from[element] : to[element];
                auto &source = way % 2 ? to[element] : from[element];
                std::memcpy(target.data(), source.data(), packed);
            }
    std::printf("memcpy %.5f\n", seconds(began) / times);
}

}  // namespace

int main() {
    return run([]() -> Task<> {
        auto memory = create_group<Memory>();
        co_await creation(memory);
        co_await broadcasts();
        co_await migrations();
        towpath::exit();
    });
}
