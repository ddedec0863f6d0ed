// Checkpoints, and restarts on other numbers of ranks.
//
//     checkpoint write DIRECTORY      writes one in the middle, and goes on
//     checkpoint stop DIRECTORY       ends after it
//     checkpoint restart DIRECTORY    goes on from it
//     checkpoint CASE DIRECTORY       one that cannot be written (`refusals`)
//
// Says a sum in the end, which depends neither on the ranks nor on a restart.
#include "check.hpp"

using namespace towpath;

constexpr int elements = 12, last_step = 6;

struct Cell;
struct Sparse;
struct Branch;
struct Driver;
ReadOnly<CollectionProxy<Cell>> cells;
ReadOnly<CollectionProxy<Sparse>> sparse;
ReadOnly<CollectionProxy<Branch>> branches;
ReadOnly<ElementProxy<Driver>> driver;
ReadOnly<std::string> mode;

// Where the program is.
struct Driver : Chare<Driver> {
    std::string directory;
    int step = 0;
    long last = 0;
    Callback kept;

    Driver() = default;
    explicit Driver(std::string into) : directory(std::move(into)) {}

    template <class Archive>
    void serialize(Archive &archive) {
        archive & directory & step & last & kept;
    }

    void go();
    void summed(long sum);
    void summed_sparse(long sum);
    void saved() {
        if (mode.get() == "stop" && !is_restarted)
            return pass();
        if (mode.get() == "keeps" && is_restarted) {
            static_cast<void>(callback([](long) { throw Error("this is another function"); }));
            return kept(last);
        }
        go();
    }
    void refused(std::string reason) {
        std::printf("refused: %s\n", reason.c_str());
        go();
    }
    static inline bool is_restarted = false;
};

// Of a dense array, whose elements migrate.
struct Cell : Chare<Cell> {
    std::vector<long> values;
    Mailbox<long> box;

    template <class Archive>
    void serialize(Archive &archive) {
        archive & values & box;
        bool is_saved = !Archive::reads && !towpath_leaves();
        bool is_written = std::is_same_v<Archive, detail::Writer>;
        if (is_saved && (mode.get() == "unmeasured" || (mode.get() == "unpacked" && is_written)))
            throw Error("not now");
    }
    void step(int number) {
        values.push_back(index() + number);
        long sum = 0;
        for (long value : values)
            sum += value * value;
        contribute(towpath::sum, sum, driver->callback<&Driver::summed>());
        if (mode.get() != "waits")
            migrate((rank() + 1) % ranks());
    }
    void other() {}
    // Waits, and is then a reason why there can be no checkpoint.
    Task<> wait() {
        auto [value] = co_await box.receive();
        values.front() += value;
    }
};

// Of a group, the same on all ranks.
struct Branch : Chare<Branch> {
    long weight = 3;

    template <class Archive>
    void serialize(Archive &archive) {
        archive & weight;
    }
};

// Of an array with inserted elements.
struct Sparse : Chare<Sparse, std::array<int, 2>> {
    long value = index()[0];

    template <class Archive>
    void serialize(Archive &archive) {
        archive & value;
    }
    void step(int number) {
        value += branches->local()->weight * number;
        contribute(sum, value, driver->callback<&Driver::summed_sparse>());
    }
};

// Cannot be saved.
struct Rigid : Chare<Rigid> {};

void Driver::go() { cells->send<&Cell::step>(++step); }
void Driver::summed(long sum) {
    last = sum;
    sparse->send<&Sparse::step>(step);
}
void Driver::summed_sparse(long sum) {
    last += sum;
    if (step == last_step) {
        std::printf("sum %ld\n", last);
        return pass();
    }
    if (step != last_step / 2)
        return go();
    const std::string &what = mode;
    kept = callback([](long) {});
    if (what == "function")
        checkpoint(directory, callback([] {}));
    else if (what == "refused" || what == "waits" || what.starts_with("un"))
        try_checkpoint(directory, self().callback<&Driver::refused>());
    else
        checkpoint(directory, self().callback<&Driver::saved>());
    if (what == "twice")
        checkpoint(directory, self().callback<&Driver::saved>());
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    std::string what = argv[1], directory = argv[2];
    Driver::is_restarted = what == "restart";
    auto main = [=] {
        mode = what;
        branches = create_group<Branch>();
        cells = create_array<Cell>({elements});
        sparse = create_sparse_array<Sparse>();
        for (int at = 0; at < elements; ++at)
            sparse.get()[{at, -at}].insert();
        sparse->done_inserting();
        driver = create_chare_at<Driver>(ranks() - 1, directory);
        if (what == "rigid")
            create_chare<Rigid>();
        if (what == "waits")
            cells.get()[5].send<&Cell::wait>();
        driver->send<&Driver::go>();
#ifdef OTHER_PROGRAM
        cells->send<&Cell::other>();
#endif
    };
    return run(main, {.restart = what == "restart" ? directory : ""});
}
