// Where ranks are in the machine, for programs that place elements by it. Nobody here knows the
// machine's network: the ranks are a grid of three dimensions, as near to a cube as their number
// allows, without links between its ends.
#ifndef TOWPATH_CHARM_TOPOMANAGER_H
#define TOWPATH_CHARM_TOPOMANAGER_H

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "runtime.h"

class TopoManager {
public:
    TopoManager() : TopoManager(1, 1, 1, 1) {
        const int ranks = CkNumPes();
        dimension[2] = divisor(ranks, 3);
        dimension[1] = divisor(ranks / dimension[2], 2);
        dimension[0] = ranks / dimension[2] / dimension[1];
    }
    // A grid of the program, whose ranks are numbered along t, x, y and z.
    TopoManager(int nx, int ny, int nz, int nt) : dimension{nx, ny, nz, nt} {
        if (nx < 1 || ny < 1 || nz < 1 || nt < 1)
            CkAbort("a TopoManager of %d x %d x %d x %d was made: extents are 1 or more", nx, ny,
                    nz, nt);
    }

    int getDimNX() const { return dimension[0]; }
    int getDimNY() const { return dimension[1]; }
    int getDimNZ() const { return dimension[2]; }
    int getDimNT() const { return dimension[3]; }
    // With the ranks of a node along x.
    int getDimX() const { return dimension[0] * dimension[3]; }
    int getDimY() const { return dimension[1]; }
    int getDimZ() const { return dimension[2]; }
    int getProcsPerNode() const { return dimension[3]; }
    bool hasMultipleProcsPerNode() const { return dimension[3] > 1; }
    bool isTorusX() const { return false; }
    bool isTorusY() const { return false; }
    bool isTorusZ() const { return false; }

    void rankToCoordinates(int rank, int &x, int &y, int &z, int &t) const {
        t = rank % dimension[3];
        x = rank / dimension[3] % dimension[0];
        y = rank / dimension[3] / dimension[0] % dimension[1];
        z = rank / dimension[3] / dimension[0] / dimension[1];
    }
    void rankToCoordinates(int rank, int &x, int &y, int &z) const {
        int t;
        rankToCoordinates(rank, x, y, z, t);
        x = x * dimension[3] + t;
    }
    int coordinatesToRank(int x, int y, int z, int t) const {
        return t + dimension[3] * (x + dimension[0] * (y + dimension[1] * z));
    }
    int coordinatesToRank(int x, int y, int z) const {
        return coordinatesToRank(x / dimension[3], y, z, x % dimension[3]);
    }
    int getHopsBetweenRanks(int one, int other) const {
        int a[4], b[4];
        rankToCoordinates(one, a[0], a[1], a[2], a[3]);
        rankToCoordinates(other, b[0], b[1], b[2], b[3]);
        return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]);
    }
    // Sorts places in a list of ranks by how far the ranks are from one.
    void sortRanksByHops(int from, const int *ranks, int *order, int count) const {
        std::iota(order, order + count, 0);
        std::stable_sort(order, order + count, [&](int a, int b) {
            return getHopsBetweenRanks(from, ranks[a]) < getHopsBetweenRanks(from, ranks[b]);
        });
    }
    // The place of the nearest one in such a list.
    int pickClosestRank(int from, const int *ranks, int count) const {
        const int *nearest = std::min_element(ranks, ranks + count, [&](int a, int b) {
            return getHopsBetweenRanks(from, a) < getHopsBetweenRanks(from, b);
        });
        return static_cast<int>(nearest - ranks);
    }
    bool areNeighbors(int one, int other, int third, int distance) const {
        return getHopsBetweenRanks(one, third) + getHopsBetweenRanks(other, third) <= distance;
    }

private:
    // Its greatest divisor with a power that is not greater.
    static int divisor(int number, int power) {
        int greatest = 1;
        for (int one = 2; (power == 3 ? one * one * one : one * one) <= number; ++one)
            if (number % one == 0)
                greatest = one;
        return greatest;
    }

    int dimension[4];
};

#endif
