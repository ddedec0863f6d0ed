// One way of a message between two chares on two ranks, in microseconds, in ways that are measured in
// turn. Prints lines "WAY BYTES MICROSECONDS". The MPI library is that of LD_LIBRARY_PATH.
//
//     raw        MPI_Send and MPI_Recv without chares, in one buffer of each rank
//     apart      the same with a buffer to send and one to receive, as chares have
//     copied     a parameter that is copied into the message
//     nocopy     an array that is sent from where it is; the receiver looks at one element
//     posted     the same, and the receiver copies it into an array of its own
//     onecopy    that copy alone, by the receiver out of the memory of the sender
#include <mpi.h>
#include <towpath/chare.hpp>

#include <chrono>

using namespace towpath;
using Clock = std::chrono::steady_clock;

namespace {

double microseconds(Clock::time_point since) {
    return std::chrono::duration<double, std::micro>(Clock::now() - since).count();
}

int rounds(std::size_t bytes) {
    return bytes <= 4096 ? 20000 : bytes <= (1 << 20) ? 400 : 16;
}

enum Way { copied, nocopied, posted };
constexpr const char *names[] = {"copied", "nocopy", "posted"};

// One of two; the first counts the rounds.
struct Player : Chare<Player> {
    std::vector<char> buffer, own;
    Way way = copied;
    int left = 0, warm = 0;
    double copies = 0;
    volatile char seen = 0;
    Clock::time_point began;
    Callback done;

    void begin(Way chosen, std::size_t bytes) {
        way = chosen;
        buffer.assign(bytes, 1);
        own.assign(bytes, 2);
        // The last one of the warm-up is measured too.
        left = rounds(bytes) - 1;
        warm = rounds(bytes) / 10 + 2;
        copies = 0;
    }

    void start(Callback when_done) {
        done = when_done;
        play();
    }

    void play() {
        if (index() == 0) {
            if (warm > 0 && --warm == 0) {
                began = Clock::now();
                copies = 0;
            } else if (warm == 0 && left-- == 0) {
                report();
                done();
                return;
            }
        }
        auto other = all()[1 - index()];
        if (way == copied)
            other.send<&Player::ball>(buffer);
        else
            other.send<&Player::ball>(nocopy(buffer));
    }

    void ball(View<const char> sent) {
        if (way == posted) {
            auto before = Clock::now();
            std::copy(sent.begin(), sent.end(), own.begin());
            copies += microseconds(before);
            // What is sent next was written by this core.
            std::swap(own, buffer);
        } else if (sent.size() > 0) {
            seen = sent[sent.size() / 2];
        }
        play();
    }

    void report() {
        int count = rounds(buffer.size());
        std::printf("%s %zu %.4f\n", names[way], buffer.size(), microseconds(began) / count / 2);
        if (way == posted)
            std::printf("onecopy %zu %.4f\n", buffer.size(), copies / count);
    }
};

void raw(const char *name, std::vector<char> &sent, std::vector<char> &received) {
    int rank, size = static_cast<int>(sent.size());
    int count = rounds(sent.size()), warm = count / 10 + 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Clock::time_point began;
    for (int round = -warm; round < count; ++round) {
        if (round == 0)
            began = Clock::now();
        for (int turn = 0; turn < 2; ++turn) {
            if (rank == turn)
                MPI_Send(sent.data(), size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(received.data(), size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0)
        std::printf("%s %d %.4f\n", name, size, microseconds(began) / count / 2);
}

void raw(std::size_t bytes) {
    std::vector<char> buffer(bytes, 1), other(bytes, 2);
    raw("raw", buffer, buffer);
    raw("apart", buffer, other);
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    std::vector<std::size_t> sizes;
    for (int at = 1; at < argc; ++at)
        sizes.push_back(std::stoul(argv[at]));
    for (std::size_t bytes : sizes)
        raw(bytes);
    int code = run([&sizes]() -> Task<> {
        auto players = create_round_robin_array<Player>({2});
        for (std::size_t bytes : sizes) {
            for (Way way : {copied, nocopied, posted}) {
                players.send<&Player::begin>(way, bytes);
                co_await quiescence();
                Future<> done;
                players[0].send<&Player::start>(done.callback());
                co_await done;
            }
        }
        towpath::exit();
    });
    MPI_Finalize();
    return code;
}
