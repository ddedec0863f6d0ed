// Queens that do not attack each other: a search whose nodes have the place in the tree as priority,
// so that all ranks work on what stands first.
//
//     queens [n]
#include <towpath/chare.hpp>

#include <cstdio>
#include <cstdlib>

// The column of the queen in each row.
using Queens = std::vector<int>;

bool can_stand(const Queens &queens, int column) {
    int row = static_cast<int>(queens.size());
    for (int other = 0; other < row; ++other) {
        int at = queens[static_cast<std::size_t>(other)];
        if (at == column || std::abs(at - column) == row - other)
            return false;
    }
    return true;
}

struct Searcher : towpath::Chare<Searcher> {
    bool is_found = false;

    // Sends each place of the next queen to one of the ranks.
    void search(Queens queens, int n, towpath::Priority place, towpath::Callback found) {
        if (is_found)
            return;
        if (static_cast<int>(queens.size()) == n) {
            all().with({.is_expedited = true}).send<&Searcher::end>();
            return found(queens);
        }
        for (int column = 0; column < n; ++column) {
            if (!can_stand(queens, column))
                continue;
            Queens more = queens;
            more.push_back(column);
            auto next = place.followed_by(static_cast<std::uint32_t>(column), 5);
            auto to = all()[(towpath::rank() + column) % towpath::ranks()];
            to.with({.priority = next}).send<&Searcher::search>(more, n, next, found);
        }
    }
    void end() { is_found = true; }
};

struct Judge : towpath::Chare<Judge> {
    bool has_judged = false;

    // The first one counts; several ranks may find one.
    void found(const Queens &queens) {
        if (std::exchange(has_judged, true))
            return;
        Queens placed;
        for (int column : queens) {
            if (!can_stand(placed, column))
                throw towpath::Error("two queens attack each other");
            placed.push_back(column);
        }
        std::printf("%zu queens are right:", placed.size());
        for (int column : placed)
            std::printf(" %d", column);
        std::puts("");
        towpath::exit(0);
    }
};

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 14;
    return towpath::run([n] {
        if (n < 4 || n > 32)
            throw towpath::Error("there is a solution of 4 to 32 queens");
        auto searchers = towpath::create_group<Searcher>();
        auto judge = towpath::create_chare<Judge>();
        auto found = judge.callback<&Judge::found>();
        searchers[0].send<&Searcher::search>(Queens(), n, towpath::Priority::root(), found);
    });
}
