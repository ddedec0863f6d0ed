// Reductions by all operations, of all types, told to callbacks of all kinds.
#include "check.hpp"

using namespace towpath;

// Combined by an operator of its own.
struct Range {
    double low, high;
    friend Range operator+(const Range &a, const Range &b) {
        return {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    bool operator==(const Range &) const = default;
};

// A type that is serialized, combined by a function object.
struct Histogram {
    std::map<std::string, int> counts;
    void serialize(auto &archive) { archive & counts; }
};
struct Merge {
    Histogram operator()(Histogram a, const Histogram &b) const {
        for (auto &[key, count] : b.counts)
            a.counts[key] += count;
        return a;
    }
};

struct Position {
    double value;
    int index;
};
struct Larger {
    Position operator()(const Position &a, const Position &b) const {
        return a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b;
    }
};

constexpr int elements = 13;

struct Part : Chare<Part> {
    int told = 0;
    double last = 0;
    std::string text;

    void serialize(auto &archive) { archive & told & last & text; }

    void numbers(Callback add, Callback multiply, Callback least, Callback most) {
        contribute(sum, index(), add);
        contribute(product, index() % 2 + 1.0, multiply);
        contribute(minimum, static_cast<short>(index() - 5), least);
        contribute(maximum, static_cast<float>(index()), most);
    }
    void arrays(Callback add, Callback least, Callback fixed) {
        std::vector<double> values(5000, index());
        contribute(sum, values, add);
        migrate((rank() + 1) % ranks());
        contribute(minimum, View<const double>(values.data(), 3), least);
        contribute(maximum, std::array{index(), -index()}, fixed);
    }
    void logical(Callback all, Callback any, Callback bits, Callback lambda, Callback other) {
        contribute(std::logical_and<>(), true, all);
        contribute(std::logical_or<>(), index() == 4, any);
        contribute(std::bit_or<>(), 1u << index(), bits);
        contribute([](int a, int b) { return a > b ? a : b; }, index(), lambda);
        contribute([](int a, int b) { return a < b ? a : b; }, index() + 2, other);
    }
    void types(Callback range, Callback histogram, Callback position) {
        contribute(sum, Range{-1.0 * index(), 1.0 * index()}, range);
        Histogram mine{{{"all", 1}, {index() % 2 ? "odd" : "even", 1}}};
        contribute(Merge(), mine, histogram);
        contribute(Larger(), Position{static_cast<double>(index() % 6), index()}, position);
    }
    void texts(Callback whole, Callback none) {
        contribute(concatenation, std::string(static_cast<std::size_t>(index()), 'x'), whole);
        contribute(concatenation, std::vector<double>(), none);
    }
    void barriers(int count, Callback done) {
        for (int at = 0; at < count; ++at)
            contribute(at == count - 1 ? done : Callback());
    }
    void tell_all() {
        contribute(sum, 2.5, all().callback<&Part::all_told>());
        contribute(sum, 1, all()[3].callback<&Part::one_told>());
        contribute(all()[4].callback<&Part::barrier_told>());
        contribute(concatenation, std::string("ab"), all()[5].callback<&Part::text_told>());
        contribute(sum, std::vector<int>{1, 2}, all()[6].callback<&Part::view_told>());
    }
    void all_told(double value) { last += value; }
    void one_told(const int &value) { told += value; }
    void barrier_told() { told += 100; }
    void text_told(std::string &&value) { text = std::move(value); }
    void view_told(View<const int> values) {
        told += values[0] + values[1];
        last += static_cast<double>(values.size());
    }
    std::tuple<int, double, std::string> state() { return {told, last, text}; }
};

Task<> test_numbers(CollectionProxy<Part> parts) {
    Future<int> add;
    Future<double> multiply;
    Future<short> least;
    Future<float> most;
    parts.send<&Part::numbers>(add.callback(), multiply.callback(), least.callback(),
                               most.callback());
    CHECK(co_await add == elements * (elements - 1) / 2);
    CHECK(co_await multiply == 64);
    CHECK(co_await least == -5);
    CHECK(co_await most == elements - 1.0f);
}

Task<> test_arrays(CollectionProxy<Part> parts) {
    for (int round = 0; round < 5; ++round) {
        Future<std::vector<double>> add, least;
        Future<std::array<int, 2>> fixed;
        parts.send<&Part::arrays>(add.callback(), least.callback(), fixed.callback());
        CHECK(co_await add == std::vector<double>(5000, elements * (elements - 1) / 2));
        CHECK(co_await least == std::vector<double>(3));
        CHECK(co_await fixed == (std::array{elements - 1, 0}));
    }
}

Task<> test_logical(CollectionProxy<Part> parts) {
    Future<bool> all, any;
    Future<unsigned> bits;
    Future<int> lambda, other;
    parts.send<&Part::logical>(all.callback(), any.callback(), bits.callback(), lambda.callback(),
                               other.callback());
    CHECK(co_await all && co_await any);
    CHECK(co_await bits == (1u << elements) - 1);
    CHECK(co_await lambda == elements - 1 && co_await other == 2);
}

Task<> test_types(CollectionProxy<Part> parts) {
    Future<Range> range;
    Future<Histogram> histogram;
    Future<Position> position;
    parts.send<&Part::types>(range.callback(), histogram.callback(), position.callback());
    CHECK(co_await range == Range({-12, 12}));
    auto counts = (co_await histogram).counts;
    CHECK(counts["all"] == elements && counts["odd"] == 6 && counts["even"] == 7);
    auto best = co_await position;
    CHECK(best.value == 5 && best.index == 5);
    Future<std::string> whole;
    Future<std::vector<double>> none;
    parts.send<&Part::texts>(whole.callback(), none.callback());
    CHECK(co_await whole == std::string(elements * (elements - 1) / 2, 'x'));
    CHECK((co_await none).empty());
    Future<> done;
    parts.send<&Part::barriers>(50, done.callback());
    co_await done;
}

int function_calls = 0;
void plain_function(int value) { function_calls += value; }

Task<> test_callbacks(CollectionProxy<Part> parts) {
    parts.send<&Part::tell_all>();
    co_await quiescence();
    for (int at = 0; at < elements; ++at) {
        auto [told, last, text] = co_await parts[at].call<&Part::state>();
        CHECK(told == (at == 3 ? elements : at == 4 ? 100 : at == 6 ? 3 * elements : 0));
        CHECK(last == 2.5 * elements + (at == 6 ? 2 : 0));
        CHECK(text.size() == (at == 5 ? 2u * elements : 0u));
    }
    Future<int> add, again;
    int calls = 0;
    parts.send<&Part::numbers>(callback([&](int value) noexcept { calls += value; }),
                               callback([&calls](const double &) mutable { ++calls; }), Callback(),
                               callback([&](float) { ++calls; }));
    co_await quiescence();
    CHECK(calls == elements * (elements - 1) / 2 + 2);
    parts[2].callback<&Part::one_told>()(5);
    parts[2].callback<&Part::barrier_told>()();
    parts.callback<&Part::text_told>()(std::string("to all"));
    callback(plain_function)(7);
    callback([](View<const int> values) { function_calls += values[1]; })(std::array{1, 2});
    co_await quiescence();
    auto [told, last, text] = co_await parts[2].call<&Part::state>();
    CHECK(told == 105 && text == "to all" && function_calls == 9);
}

int main() {
    return run([]() -> Task<> {
        auto parts = create_array<Part>({elements});
        co_await test_numbers(parts);
        co_await test_arrays(parts);
        co_await test_logical(parts);
        co_await test_types(parts);
        co_await test_callbacks(parts);
        auto branches = create_group<Part>();
        Future<int> add;
        branches.send<&Part::numbers>(add.callback(), Callback(), Callback(), Callback());
        CHECK(co_await add == ranks() * (ranks() - 1) / 2);
        std::puts("ok");
        parts.send<&Part::barriers>(1, Callback::exit());
    });
}
