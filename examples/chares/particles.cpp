// Particles that repel each other, in a periodic square, as in LeanMD: an array of cells has the
// particles, and a sparse array of pairs computes the forces between those of two neighbouring
// cells. Particles move between cells. One half of the square is much denser than the other, so cells
// and pairs balance their loads after each phase.
//
//     particles                      all phases
//     particles DIRECTORY            the same, with a checkpoint in the middle
//     particles DIRECTORY restart    goes on from it, on any number of ranks
#include <towpath/chare.hpp>

#include <cmath>
#include <cstdio>

constexpr int width = 4;         // cells in each direction
constexpr double reach = 1.0;    // of the force, and the size of a cell
constexpr double length = width * reach;
constexpr double time_step = 2e-3;
constexpr std::uint32_t phases = 4, steps_per_phase = 25;

struct Vector {
    double x = 0, y = 0;

    Vector &operator+=(Vector other) {
        x += other.x;
        y += other.y;
        return *this;
    }
    friend Vector operator*(double factor, Vector v) { return {factor * v.x, factor * v.y}; }
};

struct Particle {
    Vector position, velocity;
};

double wrapped(double coordinate) { return coordinate - length * std::floor(coordinate / length); }

// The shortest way between two coordinates in the periodic square.
double shortest(double distance) { return distance - length * std::round(distance / length); }

// Adds the forces between two particles, and returns their potential energy.
double interact(Vector a, Vector b, Vector &force_on_a, Vector &force_on_b) {
    Vector way{shortest(a.x - b.x), shortest(a.y - b.y)};
    double distance = std::hypot(way.x, way.y), overlap = reach - distance;
    if (overlap <= 0 || distance == 0)
        return 0;
    force_on_a += (2 * overlap / distance) * way;
    force_on_b += (-2 * overlap / distance) * way;
    return overlap * overlap;
}

// Moves a particle by one step.
void advance(Particle &particle, Vector force) {
    particle.velocity += time_step * force;
    particle.position += time_step * particle.velocity;
    particle.position = {wrapped(particle.position.x), wrapped(particle.position.y)};
}

double kinetic_energy(const std::vector<Particle> &particles) {
    double energy = 0;
    for (auto &[position, velocity] : particles)
        energy += 0.5 * (velocity.x * velocity.x + velocity.y * velocity.y);
    return energy;
}

// How many particles are in each direction of a cell at the begin.
int density(int cell_x) { return cell_x < width / 2 ? 6 : 2; }

// The particles of a cell at the begin.
std::vector<Particle> initial(int cell_x, int cell_y) {
    std::vector<Particle> particles;
    int lattice = density(cell_x);
    for (int i = 0; i < lattice; ++i)
        for (int j = 0; j < lattice; ++j) {
            double x = cell_x + (i + 0.5) / lattice, y = cell_y + (j + 0.5) / lattice;
            Vector velocity{3 * std::sin(7 * x + 3 * y), 3 * std::cos(5 * x - 4 * y)};
            particles.push_back({{x * reach, y * reach}, velocity});
        }
    return particles;
}

// Two cells; the same one twice for the particles of one cell.
struct PairIndex {
    std::array<int, 2> first, second;
};

struct Cell;
struct Pair;
struct Director;
towpath::ReadOnly<towpath::CollectionProxy<Cell>> cells;
towpath::ReadOnly<towpath::CollectionProxy<Pair>> pairs;
towpath::ReadOnly<towpath::ElementProxy<Director>> director;

// The cell in some direction of another one.
std::array<int, 2> neighbour(std::array<int, 2> cell, int dx, int dy) {
    return {(cell[0] + dx + width) % width, (cell[1] + dy + width) % width};
}

struct Cell : towpath::Chare<Cell, std::array<int, 2>> {
    std::vector<Particle> particles;
    std::uint32_t step = 0;
    int last_rank = towpath::rank(), migrations = 0;
    double potential = 0;
    // Forces on the particles, and a part of the potential energy.
    towpath::Mailbox<towpath::View<const Vector>, double> forces;
    towpath::Mailbox<std::vector<Particle>> arrivals;

    Cell() : particles(initial(index()[0], index()[1])) {}

    template <class Archive>
    void serialize(Archive &archive) {
        archive & particles & step & last_rank & migrations & potential & forces & arrivals;
    }

    // Some steps. The coroutine ends then, because a cell with a method that waits cannot migrate.
    towpath::Task<> run() {
        for (std::uint32_t end = step + steps_per_phase; step < end; ++step) {
            send_positions();
            std::vector<Vector> total(particles.size());
            potential = 0;
            for (int pair = 0; pair < 9; ++pair) {
                auto [part, energy] = co_await forces.receive(step);
                for (std::size_t at = 0; at < total.size(); ++at)
                    total[at] += part[at];
                potential += energy;
            }
            for (std::size_t at = 0; at < total.size(); ++at)
                advance(particles[at], total[at]);
            send_particles();
            for (int source = 0; source < 8; ++source) {
                auto [moved] = co_await arrivals.receive(step);
                particles.insert(particles.end(), moved.begin(), moved.end());
            }
        }
        at_sync();
    }

    // Called when all cells and pairs are where they shall be in the next phase.
    void resume_from_sync();

    void send_positions();

    // Sends the particles that have left to the cells where they are.
    void send_particles() {
        std::array<std::vector<Particle>, 9> moved;
        for (auto &particle : std::exchange(particles, {})) {
            int dx = direction(particle.position.x, index()[0]);
            int dy = direction(particle.position.y, index()[1]);
            moved[(dx + 1) * 3 + dy + 1].push_back(particle);
        }
        particles = moved[4];
        for (int dx = -1; dx <= 1; ++dx)
            for (int dy = -1; dy <= 1; ++dy)
                if (dx != 0 || dy != 0)
                    all()[neighbour(index(), dx, dy)].with({.reference = step})
                        .send<&Cell::arrivals>(moved[(dx + 1) * 3 + dy + 1]);
    }

    // -1, 0 or 1: where a coordinate is from the cell. Particles move less than a cell in a step.
    static int direction(double coordinate, int cell) {
        return static_cast<int>(std::round(shortest(coordinate - (cell + 0.5) * reach) / reach));
    }
};

struct Pair : towpath::Chare<Pair, PairIndex> {
    // Of the cell whose positions came first.
    std::optional<std::vector<Vector>> waiting;

    template <class Archive>
    void serialize(Archive &archive) {
        archive & waiting;
    }

    // The positions of the particles of one of both cells. A cell sends those of the next step only
    // when it has the forces of this one.
    void positions(bool are_of_first, towpath::View<const Vector> here, std::uint32_t step) {
        auto [first, second] = index();
        std::vector<Vector> forces(here.size());
        double energy = 0;
        if (first == second) {
            for (std::size_t a = 0; a < here.size(); ++a)
                for (std::size_t b = a + 1; b < here.size(); ++b)
                    energy += interact(here[a], here[b], forces[a], forces[b]);
            reply(first, forces, energy, step);
        } else if (!waiting) {
            waiting = here.keep();
            return;
        } else {
            auto there = std::move(*waiting);
            waiting.reset();
            std::vector<Vector> forces_there(there.size());
            for (std::size_t a = 0; a < here.size(); ++a)
                for (std::size_t b = 0; b < there.size(); ++b)
                    energy += interact(here[a], there[b], forces[a], forces_there[b]);
            reply(are_of_first ? first : second, forces, energy, step);
            reply(are_of_first ? second : first, forces_there, 0, step);
        }
        if ((step + 1) % steps_per_phase == 0)
            at_sync();
    }
    // The cells send the next positions.
    void resume_from_sync() {}

    static void reply(std::array<int, 2> cell, const std::vector<Vector> &forces, double energy,
                      std::uint32_t step) {
        cells.get()[cell].with({.reference = step}).send<&Cell::forces>(forces, energy);
    }
};

// The half of the directions by which a cell names its pairs as the first one.
constexpr std::array<std::array<int, 2>, 5> halves{{{0, 0}, {0, 1}, {1, -1}, {1, 0}, {1, 1}}};

void Cell::send_positions() {
    std::vector<Vector> positions;
    for (auto &particle : particles)
        positions.push_back(particle.position);
    for (auto [dx, dy] : halves) {
        auto second = neighbour(index(), dx, dy), first = neighbour(index(), -dx, -dy);
        pairs.get()[{index(), second}].send<&Pair::positions>(true, positions, step);
        if (first != index())
            pairs.get()[{first, index()}].send<&Pair::positions>(false, positions, step);
    }
}

// The same by two loops: potential and kinetic energy after these steps.
std::array<double, 2> sequential(std::uint32_t steps) {
    std::vector<Particle> particles;
    for (int x = 0; x < width; ++x)
        for (int y = 0; y < width; ++y)
            for (auto &particle : initial(x, y))
                particles.push_back(particle);
    double potential = 0;
    for (std::uint32_t step = 0; step < steps; ++step) {
        std::vector<Vector> forces(particles.size());
        potential = 0;
        for (std::size_t a = 0; a < particles.size(); ++a)
            for (std::size_t b = a + 1; b < particles.size(); ++b)
                potential += interact(particles[a].position, particles[b].position, forces[a],
                                      forces[b]);
        for (std::size_t at = 0; at < particles.size(); ++at)
            advance(particles[at], forces[at]);
    }
    return {potential, kinetic_energy(particles)};
}

bool are_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

// Lets one phase follow the other. It is in the checkpoint, as all chares are.
struct Director : towpath::Chare<Director> {
    std::string directory;
    std::uint32_t phase = 0;
    bool right = true;

    Director() = default;
    explicit Director(std::string checkpoints) : directory(std::move(checkpoints)) {}

    template <class Archive>
    void serialize(Archive &archive) {
        archive & directory & phase & right;
    }

    void next() {
        ++phase;
        cells->send<&Cell::run>();
    }
    // The potential energy in the last step, the kinetic energy, the number of particles and that of
    // migrations of all cells.
    void phase_ended(std::vector<double> all) {
        auto [potential, kinetic] = sequential(phase * steps_per_phase);
        std::printf("step %u: energy %.9f, particles %.0f, migrations of cells %.0f\n",
                    phase * steps_per_phase, all[0] + all[1], all[2], all[3]);
        right = right && are_near(all[0], potential) && are_near(all[1], kinetic) &&
                all[2] == width * width * (36 + 4) / 2;
        if (phase == phases) {
            std::printf("particles are %s\n", right ? "right" : "wrong");
            towpath::exit(right ? 0 : 1);
        } else if (phase == phases / 2 && !directory.empty()) {
            towpath::checkpoint(directory, self().callback<&Director::next>());
        } else {
            next();
        }
    }
};

void Cell::resume_from_sync() {
    migrations += towpath::rank() != std::exchange(last_rank, towpath::rank());
    std::vector<double> values{potential, kinetic_energy(particles),
                               static_cast<double>(particles.size()),
                               static_cast<double>(migrations)};
    contribute(towpath::sum, values, director->callback<&Director::phase_ended>());
}

int main(int argc, char **argv) {
    std::string directory = argc > 1 ? argv[1] : "";
    auto main = [=] {
        cells = towpath::create_array<Cell>({width, width});
        pairs = towpath::create_sparse_array<Pair>();
        director = towpath::create_chare<Director>(directory);
        for (int x = 0; x < width; ++x)
            for (int y = 0; y < width; ++y)
                for (auto [dx, dy] : halves)
                    pairs.get()[{{x, y}, neighbour({x, y}, dx, dy)}].insert();
        pairs->done_inserting();
        director->send<&Director::next>();
    };
    return towpath::run(main, {.balancer = "refine", .restart = argc > 2 ? directory : ""});
}
