// Arrays of one to six dimensions, index types of the program, sparse arrays, groups, single chares.
#include "check.hpp"

#include <memory>

using namespace towpath;

// An element that tells its index, and may migrate.
template <std::size_t N>
struct Grid : Chare<Grid<N>, std::array<int, N>> {
    int start = 0;

    Grid() = default;
    explicit Grid(int start) : start(start) {}
    void serialize(auto &archive) { archive & start; }

    void sum_indexes(Callback done) {
        auto index = this->index();
        std::vector<int> sums(index.begin(), index.end());
        sums.push_back(1);
        sums.push_back(start);
        this->contribute(sum, sums, done);
    }
    void turn() { this->migrate((rank() + 1) % ranks()); }
    std::array<int, N> where() const { return this->index(); }
};

template <std::size_t N, class Make>
Task<> test_grid(const std::array<int, N> &extents, Make make) {
    CollectionProxy<Grid<N>> grid = make(extents, 7);
    int elements = 1;
    std::array<int, N> last = extents;
    for (int &extent : last)
        elements *= extent--;
    for (int round = 0; round < 3; ++round) {
        Future<std::vector<int>> sums;
        grid.template send<&Grid<N>::sum_indexes>(sums.callback());
        auto result = co_await sums;
        CHECK(result.size() == N + 2);
        for (std::size_t at = 0; at < N; ++at)
            CHECK(result[at] == elements / extents[at] * extents[at] * last[at] / 2);
        CHECK(result[N] == elements && result[N + 1] == 7 * elements);
        grid.template send<&Grid<N>::turn>();
    }
    CHECK((co_await grid[last].template call<&Grid<N>::where>()) == last);
}

const auto blocks = []<std::size_t N>(const std::array<int, N> &extents, int start) {
    return create_array<Grid<N>>(extents, start);
};
const auto dealt = []<std::size_t N>(const std::array<int, N> &extents, int start) {
    return create_round_robin_array<Grid<N>>(extents, start);
};

Task<> test_grids() {
    co_await test_grid(std::array{9}, blocks);
    co_await test_grid(std::array{3, 5}, dealt);
    co_await test_grid(std::array{3, 2, 5}, blocks);
    co_await test_grid(std::array{1, 2, 3, 2}, dealt);
    co_await test_grid(std::array{2, 1, 2, 3, 2}, blocks);
    co_await test_grid(std::array{2, 2, 1, 2, 3, 2}, blocks);
    auto empty = create_array<Grid<2>>({0, 4}, 1);
    empty.send<&Grid<2>::turn>();
    co_await quiescence();
}

// An index with words of several types.
struct Key {
    short x, y;
    std::int32_t weight;
    std::uint32_t id;
};

struct Item : Chare<Item, Key> {
    std::string name;
    std::unique_ptr<int> number; // it has no constructor without parameters

    Item(const std::string &name, int number)
        : name(name + std::to_string(rank())), number(std::make_unique<int>(number)) {}

    std::string get() { return name + " " + std::to_string(*number); }
    void remove() { destroy(); }
    void tell_rank(Callback told) { contribute(maximum, rank(), told); }
    int where() { return rank(); }
    double weight() { return index().weight + index().x * index().y + index().id; }
    void insert_next(int depth) {
        Key key = index();
        if (depth == 0)
            return;
        ++key.id;
        all()[key].insert("child", depth);
        all()[key].send<&Item::insert_next>(depth - 1);
    }
};

Task<> test_sparse() {
    auto items = create_sparse_array<Item>();
    const Key first{1, -2, 1, 7}, second{3, 4, 2, 9};
    items[first].insert(std::string("first"), 1);
    items[first].send<&Item::where>();
    const int last_rank = ranks() - 1;
    items[second].insert_at(last_rank, std::string("second"), 2);
    items.done_inserting();
    CHECK(co_await items[second].call<&Item::get>() == "second" + std::to_string(last_rank) + " 2");
    CHECK(co_await items[second].call<&Item::weight>() == 23);
    CHECK(co_await items[first].call<&Item::weight>() == 6);
    Future<int> most;
    items.send<&Item::tell_rank>(most.callback());
    CHECK(co_await most == std::max(last_rank, co_await items[first].call<&Item::where>()));
    // A deleted index can be used again.
    for (int round = 0; round < 10; ++round) {
        items[second].send<&Item::remove>();
        items[second].insert_at(round % ranks(), std::string("again"), round);
        auto name = co_await items[second].call<&Item::get>();
        CHECK(name == "again" + std::to_string(round % ranks()) + " " + std::to_string(round));
    }
    items[first].send<&Item::insert_next>(20);
    co_await quiescence();
    Key deepest = first;
    deepest.id += 20;
    CHECK((co_await items[deepest].call<&Item::get>()).starts_with("child"));
    items.send<&Item::remove>();
    co_await quiescence();
}

// The elements that are inserted later take part in the reductions that follow, and in no other.
struct Late : Chare<Late> {
    Mailbox<int> rounds;
    int waited = 0;

    void serialize(auto &archive) { archive & rounds & waited; }
    Task<> add(int count, Callback done) {
        for (int at = 0; at < count; ++at) {
            int all_of_them = co_await reduce(sum, 1);
            waited += all_of_them;
        }
        contribute(sum, waited, done);
    }
    Task<int> add_one() { co_return co_await reduce(sum, 1); }
};

Task<> test_late() {
    auto late = create_sparse_array<Late>();
    for (int at = 0; at < 4; ++at)
        late[at].insert();
    late.done_inserting();
    Future<int> four, seven;
    late.send<&Late::add>(5, four.callback());
    CHECK(co_await four == 4 * 5 * 4);
    for (int at = 4; at < 7; ++at)
        late[at].insert();
    late.done_inserting();
    late.send<&Late::add>(3, seven.callback());
    CHECK(co_await seven == 4 * 5 * 4 + 7 * 3 * 7);
}

struct Branch : Chare<Branch> {
    int sent = 0;

    explicit Branch(int start) : sent(start) { CHECK(index() == rank()); }
    void add(int value) { sent += value; }
    int get() { return sent; }
    void tell(Callback done) {
        // The branch of this rank can be called directly.
        all().local()->add(1);
        CHECK(self().local() == this);
        contribute(concatenation, std::vector<int>{rank()}, done);
    }
};

struct Maker : Chare<Maker> {
    CollectionProxy<Branch> branches;

    // Constructors make chares of their own.
    Maker() : branches(create_group<Branch>(5)) { CHECK(branches.local() != nullptr); }
    explicit Maker(int depth) : Maker() {
        if (depth > 0)
            next = create_chare_at<Maker>((rank() + 1) % ranks(), depth - 1);
    }
    std::optional<ElementProxy<Maker>> next;
    CollectionProxy<Branch> get() { return branches; }
    Task<int> depth() {
        if (!next)
            co_return 0;
        int below = co_await next->call<&Maker::depth>();
        co_return below + 1;
    }
    void leave() { destroy(); }
};

Task<> test_groups() {
    auto maker = create_chare<Maker>(6);
    CHECK(co_await maker.call<&Maker::depth>() == 6);
    auto branches = co_await maker.call<&Maker::get>();
    for (int at = 0; at < ranks(); ++at)
        branches[at].send<&Branch::add>(at);
    Future<std::vector<int>> told;
    branches.send<&Branch::tell>(told.callback());
    auto all = co_await told;
    std::ranges::sort(all);
    for (int at = 0; at < ranks(); ++at) {
        CHECK(all[static_cast<std::size_t>(at)] == at);
        CHECK(co_await branches[at].call<&Branch::get>() == 6 + at);
    }
    maker.send<&Maker::leave>();
    co_await quiescence();
    CHECK(maker.local() == nullptr);
}

// The element that sends is a proxy of itself everywhere.
struct Ring : Chare<Ring> {
    std::set<int> ranks_seen;
    void serialize(auto &archive) { archive & ranks_seen; }
    void pass(int steps, ElementProxy<Ring> first, Callback done) {
        ranks_seen.insert(rank());
        if (steps == 0) {
            done(first.id().index.words[0]);
            return;
        }
        migrate(steps % ranks());
        all()[(index() + 1) % 5].send<&Ring::pass>(steps - 1, first, done);
    }
    int seen() { return static_cast<int>(ranks_seen.size()); }
};

Task<> test_ring() {
    auto ring = create_array<Ring>({5});
    Future<int> done;
    ring[3].send<&Ring::pass>(500, ring[3], done.callback());
    CHECK(co_await done == 3);
    CHECK(co_await ring[0].call<&Ring::seen>() == ranks());
}

int main() {
    return run([]() -> Task<> {
        co_await test_grids();
        co_await test_sparse();
        co_await test_late();
        co_await test_groups();
        co_await test_ring();
        pass();
    });
}
