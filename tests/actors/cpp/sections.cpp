// Sections: multicasts, reductions and callbacks of random subsets whose members migrate, are made
// late, and are deleted; sums at quiescence show that every member got every message once.
//
//     sections [ROUNDS [SEED]]
#include "check.hpp"

#include <cstdlib>
#include <random>

using namespace towpath;

constexpr std::uint64_t mixed(std::uint64_t value) {
    value *= 0x9e3779b97f4a7c15u;
    return value ^ value >> 29;
}

struct Totals : Chare<Totals> {
    std::uint64_t sum_ = 0;
    int reductions = 0;

    void add(std::uint64_t value) {
        sum_ += value;
        ++reductions;
    }
    std::pair<std::uint64_t, int> take() {
        return {std::exchange(sum_, 0), std::exchange(reductions, 0)};
    }
};

struct Member : Chare<Member> {
    std::uint64_t heard = 0;
    int messages = 0;
    std::minstd_rand random;

    Member() : random(static_cast<unsigned>(index() + 1)) {}
    void serialize(auto &archive) {
        auto next = static_cast<std::uint32_t>(random() % 1000000 + 1);
        archive & heard & messages & next;
        random.seed(next);
    }
    int any(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
    void wander() {
        if (any(3) == 0)
            migrate(any(ranks()));
    }

    // A section that is made here, and named to the caller.
    Section<Member> make(std::vector<int> members) {
        wander();
        return all().section(members);
    }
    void hear(std::uint64_t value, View<const std::uint64_t> values, Section<Member> section,
              ElementProxy<Totals> totals) {
        for (auto each : values)
            heard += each;
        ++messages;
        wander();
        // The n-th contribution of each member may be for another message.
        contribute(section, sum, value, totals.callback<&Totals::add>());
        auto mine = sections();
        CHECK(std::ranges::find(mine, section) != mine.end());
    }
    // Sends to the section from where this one is.
    void pass_on(std::uint64_t value, std::vector<std::uint64_t> values, Section<Member> section,
                 ElementProxy<Totals> totals) {
        section.with({.priority = any(5) - 2}).send<&Member::hear>(value, values, section, totals);
        wander();
    }
    Task<> agree(Section<Member> section, int members, int expected, Callback done) {
        for (int round = 0; round < 3; ++round) {
            auto [count, all, mean] = co_await reduce(section, tuple_of(sum, sum, statistics),
                                                      std::tuple(1, index(), index()));
            CHECK(count == members && all == expected);
            CHECK(mean.count == static_cast<std::uint64_t>(members));
        }
        CHECK(co_await reduce(section, sum, 1) == members);
        contribute(section, done);
    }
    void count_told(int) { ++messages; }
    void contribute_one(Section<Member> section) {
        contribute(section, sum, 1, section.callback<&Member::count_told>());
    }
    void report(Callback done) {
        contribute(sum, std::array<std::uint64_t, 2>{heard, static_cast<std::uint64_t>(messages)},
                   done);
        heard = 0;
        messages = 0;
    }
    void leave() { destroy(); }
};

struct Tile : Chare<Tile, std::array<int, 2>> {
    void name(Section<Tile> section, Callback done) {
        contribute(section, set, index(), done);
    }
};

std::minstd_rand choice;
int any(int below) { return static_cast<int>(choice() % static_cast<unsigned>(below)); }

std::vector<int> some_of(int elements) {
    std::vector<int> members;
    for (int at = 0; at < elements; ++at) {
        if (any(3) == 0)
            members.push_back(at);
    }
    std::shuffle(members.begin(), members.end(), choice);
    // It is not named twice by being there twice.
    if (!members.empty() && any(2) == 0)
        members.push_back(members.front());
    return members;
}

int count_of(const std::vector<int> &members) {
    return static_cast<int>(std::set(members.begin(), members.end()).size());
}

Task<> random_round(CollectionProxy<Member> members, int elements, ElementProxy<Totals> totals) {
    std::uint64_t heard = 0, contributed = 0, messages = 0;
    int reductions = 0;
    for (int times = any(4) + 1; times-- > 0;) {
        auto chosen = some_of(elements);
        auto count = static_cast<std::uint64_t>(count_of(chosen));
        auto section = members.section(chosen);
        if (any(2))
            section = co_await members[any(elements)].call<&Member::make>(chosen);
        for (int sent = any(6) + 1; sent-- > 0;) {
            auto length = static_cast<std::size_t>(any(9) == 0 ? 20000 : any(20));
            std::vector<std::uint64_t> values(length);
            std::uint64_t value = mixed(choice());
            for (auto &each : values)
                heard += count * (each = mixed(choice()));
            members[any(elements)].send<&Member::pass_on>(value, values, section, totals);
            messages += count;
            contributed += count * value;
            reductions += count > 0;
        }
    }
    co_await quiescence();
    Future<std::array<std::uint64_t, 2>> reported;
    members.send<&Member::report>(reported.callback());
    auto [all_heard, all_messages] = co_await reported;
    CHECK(all_heard == heard && all_messages == messages);
    auto [sum_, made] = co_await totals.call<&Totals::take>();
    CHECK(sum_ == contributed && made == reductions);
}

Task<> test_agreement(CollectionProxy<Member> members, int elements) {
    for (int round = 0; round < 3; ++round) {
        auto chosen = some_of(elements);
        chosen.push_back(any(elements));
        auto unique = std::set(chosen.begin(), chosen.end());
        int expected = 0;
        for (int index : unique)
            expected += index;
        auto section = members.section(chosen);
        CHECK(section != members.section(chosen) && section.all().id() == members.id());
        Future<> done;
        int count = static_cast<int>(unique.size());
        section.send<&Member::agree>(section, count, expected, done.callback());
        co_await done;
        section.send<&Member::contribute_one>(section);
        co_await quiescence();
        Future<std::array<std::uint64_t, 2>> reported;
        members.send<&Member::report>(reported.callback());
        auto [heard, told] = co_await reported;
        CHECK(heard == 0 && told == unique.size());
    }
}

// Multicasts wait for members that are made later, and go past those that are deleted.
Task<> test_late_and_deleted(ElementProxy<Totals> totals) {
    auto late = create_sparse_array<Member>();
    auto section = late.section(std::views::iota(10, 16));
    std::vector<std::uint64_t> none;
    section.send<&Member::hear>(5u, none, section, totals);
    for (int at = 10; at < 16; ++at)
        late[at].insert_at((at * 7) % ranks());
    late.done_inserting();
    co_await quiescence();
    CHECK(co_await totals.call<&Totals::take>() == (std::pair<std::uint64_t, int>(30, 1)));
    late.section({11, 12}).send<&Member::leave>();
    co_await quiescence();
    section.send<&Member::hear>(5u, none, section, totals);
    late[12].insert();
    co_await quiescence();
    CHECK(co_await totals.call<&Totals::take>() == (std::pair<std::uint64_t, int>(20, 1)));
}

Task<> test_shapes() {
    auto tiles = create_array<Tile>({5, 6});
    auto section = tiles.section_between({1, 0}, {5, 6}, 2);
    Future<Set<std::array<int, 2>>> names;
    section.send<&Tile::name>(section, names.callback());
    auto values = (co_await names).values;
    std::ranges::sort(values);
    CHECK(values.size() == 6 && values[0] == (std::array{1, 0}) && values[2] == (std::array{1, 4}));
    CHECK(values[3] == (std::array{3, 0}) && values[5] == (std::array{3, 4}));
    auto listed = tiles.section({{4, 5}, {0, 0}});
    Future<Set<std::array<int, 2>>> again;
    listed.send<&Tile::name>(listed, again.callback());
    CHECK((co_await again).values.size() == 2);
    // A section without members: nobody is told.
    tiles.section_between({1, 1}, {1, 6}).send<&Tile::name>(listed, Callback::exit());
    auto branches = create_group<Member>();
    auto even = branches.section_between(0, ranks(), 2);
    Future<> done;
    int count = (ranks() + 1) / 2;
    even.send<&Member::agree>(even, count, count * (count - 1), done.callback());
    co_await done;
}

int main(int count, char **arguments) {
    int rounds = count > 1 ? std::atoi(arguments[1]) : 20;
    auto seed = static_cast<std::uint32_t>(count > 2 ? std::atoi(arguments[2]) : 1);
    return run([=]() -> Task<> {
        choice.seed(seed);
        int elements = 3 * ranks() + 6;
        auto totals = create_chare_at<Totals>(ranks() - 1);
        auto members = create_round_robin_array<Member>({elements});
        for (int round = 0; round < rounds; ++round)
            co_await random_round(members, elements, totals);
        co_await test_agreement(members, elements);
        co_await test_late_and_deleted(totals);
        co_await test_shapes();
        pass();
    });
}
