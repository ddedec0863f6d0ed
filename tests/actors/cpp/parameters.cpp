// Parameters of all kinds, by value, by reference and as views; how messages are sent.
#include "check.hpp"

#include <complex>
#include <cstdint>
#include <numeric>

using namespace towpath;

namespace shapes {
struct Point {
    int x = 0;
};
}  // namespace shapes

enum class Colour : std::uint8_t { red, green, blue };

struct Plain {
    double x;
    int y;
    bool operator==(const Plain &) const = default;
};

struct Tree {
    std::string name;
    std::vector<Tree> branches;
    std::unique_ptr<Tree> shadow;

    template <class Archive>
    void serialize(Archive &archive) {
        archive & name & branches & shadow;
    }
    bool operator==(const Tree &other) const {
        bool same = static_cast<bool>(shadow) == static_cast<bool>(other.shadow);
        return same && name == other.name && branches == other.branches &&
               (!shadow || *shadow == *other.shadow);
    }
};

// Other ways to write the function.
struct Named {
    std::string name;
    int number = 0;

    void serialize(auto &archive) { archive(name, number); }
    bool operator==(const Named &) const = default;
};

template <class T>
std::vector<T> numbers(std::size_t count) {
    std::vector<T> values(count);
    std::iota(values.begin(), values.end(), T(1));
    return values;
}

using Nested = std::map<std::string, std::vector<std::pair<int, std::optional<std::string>>>>;

Nested nested() {
    return {{"", {}}, {"a", {{1, "one"}, {2, std::nullopt}}}, {std::string(5000, 'x'), {{3, ""}}}};
}

Tree tree(int depth) {
    Tree made{std::string(static_cast<std::size_t>(depth), 't'), {}, nullptr};
    for (int at = 0; at < depth; ++at)
        made.branches.push_back(tree(at));
    if (depth % 2)
        made.shadow = std::make_unique<Tree>(tree(depth - 1));
    return made;
}

std::string long_string() { return std::string(100000, 'l') + std::string("\0end", 4); }

struct Common {
    int common_calls = 0;
    void from_base(int value) { common_calls += value; }
    int base_result() const { return common_calls; }
};

struct Target : Common, Chare<Target> {
    int calls = 0;
    std::vector<int> order;

    Target() = default;
    Target(const std::string &text, std::vector<std::vector<int>> numbers, const View<const int> &view) {
        CHECK(text == "text" && numbers == std::vector<std::vector<int>>({{1}, {}, {2, 3}}));
        CHECK(view.size() == 3 && view[2] == 3);
    }

    void scalars(bool a, char b, std::int8_t c, std::uint64_t d, float e, long double f, Colour g) {
        CHECK(a && b == 'b' && c == -8 && d == UINT64_MAX && e == 1.5f && f == 2.5L);
        CHECK(g == Colour::blue);
        ++calls;
    }
    // Methods of the same name and parameters, which differ in the argument of the template.
    template <class T>
    std::size_t bytes_of(int count) {
        return sizeof(T) * count;
    }
    // This has a :: behind its name.
    template <class T>
    std::size_t bytes_with(int more) {
        return sizeof(T) + more;
    }
    void strings(std::string empty, const std::string &text, std::string &&moved) {
        CHECK(empty.empty() && text == long_string() && moved == "moved");
        ++calls;
    }
    void containers(const Nested &map, std::set<std::string> set, std::list<int> list,
                    std::deque<std::string> deque, std::multimap<int, int> many,
                    std::unordered_map<std::string, int> hashed, std::unordered_set<int> hashes) {
        CHECK(map == nested() && set == std::set<std::string>({"", "b"}));
        CHECK(list == std::list<int>({1, 2}) && deque == std::deque<std::string>({"d", ""}));
        CHECK(many.count(1) == 2 && hashed.at("h") == 7 && hashes.count(9) == 1);
        ++calls;
    }
    void bits(std::vector<bool> bits, std::vector<bool> none, std::vector<std::vector<bool>> many) {
        CHECK(bits == std::vector<bool>({true, false, true}) && none.empty());
        CHECK(many.size() == 2 && many[1].size() == 70 && many[1][69] && !many[1][0]);
        ++calls;
    }
    void structures(Plain plain, Tree made, const Named &named, std::vector<Named> all) {
        CHECK(plain == Plain({1.5, 2}) && made == tree(5) && named == Named({"n", 1}));
        CHECK(all == std::vector<Named>({{"", 0}, {"m", 2}}));
        ++calls;
    }
    void fixed(std::array<int, 3> ints, std::array<std::string, 2> texts, std::tuple<> nothing,
               std::tuple<int, std::string, std::pair<char, double>> parts,
               std::complex<double> complex) {
        CHECK(ints == (std::array{1, 2, 3}) && texts[0].empty() && texts[1] == "t");
        CHECK(parts == std::tuple(1, std::string("2"), std::pair('3', 4.0)));
        CHECK(nothing == std::tuple<>() && complex == std::complex(1.0, -1.0));
        ++calls;
    }
    void maybe(std::optional<int> none, std::optional<std::string> some,
               std::optional<std::optional<int>> inner, std::unique_ptr<std::string> pointer,
               std::unique_ptr<int> null, std::vector<std::unique_ptr<int>> pointers) {
        CHECK(!none && some == "some" && inner && !*inner && *pointer == "there" && !null);
        CHECK(pointers.size() == 2 && *pointers[0] == 5 && !pointers[1]);
        ++calls;
    }
    void views(char, View<const double> doubles, bool, View<const char> text,
               const View<const Plain> &plain, View<const std::uint16_t> shorts,
               View<const int> empty) {
        CHECK(doubles.keep() == numbers<double>(1001) && text.size() == 5 && text[4] == 'o');
        CHECK(reinterpret_cast<std::uintptr_t>(doubles.data()) % 16 == 0);
        CHECK(reinterpret_cast<std::uintptr_t>(plain.data()) % 16 == 0);
        CHECK(plain.size() == 1 && plain[0].y == 2 && shorts.span().back() == 3 && empty.empty());
        ++calls;
    }
    void inside(std::vector<View<const int>> views, std::optional<View<const char>> text) {
        CHECK(views.size() == 2 && views[1].keep() == numbers<int>(5) && text->size() == 2);
        ++calls;
    }
    void lvalue(std::string &text, std::vector<int> &values) {
        text += "changed";
        values.clear();
        ++calls;
    }
    void proxies(CollectionProxy<Target> all, ElementProxy<Target> one, Callback callback) {
        one.send<&Target::nothing>();
        all[index()].send<&Target::nothing>();
        callback(std::string("told"));
    }
    void nothing() { ++calls; }
    void constant() const noexcept {}
    void never_throws(int) noexcept { ++calls; }
    int count() const { return calls; }

    void keeps_order(int value) { order.push_back(value); }
    void sends_to_itself() {
        auto me = self();
        me.send<&Target::keeps_order>(0);
        me.with({.priority = 7}).send<&Target::keeps_order>(7);
        me.with({.priority = -3}).send<&Target::keeps_order>(-3);
        me.with({.priority = -5}).send<&Target::keeps_order>(-5);
        me.with({.is_expedited = true}).send<&Target::keeps_order>(100);
        me.with({.priority = 9}).send<&Target::keeps_order>(9);
    }
    std::vector<int> ordered() { return order; }
};

int text_calls = 0;

// Every kind once, with lvalues, rvalues, constants and conversions.
template <class Proxy>
void send_all(const Proxy &to) {
    to.template send<&Target::scalars>(true, 'b', std::int8_t(-8), UINT64_MAX, 1.5f, 2.5L,
                                       Colour::blue);
    const std::string text = long_string();
    to.template send<&Target::strings>("", text, std::string("moved"));
    Nested map = nested();
    to.template send<&Target::containers>(
        map, std::set<std::string>{"", "b"}, std::list{1, 2}, std::deque<std::string>{"d", ""},
        std::multimap<int, int>{{1, 2}, {1, 3}}, std::unordered_map<std::string, int>{{"h", 7}},
        std::unordered_set<int>{9});
    CHECK(map == nested());
    std::vector<bool> bits(70);
    bits[69] = true;
    to.template send<&Target::bits>(std::vector<bool>{true, false, true}, std::vector<bool>(),
                                    std::vector<std::vector<bool>>{{}, bits});
    to.template send<&Target::structures>(Plain{1.5, 2}, tree(5), Named{"n", 1},
                                          std::vector<Named>{{"", 0}, {"m", 2}});
    to.template send<&Target::fixed>(std::array{1, 2, 3}, std::array<std::string, 2>{"", "t"},
                                     std::tuple<>(),
                                     std::tuple(1, "2", std::pair('3', 4.0)),
                                     std::complex(1.0, -1.0));
    std::vector<std::unique_ptr<int>> pointers(2);
    pointers[0] = std::make_unique<int>(5);
    to.template send<&Target::maybe>(std::nullopt, "some",
                                     std::optional<std::optional<int>>(std::optional<int>()),
                                     std::make_unique<std::string>("there"), nullptr, pointers);
    const Plain plain[] = {{1.5, 2}};
    std::vector<std::uint16_t> shorts{1, 2, 3};
    std::span<const std::uint16_t> span(shorts);
    auto doubles = numbers<double>(1001);
    to.template send<&Target::views>('c', doubles, true, std::string("hello"), plain, span,
                                     std::vector<int>());
    auto five = numbers<int>(5);
    View<const int> view(five.data(), five.size());
    to.template send<&Target::inside>(std::vector{View<const int>(), view},
                                      View<const char>("ab", 2));
    std::string unchanged = "u";
    to.template send<&Target::lvalue>(unchanged, five);
    CHECK(unchanged == "u" && five.size() == 5);
    to.template send<&Target::proxies>(CollectionProxy<Target>(to.id_of_all()), to.one(),
                                       callback([](const std::string &told) {
                                           CHECK(told == "told");
                                           ++text_calls;
                                       }));
    to.template send<&Target::constant>();
    to.template send<&Target::never_throws>(1.0f);
    to.template send<&Target::from_base>(3);
}

// A proxy and what `send_all` asks about it.
struct One : ElementProxy<Target> {
    std::uint64_t id_of_all() const { return id().collection; }
    ElementProxy<Target> one() const { return *this; }
};

constexpr int expected_calls = 13;

Task<> send_arrays(CollectionProxy<Target> targets, int elements) {
    auto doubles = numbers<double>(1001);
    std::vector<Plain> plain{{1.5, 2}};
    std::uint16_t shorts[] = {1, 2, 3};
    Future<> sent, sent_to_all, sent_short;
    auto last = targets[elements - 1];
    last.send<&Target::views>('c', nocopy(doubles, sent.callback()), true,
                              nocopy("hello", 5), nocopy(plain), nocopy(shorts),
                              nocopy<int>(nullptr, 0, sent_short.callback()));
    targets.send<&Target::views>('c', nocopy(doubles, sent_to_all.callback()), true,
                                 nocopy("hello", 5), plain, nocopy(shorts, 3), std::array<int, 0>());
    co_await sent;
    co_await sent_to_all;
    co_await sent_short;
    co_await quiescence();
}

Task<> main_function() {
    const int elements = 2 * ranks() + 1;
    std::vector<int> three{1, 2, 3};
    auto targets = create_array<Target>({elements}, std::string("text"),
                                        std::vector<std::vector<int>>{{1}, {}, {2, 3}},
                                        View<const int>(three.data(), 3));
    for (int at = 0; at < elements; ++at)
        send_all(One{targets[at]});
    co_await quiescence();
    CHECK(text_calls == elements);
    co_await send_arrays(targets, elements);
    for (int at = 0; at < elements; ++at) {
        int expected = expected_calls + 1 + (at == elements - 1);
        CHECK(co_await targets[at].call<&Target::count>() == expected);
        CHECK(co_await targets[at].call<&Target::base_result>() == 3);
    }
    auto last = targets[elements - 1];
    co_await last.call<&Target::sends_to_itself>();
    co_await quiescence();
    auto order = co_await last.call<&Target::ordered>();
    CHECK(order == std::vector<int>({100, -5, -3, 0, 7, 9}));
    CHECK(co_await last.call<&Target::bytes_of<shapes::Point>>(3) == 3 * sizeof(shapes::Point));
    CHECK(co_await last.call<&Target::bytes_with<shapes::Point>>(3) == 3 + sizeof(shapes::Point));
    CHECK(co_await last.call<&Target::bytes_of<int>>(3) == 3 * sizeof(int));
    CHECK(detail::member_name<&Target::bytes_of<int>>().starts_with("bytes_of"));
    CHECK(detail::member_name<&Target::calls>() == "calls");
    targets.with({.priority = 3}).send<&Target::from_base>(4);
    targets.with({.is_expedited = true}).send<&Target::from_base>(1);
    co_await quiescence();
    CHECK(co_await targets[0].call<&Target::base_result>() == 8);
    pass();
}

int main() {
    return run(main_function);
}
