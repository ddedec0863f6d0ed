// Reductions that the library does itself: numbers of all types, sets, statistics, tuples.
#include "check.hpp"

using namespace towpath;

constexpr int elements = 11;

template <class T>
using Three = std::array<T, 3>;

struct Part : Chare<Part> {
    void serialize(auto &) {}

    template <class T>
    Three<T> values() const {
        auto at = static_cast<T>(index() + 1);
        return {at, static_cast<T>(at % T(3)), static_cast<T>(index() == 4)};
    }
    // The same by the library, and by a function object of the program.
    template <class T, class Operation>
    void both(Operation operation, const Callback &done) {
        auto own = [](T a, T b) { return static_cast<T>(Operation()(a, b)); };
        static_assert(detail::built_in<Operation, Three<T>>() != 0);
        static_assert(detail::built_in<decltype(own), Three<T>>() == 0);
        contribute(tuple_of(operation, own), std::tuple(values<T>(), values<T>()), done);
    }
    template <class T>
    void all_of_type(const Callback &done) {
        both<T>(sum, done);
        both<T>(product, done);
        both<T>(minimum, done);
        both<T>(maximum, done);
        both<T>(logical_and, done);
        both<T>(logical_or, done);
        both<T>(logical_xor, done);
        both<T>(bit_and, done);
        both<T>(bit_or, done);
        both<T>(bit_xor, done);
    }
    void whole_numbers() {
        all_of_type<signed char>(all()[0].callback<&Part::equal<signed char>>());
        all_of_type<char>(all()[1].callback<&Part::equal<char>>());
        all_of_type<std::int16_t>(all()[2].callback<&Part::equal<std::int16_t>>());
        all_of_type<int>(all()[3].callback<&Part::equal<int>>());
        all_of_type<long long>(all()[4].callback<&Part::equal<long long>>());
        all_of_type<unsigned char>(all()[5].callback<&Part::equal<unsigned char>>());
        all_of_type<unsigned short>(all()[6].callback<&Part::equal<unsigned short>>());
        all_of_type<unsigned>(all()[7].callback<&Part::equal<unsigned>>());
        all_of_type<unsigned long>(all()[8].callback<&Part::equal<unsigned long>>());
    }
    int told = 0;
    template <class T>
    void equal(Results<Three<T>, Three<T>> results) {
        auto &[library, own] = results;
        CHECK(library == own);
        ++told;
    }
    int take() { return std::exchange(told, 0); }

    void points(Callback done) {
        float small = 0.5f * static_cast<float>(index());
        contribute(tuple_of(sum, minimum, maximum, sum, product, logical_or, bit_or, minimum),
                   std::tuple(small, small, small, 0.25, 2.0, index() == 3, index() == 4,
                              std::vector<double>{1.0 * index(), -1.0 * index()}), done);
    }
    void sets(CallbackOf<Set<std::string>> texts, CallbackOf<int> one,
              const CallbackOf<Statistics> &spread) {
        contribute(set, std::string(static_cast<std::size_t>(index()), 'x'), texts);
        migrate((rank() + 1) % ranks());
        contribute(any_one, index(), one);
        contribute(statistics, index() % 2 == 0 ? 1.0f : 3.0f, spread);
    }
    Task<> wait(Callback done) {
        Set<int> all_indexes = co_await reduce(set, index());
        CHECK(all_indexes.values.size() == elements);
        std::vector<Statistics> spread = co_await reduce(statistics, std::array{index(), 5});
        CHECK(spread[0].mean == (elements - 1) / 2.0 && spread[1].variance() == 0);
        CHECK(spread[0].count == elements && spread[1].count == elements);
        std::tuple mine(std::string("ab"), 7, Text{"x"});
        auto [text, again, kept] = co_await reduce(tuple_of(concatenation, set, Longer()), mine);
        CHECK(text.size() == 2 * elements && again.values == std::vector<int>(elements, 7));
        CHECK(kept.text == "x");
        contribute(done);
    }
    struct Text {
        std::string text;
        void serialize(auto &archive) { archive & text; }
    };
    struct Longer {
        Text operator()(const Text &a, const Text &b) const {
            return a.text.size() < b.text.size() ? b : a;
        }
    };
};

int main() {
    return run([]() -> Task<> {
        auto parts = create_array<Part>({elements});
        parts.send<&Part::whole_numbers>();
        co_await quiescence();
        for (int at = 0; at < 9; ++at)
            CHECK(co_await parts[at].call<&Part::take>() == 10);
        Future<Results<float, float, float, double, double, bool, bool, std::vector<double>>> points;
        parts.send<&Part::points>(points.callback());
        auto [all, least, most, quarters, powers, any, bits, low] = co_await points;
        CHECK(all == 27.5f && least == 0 && most == 5 && quarters == elements / 4.0);
        CHECK(powers == 2048 && any && bits && low == (std::vector<double>{0, -10}));
        Future<Set<std::string>> texts;
        Future<int> one;
        Future<Statistics> spread;
        parts.send<&Part::sets>(texts.callback(), one.callback(), spread.callback());
        auto found = (co_await texts).values;
        std::ranges::sort(found);
        CHECK(found.size() == elements && found[3] == "xxx");
        int chosen = co_await one;
        CHECK(chosen >= 0 && chosen < elements);
        auto numbers = co_await spread;
        CHECK(numbers.count == elements && std::abs(numbers.mean - 21.0 / 11) < 1e-12);
        CHECK(std::abs(numbers.variance() - 120.0 / 121) < 1e-12);
        Future<> done;
        parts.send<&Part::wait>(done.callback());
        co_await done;
        pass();
    });
}
