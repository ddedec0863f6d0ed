// Programs that the compiler must refuse, each with a sentence of ours: the text after the case.
#include <towpath/chare.hpp>

using namespace towpath;

struct Other : Chare<Other> {
    void work() {}
};
struct NoDefault {
    explicit NoDefault(int value) : value(value) {}
    int value;
};

struct Cell : Chare<Cell> {
    Mailbox<int> box;
    int field = 0;

    void serialize(auto &archive) { archive & box; }
    void number(int) {}
    void vector(std::vector<int>) {}
    void view(View<const double>) {}
    void two(int, int) {}
    void pointer(const char *) {}
    void string_view(std::string_view) {}
    void span(std::span<int>) {}
    void pointers(std::vector<int *>) {}
    void optional_pointer(std::optional<int *>) {}
    void no_default(NoDefault) {}
    void owned(std::unique_ptr<int>) {}
    void tells(CallbackOf<double>) {}
    Task<> waits_with_view(View<const int>) { co_return; }
    Task<> waits_with_reference(const std::string &) { co_return; }
    View<const int> gives_view() { return {}; }
};

struct Caught : Chare<Caught> {
#if defined(setting_of_a_number) // failures_reach_callers is a bool
    int failures_reach_callers = 1;
#endif
    void work() {}
};

struct Stays : Chare<Stays> {
    void leave() {
#if defined(migrate_without_serialize) // a chare that migrates has a constructor without parameters
        migrate(0);
#endif
    }
};

void body(CollectionProxy<Cell> cells, int *pointer) {
    static_cast<void>(cells), static_cast<void>(pointer);
#if defined(wrong_type) // an argument does not convert to the parameter of the entry method
    cells[1].send<&Cell::number>("text");
#elif defined(explicit_constructor) // an argument does not convert to the parameter
    cells[1].send<&Cell::vector>(5);
#elif defined(taken_pointer) // an argument does not convert to the parameter
    cells[1].send<&Cell::owned>(pointer);
#elif defined(view_of_others) // a contiguous range, nocopy or strided of the same
    cells.send<&Cell::view>(std::vector<float>());
#elif defined(nocopy_of_others) // a contiguous range, nocopy or strided of the same
    cells[0].send<&Cell::view>(nocopy(pointer, 1));
#elif defined(nocopy_of_temporary) // a temporary is gone too early
    cells[0].send<&Cell::view>(nocopy(std::vector<double>()));
#elif defined(put_of_others) // what is put is a contiguous range, or nocopy, of the elements
    PersistentChannel<Cell, double>().put<&Cell::number>(std::vector<float>(), 1);
#elif defined(put_strided) // what is put is a contiguous range, or nocopy, of the elements
    PersistentChannel<Cell, double>().put<&Cell::number>(strided<double>(nullptr, 1, pointer), 1);
#elif defined(channel_into_constants) // others write to the memory of a channel, so it is not const
    const std::vector<int> constant(3);
    cells[0].local()->open_channel(constant);
#elif defined(too_few) // the entry method has another number of parameters
    cells[1].send<&Cell::two>(1);
#elif defined(too_many) // the entry method has another number of parameters
    cells.with({.priority = 1}).send<&Cell::number>(1, 2);
#elif defined(call_with_too_many) // the entry method has another number of parameters
    static_cast<void>(cells[1].call<&Cell::number>(1, 2));
#elif defined(other_class) // this is a method of another class than the chare's
    cells[1].send<&Other::work>();
#elif defined(no_method) // an entry method is a method or a Mailbox of the chare
    cells[1].send<&Cell::field>(1);
#elif defined(no_member) // an entry method is a method or a Mailbox of the chare
    cells[1].send<body>(1);
#elif defined(pointer_parameter) // pointers mean nothing on another rank (use View for arrays)
    cells[1].send<&Cell::pointer>("text");
#elif defined(string_view_parameter) // pointers mean nothing on another rank (use View for arrays)
    cells[1].send<&Cell::string_view>("text");
#elif defined(span_parameter) // pointers mean nothing on another rank (use View for arrays)
    cells[1].send<&Cell::span>(std::span<int>());
#elif defined(pointers_inside) // pointers mean nothing on another rank (use View for arrays)
    cells[1].send<&Cell::pointers>(std::vector<int *>());
#elif defined(pointer_in_optional) // pointers mean nothing on another rank (use View for arrays)
    cells[1].send<&Cell::optional_pointer>(std::nullopt);
#elif defined(pointer_of_constructor) // pointers mean nothing on another rank (use View for arrays)
    create_group<Cell>(pointer);
#elif defined(without_default) // a parameter that is sent has a constructor without parameters
    cells[1].send<&Cell::no_default>(NoDefault(1));
#elif defined(view_in_coroutine) // a View does not outlast the wait of a coroutine
    cells[1].send<&Cell::waits_with_view>(std::vector<int>());
#elif defined(reference_in_coroutine) // takes its parameters by value
    cells[1].send<&Cell::waits_with_reference>("text");
#elif defined(result_is_view) // a future outlives the message
    static_cast<void>(cells[1].call<&Cell::gives_view>());
#elif defined(call_of_mailbox) // a Mailbox gives no result
    static_cast<void>(cells[1].call<&Cell::box>(1));
#elif defined(callback_with_two) // a method that is told of a result has one parameter, or none
    static_cast<void>(cells[1].callback<&Cell::two>());
#elif defined(callback_of_section_with_two) // a method that is told of a result has one parameter
    static_cast<void>(cells.section({1}).callback<&Cell::two>());
#elif defined(call_of_all) // call is for one chare, which gives one result
    static_cast<void>(cells.call<&Cell::number>(1));
#elif defined(call_of_section) // call is for one chare, which gives one result
    static_cast<void>(cells.section({1}).call<&Cell::number>(1));
#elif defined(section_with_too_few) // the entry method has another number of parameters
    cells.section({1}).send<&Cell::two>(1);
#elif defined(section_of_texts) // a section is made of indexes of the chares of its collection
    cells.section(std::vector<std::string>());
#elif defined(section_between_structures) // section_between is for indexes that are an int
    struct Place {
        int x, y;
    };
    struct Placed : Chare<Placed, Place> {};
    create_sparse_array<Placed>().section_between({0, 0}, {1, 1});
#elif defined(callback_with_set) // only reductions give a Set or Results
    Callback()(Set<int>());
#elif defined(callback_told_nothing) // the callback is told a value, and this gives it none
    cells.callback<&Cell::number>()();
#elif defined(nocopy_told_value) // the callback is told a value, and this gives it none
    cells[0].send<&Cell::view>(nocopy(std::span<double>(), Future<int>().callback()));
#elif defined(nocopy_of_pointer_told_value) // the callback is told a value, and this gives it none
    cells[0].send<&Cell::view>(nocopy(static_cast<double *>(nullptr), 0, Future<int>().callback()));
#elif defined(checkpoint_told_value) // the callback is told a value, and this gives it none
    checkpoint("directory", cells[0].callback<&Cell::number>());
#elif defined(tried_checkpoint_told_number) // the callback of try_checkpoint is told a std::string
    try_checkpoint("directory", cells[0].callback<&Cell::number>());
#elif defined(callback_told_other_type) // the callback is told a value of another type
    callback([](int) {})(std::string());
#elif defined(callback_of_other_type) // an argument does not convert to the parameter
    cells.send<&Cell::tells>(Future<int>().callback());
#elif defined(set_of_views) // values of a set outlive the message
    static_cast<void>(Set<View<const int>>());
#elif defined(no_constructor) // the chare has no constructor for these arguments
    create_array<Cell>({4}, 1, 2);
#elif defined(insert_without_constructor) // the chare has no constructor for these arguments
    cells[4].insert(std::string());
#elif defined(template_function) // a callback calls a function, or a lambda that is no template
    static_cast<void>(callback([](auto) {}));
#elif defined(view_of_strings) // elements of a View are copied byte by byte
    static_cast<void>(View<const std::string>());
#elif defined(mutable_view) // what a message contains is not changed: View<const T>
    static_cast<void>(View<int>());
#elif defined(group_of_indexes) // the index in a group is the rank
    struct Pair : Chare<Pair, std::array<int, 2>> {};
    create_group<Pair>();
#elif defined(long_index) // an index is an int, a std::array of up to six ints
    struct Far : Chare<Far, std::array<int, 7>> {};
    static_cast<void>(create_sparse_array<Far>()[{}]);
#endif
}

struct Contributes : Chare<Contributes> {
    void told(double) {}
    void give(Callback done) {
        static_cast<void>(done);
#if defined(sum_of_vectors_of_strings) // the operation does not combine two of these values
        contribute(sum, std::vector<std::string>(), done);
#elif defined(stateful_operation) // an operation is a function object without state
        int state = 0;
        contribute([&](int a, int b) { return a + b + state; }, 1, done);
#elif defined(concatenated_numbers) // concatenation is of arrays or strings
        contribute(concatenation, 1, done);
#elif defined(statistics_of_texts) // statistics are of numbers, or of arrays of numbers
        contribute(statistics, std::vector<std::string>(), done);
#elif defined(tuple_of_one_value) // tuple_of is for a std::tuple with a value for each
        contribute(tuple_of(sum, sum), 1, done);
#elif defined(short_tuple) // tuple_of is for a std::tuple with a value for each
        contribute(tuple_of(sum, sum), std::tuple(1), done);
#elif defined(tuple_in_tuple) // a tuple_of is part of another one
        contribute(tuple_of(sum, tuple_of(sum)), std::tuple(1, std::tuple(1)), done);
#elif defined(sum_in_tuple) // the operation does not combine two of these values
        contribute(tuple_of(set, sum), std::tuple(1, std::vector<std::string>()), done);
#elif defined(sum_told_as_set) // the callback is told a value of another type than what this
        contribute(sum, 1, Future<Set<int>>().callback());
#elif defined(sum_of_section_told_as_float) // the callback is told a value of another type than
        contribute(Section<Contributes>(), sum, 1.5, Future<float>().callback());
#elif defined(section_contribution) // an operation is a function object without state
        contribute(Section<Contributes>(), [&](int a, int) { return static_cast<void>(done), a; }, 1,
                   done);
#elif defined(barrier_told_value) // the callback is told a value, and this gives it none
        contribute(all().callback<&Contributes::told>());
#elif defined(barrier_of_section_told_value) // the callback is told a value, and this gives it none
        contribute(Section<Contributes>(), Future<int>().callback());
#elif defined(reduced_view) // a future outlives the message
        static_cast<void>(reduce(concatenation, View<const double>()));
#elif defined(pointer_contributed) // a contribution cannot be sent
        contribute(sum, &done, done);
#endif
    }
};

struct Balanced : Chare<Balanced> {
#if defined(sync_without_resume) // goes on with a public method resume_from_sync
    template <class Archive>
    void serialize(Archive &) {}
    void ready() { at_sync(); }
#elif defined(sync_without_serialize) // a chare that is balanced has a constructor without parameters
    void resume_from_sync() {}
    void ready() { at_sync(); }
#endif
};

int main() {
    return run([] {
        create_group<Other>();
        static_cast<void>(create_group<Caught>()[0].call<&Caught::work>());
    });
}
