// The program of "Accelerating Large Charm++ Messages using RDMA": cell 0 sends a large array of
// forces to cell 98 without a copy on the way, and is told when it may change the array. Here it
// changes it then, and sends it again.
#include <towpath/chare.hpp>

#include <cstdio>
#include <numeric>

constexpr int cells = 100, size = 1000000, steps = 3;

struct Cell : towpath::Chare<Cell> {
    std::vector<double> forces;
    int step = 0;
    double total = 0;
    towpath::Callback done;

    // Of cell 0.
    void start() {
        forces.assign(size, 1.0);
        send_forces();
    }

    void send_forces() {
        auto sent = self().callback<&Cell::completed>();
        all()[98].send<&Cell::recv_forces>(towpath::nocopy(forces, sent), 4.0);
    }

    // The array may be changed.
    void completed() {
        if (++step == steps)
            return;
        for (double &force : forces)
            force += 1.0;
        send_forces();
    }

    // Of cell 98.
    void wait(towpath::Callback told) {
        done = told;
        tell();
    }

    // The forces are in the message, and there until this method returns.
    void recv_forces(towpath::View<const double> received, double value) {
        total += value * std::accumulate(received.begin(), received.end(), 0.0);
        ++step;
        tell();
    }

    void tell() {
        if (step == steps)
            done(total);
    }
};

int main() {
    return towpath::run([]() -> towpath::Task<> {
        auto proxy = towpath::create_array<Cell>({cells});
        towpath::Future<double> total;
        proxy[98].send<&Cell::wait>(total.callback());
        proxy[0].send<&Cell::start>();
        double expected = 0;
        for (int step = 1; step <= steps; ++step)
            expected += 4.0 * step * size;
        double got = co_await total;
        std::printf("total force %.0f, expected %.0f\n", got, expected);
        towpath::exit(got == expected ? 0 : 1);
    });
}
