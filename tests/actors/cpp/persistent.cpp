// Persistent channels: blocks of a ring put their edges into memory of both neighbours.
#include "check.hpp"

using namespace towpath;

constexpr int BLOCKS = 6, STEPS = 30;

// What block `from` puts at a place in a step.
double value(int from, int step, std::size_t at) { return from * 1e6 + step * 1e4 + double(at); }

struct Block : Chare<Block> {
    using Channel = PersistentChannel<Block, double>;
    // Two in turn on each side: a neighbour is at most one step ahead.
    std::vector<double> rims[2][2];
    Channel neighbours[2][2];
    std::vector<double> edge;
    Mailbox<int, int, Channel> connected;
    // The edge stands in the message too.
    Mailbox<int, std::size_t, View<const double>> came;
    int returned = 0;

    template <class Archive>
    void serialize(Archive &archive) {
        archive & edge & connected & came & returned;
    }

    void edge_returned() { ++returned; }
    std::size_t length(int step) const { return edge.size() - static_cast<std::size_t>(step % 3); }

    Task<int> exchange(std::size_t size, bool waits, Callback done) {
        edge.resize(size);
        for (int side : {0, 1}) {
            int neighbour = (index() + (side == 0 ? BLOCKS - 1 : 1)) % BLOCKS;
            for (int turn : {0, 1}) {
                rims[side][turn].assign(size, -1);
                // For the neighbour, this is on the other side.
                all()[neighbour].send<&Block::connected>(1 - side, turn,
                                                         open_channel(rims[side][turn]));
            }
        }
        std::vector<Channel> own;
        for (int i = 0; i < 4; ++i) {
            auto message = co_await connected.receive();
            auto &[side, turn, channel] = message.parameters();
            CHECK(channel.size() == size);
            neighbours[side][turn] = channel;
        }
        for (int step = 0; step < STEPS; ++step) {
            for (std::size_t at = 0; at < size; ++at)
                edge[at] = value(index(), step, at);
            std::span<const double> part(edge.data(), length(step));
            SendOptions options{.reference = static_cast<std::uint32_t>(step)};
            for (int side : {0, 1}) {
                const auto &to = neighbours[side][step % 2];
                if (waits)
                    to.put_with<&Block::came>(
                        options, nocopy(part, self().callback<&Block::edge_returned>()), 1 - side,
                        part.size(), nocopy(part, self().callback<&Block::edge_returned>()));
                else
                    to.put_with<&Block::came>(options, part, 1 - side, part.size(), part);
            }
            for (int i = 0; i < 2; ++i) {
                auto [side, count, sent] = co_await came.receive(options.reference);
                CHECK(std::ranges::equal(sent, std::span(rims[side][step % 2].data(), count)));
                int neighbour = (index() + (side == 0 ? BLOCKS - 1 : 1)) % BLOCKS;
                const auto &rim = rims[side][step % 2];
                CHECK(count == length(step));
                for (std::size_t at = 0; at < count; ++at)
                    CHECK(rim[at] == value(neighbour, step, at));
            }
            // An edge that is sent from where it is may change once the callback has been told.
            while (waits && returned < 4 * (step + 1))
                co_await all()[index()].call<&Block::nothing>();
        }
        CHECK(returned == (waits ? 4 * STEPS : 0));
        contribute(done);
        co_return 0;
    }
    void nothing() {}
};

int main() {
    return run([]() -> Task<> {
        for (std::size_t size : {3, 100, 2000, 20000}) {
            for (bool waits : {false, true}) {
                Future<> done;
                auto blocks = create_round_robin_array<Block>({BLOCKS});
                blocks.send<&Block::exchange>(size, waits, done.callback());
                co_await done;
            }
        }
        co_await quiescence();
        pass();
    });
}
