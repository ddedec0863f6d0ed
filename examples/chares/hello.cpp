// Hello: the chares of an array get a broadcast, and count themselves by a reduction.
#include <towpath/chare.hpp>

#include <cstdio>

struct Greeter : towpath::Chare<Greeter> {
    void greet(const std::string &whom, towpath::Callback counted) {
        std::printf("chare %d on rank %d: hello, %s\n", index(), towpath::rank(), whom.c_str());
        contribute(towpath::sum, 1, counted);
    }
};

int main() {
    return towpath::run([] {
        auto greeters = towpath::create_array<Greeter>({8});
        auto counted = towpath::callback([](int count) {
            std::printf("%d chares on %d ranks\n", count, towpath::ranks());
            towpath::exit(count == 8 ? 0 : 1);
        });
        greeters.send<&Greeter::greet>("world", counted);
    });
}
