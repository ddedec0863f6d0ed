// Arrays from one host to another, without chares and with: what copies.c counts is compared.
//
//     between raw        by MPI_Send and MPI_Recv
//     between nocopy     lent arrays, which arrive in memory of the library
//     between put        into a persistent channel
//     between copied     as parameters, which the sender copies: this must be seen
#include "check.hpp"

#include <cstring>
#include <map>
#include <mpi.h>

using namespace towpath;

constexpr int TIMES = 20;
constexpr std::size_t BYTES = 4 << 20;

char pattern(int time, std::size_t at) { return static_cast<char>(at + at / 251 + time); }

void fill(std::vector<char> &array, int time) {
    for (std::size_t at = 0; at < array.size(); ++at)
        array[at] = pattern(time, at);
}

void check(std::span<const char> array, int time) {
    CHECK(array.size() == BYTES);
    for (std::size_t at = 0; at < array.size(); at += 997)
        CHECK(array[at] == pattern(time, at));
}

enum class Way { nocopy, put, copied };

struct Player : Chare<Player> {
    std::vector<char> array, own;
    PersistentChannel<Player, char> channel;
    int came = 0;

    Task<> send(Way way, Callback done) {
        auto other = all()[1];
        for (int time = 0; time < TIMES; ++time) {
            array.resize(BYTES);
            fill(array, time);
            if (way == Way::copied) {
                other.send<&Player::take>(array, done);
                continue;
            }
            Future<> returned;
            auto lent = nocopy(array, returned.callback());
            if (way == Way::put)
                channel.put<&Player::put>(lent, done);
            else
                other.send<&Player::take>(lent, done);
            co_await returned;
        }
    }
    void open(PersistentChannel<Player, char> opened, Callback done) {
        channel = opened;
        done();
    }
    void prepare(Callback done) {
        own.resize(BYTES);
        all()[0].send<&Player::open>(open_channel(own), done);
    }
    void take(View<const char> sent, Callback done) {
        check(sent, came);
        if (++came == TIMES)
            done();
    }
    void put(Callback done) {
        check(own, came);
        if (++came == TIMES)
            done();
    }
};

Task<> play(Way way) {
    auto players = create_round_robin_array<Player>({2});
    Future<> prepared, done;
    players[1].send<&Player::prepare>(prepared.callback());
    co_await prepared;
    players[0].send<&Player::send>(way, done.callback());
    co_await done;
    towpath::exit();
}

void raw() {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<char> array(BYTES);
    for (int time = 0; time < TIMES; ++time) {
        if (rank == 0) {
            fill(array, time);
            MPI_Send(array.data(), BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(array.data(), BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check(array, time);
        }
    }
}

int main(int argc, char **argv) {
    const std::map<std::string, Way> ways = {
        {"nocopy", Way::nocopy}, {"put", Way::put}, {"copied", Way::copied}};
    MPI_Init(&argc, &argv);
    int code = 0;
    if (std::strcmp(argv[1], "raw") == 0)
        raw();
    else
        code = run([way = ways.at(argv[1])] { return play(way); });
    MPI_Finalize();
    return code;
}
