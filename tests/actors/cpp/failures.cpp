// Errors of a program: each ends the job on all ranks, with a sentence.
//
//     failures CASE
#include "check.hpp"

#include <limits>
#include <thread>

using namespace towpath;

struct Victim : Chare<Victim> {
    Mailbox<int> box;
    std::string text;
    bool is_measured = false;

    Victim() = default;
    explicit Victim(int value) {
        if (value == index())
            throw std::runtime_error("no such victim");
    }
    ~Victim() {
        if (text == "immortal")
            towpath_fail("cannot be destroyed");
    }
    void serialize(auto &archive) {
        bool packs = !std::remove_cvref_t<decltype(archive)>::reads;
        if (text == "unmeasurable" && packs && !std::exchange(is_measured, true))
            throw std::runtime_error("cannot be measured at first");
        archive & box & text;
        if (text == "unpackable" && packs)
            throw std::runtime_error("cannot be packed");
        if (text.starts_with("grows") && packs)
            text += std::string(1 << 20, 's');
    }

    void throws() { throw std::runtime_error("thrown here"); }
    void throws_number() { throw 5; }
    void nothing() {}
    void takes(std::string, std::vector<double>) {}
    void move(int to) { migrate(to); }
    void move_with(std::string what) {
        text = what;
        migrate((rank() + 1) % ranks());
    }
    void add(Callback done) { contribute(sum, std::vector<int>(index() == 1 ? 3 : 2), done); }
    void add_equal(Callback done) {
        auto equal = [](int a, int b) { return a == b ? a : throw Error("numbers are not equal"); };
        contribute(equal, index() == 1 ? 3 : 2, done);
    }
    void add_ranges(Callback done) {
        contribute([](double a, double b) { return a + b; },
                   std::vector<double>(index() == 1 ? 3 : 2), done);
    }
    void add_other_tuples(Callback done) {
        if (index() == 2)
            contribute(tuple_of(sum, maximum), std::tuple(1, 2), done);
        else
            contribute(tuple_of(sum, sum), std::tuple(1, 2), done);
    }
    void add_no_tuple(Callback done) {
        if (index() == 2)
            contribute(sum, 1, done);
        else
            contribute(tuple_of(sum, sum), std::tuple(1, 2), done);
    }
    void add_to(Section<Victim> section) { contribute(section, sum, 1, Callback::exit()); }
    void add_lengths_to(Section<Victim> section) {
        contribute(section, sum, std::vector<int>(index() == 1 ? 3 : 2), Callback::exit());
    }
    void add_two_to(Section<Victim> section, Callback done) {
        contribute(section, tuple_of(sum, sum), std::tuple(1, 2), done);
    }
    void send_to(Section<Victim> section) { section.send<&Victim::nothing>(); }
    void told_set(Set<int>) {}
    void told_results(Results<int, int, int>) {}
    void add_one(Callback done) { contribute(sum, 1, done); }
    void name_all_but(int nameless, bool two) {
        auto done = index() == nameless ? Callback() : Callback::exit();
        if (two)
            contribute(tuple_of(sum, sum), std::tuple(1, 2), done);
        else
            contribute(done);
    }
    int answer() { return 1; }
    void invoke_wrong() { all()[77].send<&Victim::nothing>(); }
    Task<> waits() { co_await box.receive(); }
    Task<> waits_and_throws() {
        co_await all()[0].call<&Victim::answer>();
        throw std::runtime_error("thrown after a wait");
    }
    Task<int> task_throws() {
        co_await all()[0].call<&Victim::answer>();
        throw std::runtime_error("thrown in a task");
    }
    void leave() { destroy(); }
    void leave_with(std::string what) {
        text = what;
        destroy();
    }
    void make_object() { Victim victim; }
    std::vector<double> memory;
    void put_too_much() {
        memory.resize(3);
        open_channel(memory).put<&Victim::nothing>(std::vector<double>(5));
    }
    void put_after_close() {
        auto channel = open_channel(memory);
        channel.close();
        channel.put<&Victim::nothing>(std::vector<double>());
    }
    void close_twice() {
        auto channel = open_channel(memory);
        channel.close();
        channel.close();
    }
    void open_and_move() {
        open_channel(memory);
        migrate(0);
    }
    void told(double) {}
    void write(View<const char> lent) { const_cast<char &>(lent[5]) = 1; }
    void lend(View<const char> lent);
    void two_results(Callback once) {
        once(1);
        once(2);
    }
};

// Read-only data that cannot be written.
struct Stubborn {
    bool is_writable = true;

    void serialize(auto &archive) {
        archive & is_writable;
        if (!is_writable)
            throw std::runtime_error("this cannot be written");
    }
};
ReadOnly<Stubborn> stubborn;

// Reads less than what was sent, or more.
struct Short {
    template <class Archive>
    void serialize(Archive &archive) {
        int first = 0, second = 0;
        archive & first;
        if constexpr (Archive::reads)
            archive & second;
    }
};
struct ShortTaker : Chare<ShortTaker> {
    void take(Short) {}
};

// Its failures reach callers, if it is told so.
struct Caught : Chare<Caught> {
    bool failures_reach_callers;

    explicit Caught(bool is_caught) : failures_reach_callers(is_caught) {}
    void fails() { throw Error("not caught"); }
};

// Cannot go on after load balancing.
struct Tired : Chare<Tired> {
    void serialize(auto &) {}
    void get_ready() { at_sync(); }
    void resume_from_sync() { throw Error("cannot go on"); }
};

void send_raw(CollectionProxy<Victim> victims, const char *bytes, std::size_t count) {
    towpath_message message;
    towpath_message_new(count, &message);
    std::memcpy(message.payload, bytes, count);
    message.entry = detail::EntryRecord<Victim, &Victim::takes>::entry.number();
    detail::check(towpath_invoke(&victims[0].id(), &message));
}

// A method on a user-level thread writes to what its chare was lent while it waited.
towpath_thread *waiting_thread;
const char *lent_before;
void write_later(void *, void *, const towpath_chare_id *, towpath_message *) {
    waiting_thread = towpath_thread_self();
    towpath_thread_suspend();
    const_cast<char &>(*lent_before) = 1;
}
towpath_entry later_entry() {
    towpath_entry entry{};
    entry.invoke = write_later;
    entry.flags = TOWPATH_THREADED;
    return entry;
}
detail::Registered<towpath_entry> later{"write later", later_entry(), towpath_register_entry};

void Victim::lend(View<const char> lent) {
    lent_before = lent.data();
    detail::check(towpath_thread_awaken(waiting_thread));
}

CollectionProxy<Victim> make() { return create_round_robin_array<Victim>({4}); }
ElementProxy<Victim> last() { return make()[3]; }

using Case = void (*)();
using TaskCase = Task<> (*)();

const std::map<std::string, Case> cases{
    {"throws", [] { last().send<&Victim::throws>(); }},
    {"nobody is told", [] { create_group<Caught>(true)[2].send<&Caught::fails>(); }},
    {"no caller is told", [] {
         static_cast<void>(create_group<Caught>(false)[2].call<&Caught::fails>());
     }},
    {"failure nobody awaits", [] {
         static_cast<void>(create_group<Caught>(true)[2].call<&Caught::fails>());
     }},
    {"balanced and throws", [] { create_array<Tired>({1})[0].send<&Tired::get_ready>(); }},
    {"all throw", [] { make().send<&Victim::throws>(); }},
    {"throws a number", [] { last().send<&Victim::throws_number>(); }},
    {"constructor throws", [] { create_array<Victim>({4}, 3); }},
    {"pack throws", [] { last().send<&Victim::move_with>("unpackable"); }},
    {"packs more", [] { last().send<&Victim::move_with>("grows"); }},
    {"destructor fails", [] { last().send<&Victim::leave_with>("immortal"); }},
    {"measuring throws", [] { last().send<&Victim::move_with>("unmeasurable"); }},
    {"wrong index", [] { last().send<&Victim::invoke_wrong>(); }},
    {"wrong index in main", [] { make()[-1].send<&Victim::nothing>(); }},
    {"wrong rank", [] { last().send<&Victim::move>(ranks()); }},
    {"negative rank", [] { last().send<&Victim::move>(-1); }},
    {"wrong rank of a chare", [] { create_chare_at<Victim>(1000); }},
    {"negative rank of a chare", [] { create_chare_at<Victim>(-2); }},
    {"negative extent", [] { create_array<Victim>({-4}); }},
    {"wrong rank of an element", [] { create_sparse_array<Victim>()[1].insert_at(1000); }},
    {"lengths", [] { make().send<&Victim::add>(Callback::exit()); }},
    {"lengths of the program's own", [] { make().send<&Victim::add_ranges>(Callback::exit()); }},
    {"operation throws", [] { make().send<&Victim::add_equal>(Callback::exit()); }},
    {"other tuples", [] { make().send<&Victim::add_other_tuples>(Callback::exit()); }},
    {"no tuple", [] { make().send<&Victim::add_no_tuple>(Callback::exit()); }},
    {"no set", [] {
         auto victims = make();
         victims.send<&Victim::add_one>(victims[0].callback<&Victim::told_set>());
     }},
    {"fewer results", [] {
         auto victims = make();
         auto section = victims.section({0, 3});
         section.send<&Victim::add_two_to>(section, victims[1].callback<&Victim::told_results>());
     }},
    {"section of a wrong index", [] { make().section({1, 4}); }},
    {"section of a chare", [] {
         auto id = create_chare<Victim>().id();
         CollectionProxy<Victim>(id.collection).section({0});
     }},
    {"step", [] { make().section_between(0, 4, 0); }},
    {"no section", [] { Section<Victim>({make().id(), 0, 0}).send<&Victim::nothing>(); }},
    {"no section of a rank", [] {
         last().send<&Victim::send_to>(Section<Victim>({make().id(), 1, 7}));
     }},
    {"section of no rank", [] { Section<Victim>({make().id(), 9, 1}).send<&Victim::nothing>(); }},
    {"callback of no section", [] {
         make().send<&Victim::add_one>(Section<Victim>({1, 2, 3}).callback<&Victim::nothing>());
     }},
    {"no member", [] {
         auto victims = make();
         victims.send<&Victim::add_to>(victims.section({0, 1}));
     }},
    {"lengths in a section", [] {
         auto section = make().section({0, 1, 3});
         section.send<&Victim::add_lengths_to>(section);
     }},
    {"member never made", [] {
         create_sparse_array<Victim>().section({5}).send<&Victim::nothing>();
         detail::check(towpath_start_quiescence(Callback::exit().get()));
     }},
    {"long priority", [] {
         auto priority = Priority::root();
         for (int bits = 0; bits <= 1 << 20; bits += 32)
             priority = std::move(priority).followed_by(5, 32);
         last().with({.priority = priority}).send<&Victim::nothing>();
     }},
    {"wide part of a priority", [] {
         auto priority = Priority::root();
         last().with({.priority = priority.followed_by(1, 33)}).send<&Victim::nothing>();
     }},
    {"single chare", [] {
         create_chare_at<Victim>(ranks() - 1).send<&Victim::add>(Callback::exit());
     }},
    {"wrong result", [] {
         auto victims = make();
         victims.send<&Victim::add_one>(victims[3].callback<&Victim::told>());
     }},
    {"result of nothing", [] { Callback(last().callback<&Victim::told>())(); }},
    {"function", [] {
         make().send<&Victim::add_one>(callback([](int) { throw Error("in a function"); }));
     }},
    {"function and value", [] { make().send<&Victim::add_one>(callback([](double) {})); }},
    {"short message", [] { send_raw(make(), "1234", 4); }},
    {"huge count", [] { send_raw(make(), "\0\0\0\0\0\0\0\200", 8); }},
    {"count of all", [] { send_raw(make(), "\377\377\377\377\377\377\377\377", 8); }},
    {"short type", [] { create_group<ShortTaker>().send<&ShortTaker::take>(Short()); }},
    {"ordinary object", [] { Victim victim; }},
    {"ordinary object in a method", [] { last().send<&Victim::make_object>(); }},
    {"main", [] { throw std::runtime_error("main has thrown"); }},
    {"twice", [] { last().send<&Victim::two_results>(callback([](int) {})); }},
    {"throws after a wait", [] { last().send<&Victim::waits_and_throws>(); }},
    {"task throws", [] { static_cast<void>(last().call<&Victim::task_throws>()); }},
    {"waits and moves", [] {
         auto victim = last();
         victim.send<&Victim::waits>();
         victim.send<&Victim::move>(0);
     }},
    {"waits and leaves", [] {
         auto victim = last();
         victim.send<&Victim::waits>();
         victim.send<&Victim::leave>();
     }},
    {"read-only throws", [] {
         last().send<&Victim::nothing>();
         stubborn = Stubborn{false};
     }},
    {"writes", [] { make()[1].send<&Victim::write>(std::vector<char>(1 << 20)); }},
    {"writes later", [] {
         auto victim = make()[1];
         auto message = detail::new_message(0, later.number(), {});
         detail::check(towpath_invoke(&victim.id(), &message));
         victim.send<&Victim::lend>(std::vector<char>(1 << 20));
     }},
    {"longer than a channel", [] { last().send<&Victim::put_too_much>(); }},
    {"closed channel", [] { make()[1].send<&Victim::put_after_close>(); }},
    {"closed twice", [] { last().send<&Victim::close_twice>(); }},
    {"moves with a channel", [] { make()[2].send<&Victim::open_and_move>(); }},
    {"again", [] { towpath::exit(0); }},
    {"another thread", [] { towpath::exit(0); }},
    {"exit code", [] { towpath::exit(42); }},
    {"callback of one", [] { make().send<&Victim::name_all_but>(1, false); }},
    {"no callback of the first", [] { make().send<&Victim::name_all_but>(0, false); }},
    {"no callback of the first, tuple", [] { make().send<&Victim::name_all_but>(0, true); }},
    {"never made", [] {
         create_sparse_array<Victim>()[5].send<&Victim::nothing>();
         detail::check(towpath_start_quiescence(Callback::exit().get()));
     }},
};

const std::map<std::string, TaskCase> tasks{
    {"main at once", []() -> Task<> {
         throw std::runtime_error("main has thrown");
         co_return;
     }},
    {"main later", []() -> Task<> {
         co_await last().call<&Victim::answer>();
         throw std::runtime_error("main has thrown later");
     }},
    {"caught by nobody", []() -> Task<> {
         co_await create_group<Caught>(true)[2].call<&Caught::fails>();
     }},
    {"wrong future", []() -> Task<> {
         Future<std::array<int, 2>> wrong;
         make().send<&Victim::add_one>(wrong.callback());
         co_await wrong;
     }},
};

towpath_entry same_name{};
std::string name_of_rank;

int main(int count, char **arguments) {
    std::string name = count > 1 ? arguments[1] : "";
    if (name == "same names") {
        same_name.name = "Victim::throws()";
        towpath_register_entry(&same_name);
    }
    if (name == "other programs") {
        name_of_rank = "only here " + std::to_string(reinterpret_cast<std::uintptr_t>(&count));
        same_name.name = name_of_rank.c_str();
        towpath_register_entry(&same_name);
    }
    int code = 1;
    if (auto found = tasks.find(name); found != tasks.end())
        code = run(found->second);
    else if (auto plain = cases.find(name); plain != cases.end())
        code = run(plain->second);
    else
        code = run([] {});
    if (name == "again")
        code = run([] { towpath::exit(0); });
    if (name == "another thread")
        std::thread([&] { code = run([] { towpath::exit(0); }); }).join();
    return code;
}
