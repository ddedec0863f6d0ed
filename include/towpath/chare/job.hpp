// The job: read-only data, the main function of rank 0, the end.
#pragma once

#include <cstdio>

#include "object.hpp"

namespace towpath {

namespace detail {

// Read-only data, in the order in which the program declares it.
struct ReadOnlyBase {
    virtual void transfer(Sizer &archive) = 0;
    virtual void transfer(Writer &archive) = 0;
    virtual void transfer(Reader &archive) = 0;

    static std::vector<ReadOnlyBase *> &all() {
        static std::vector<ReadOnlyBase *> all;
        return all;
    }

    template <class Archive>
    static void transfer_all(Archive &&archive) {
        for (auto *data : all())
            data->transfer(archive);
    }

protected:
    ReadOnlyBase() { all().push_back(this); }
    ~ReadOnlyBase() = default;
};

}  // namespace detail

// A global variable that the main function sets before it returns or first waits, and that all
// ranks have before any chare is made there.
template <Serializable T>
class ReadOnly : detail::ReadOnlyBase {
public:
    ReadOnly() = default;
    explicit ReadOnly(T value) : value_(std::move(value)) {}
    ReadOnly(const ReadOnly &) = delete;

    ReadOnly &operator=(T value) {
        value_ = std::move(value);
        return *this;
    }
    operator const T &() const { return value_; }
    const T &get() const { return value_; }
    const T *operator->() const { return &value_; }

private:
    void transfer(detail::Sizer &archive) override { archive & value_; }
    void transfer(detail::Writer &archive) override { archive & value_; }
    void transfer(detail::Reader &archive) override { archive & value_; }

    T value_{};
};

// Sends all messages now. They leave when the running method has returned, or before, unless the
// program has initialized MPI itself: a method that waits for another rank in some other way, as in
// a function of MPI, calls this first.
inline void flush() { towpath_flush(); }

// Ends the job on all ranks, once this method has returned.
inline void exit(int code = 0) { towpath_exit(code); }

namespace detail {

inline void read_only(void *, const void *data, std::size_t bytes) {
    guarded([&] { ReadOnlyBase::transfer_all(Reader(data, bytes)); });
}

inline void call_back(void *, std::uint64_t function, const void *value, std::size_t bytes) {
    guarded([&] { completions.complete(function, value, bytes); });
}

inline std::vector<std::byte> packed_read_only() {
    Sizer sizer;
    ReadOnlyBase::transfer_all(sizer);
    std::vector<std::byte> bytes(sizer.size());
    ReadOnlyBase::transfer_all(Writer(bytes.data(), bytes.size()));
    return bytes;
}

// The main function, which may be a coroutine: then the other ranks begin when it waits first.
template <class Main>
void call_main(Main &main) {
    if constexpr (is_task<std::invoke_result_t<Main &>>)
        finish(main(), Callback(), [] { return std::string("the main function"); }, false);
    else
        main();
}

}  // namespace detail

// How a job runs. The settings TOWPATH_CHARES_BALANCER and TOWPATH_CHARES_RESTART of the user do the
// same; that of the balancer is stronger.
struct JobOptions {
    // Who balances loads: "none", "greedy", "refine" or "hierarchical".
    std::string balancer = "none";
    // Directory of a checkpoint from which the job restarts. Empty: it does not, unless the user
    // says so.
    std::string restart = "";
};

// Runs a program of chares: all ranks call this. `main` is called on rank 0, unless the job restarts,
// and makes the first chares; the job ends when something calls `exit`. Returns the code of the job.
// MPI is initialized and finalized unless the program has initialized it.
template <class Main>
int run(Main main, const JobOptions &options = {}) {
    towpath_program program{};
    program.read_only = detail::read_only;
    program.call_back = detail::call_back;
    int code = 1;
    if (towpath_set_balancer(options.balancer.c_str()) != 0 || towpath_start(&program) != 0) {
        std::fprintf(stderr, "towpath: %s\n", towpath_error());
        return code;
    }
    try {
        int restarts = 0;
        const char *directory = options.restart.empty() ? nullptr : options.restart.c_str();
        detail::check(towpath_restart(directory, &restarts));
        if (rank() == 0 && !restarts) {
            std::vector<std::byte> read_only;
            detail::guarded([&] {
                detail::call_main(main);
                read_only = detail::packed_read_only();
            });
            // If that has failed, this ends the job.
            detail::check(towpath_begin(read_only.data(), read_only.size()));
        }
        detail::check(towpath_run(&code));
    } catch (const std::exception &error) {
        std::fprintf(stderr, "towpath: rank %d: %s\n", rank(), error.what());
    }
    towpath_stop();
    return code;
}

}  // namespace towpath
