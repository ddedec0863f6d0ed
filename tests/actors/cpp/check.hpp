// What the programs share: a check that names its line.
#pragma once

#include <towpath/chare.hpp>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition))                                                                 \
            throw towpath::Error(std::string(__FILE__) + ":" + std::to_string(__LINE__) + \
                                 ": not so: " #condition);                                \
    } while (false)

// All is well: rank 0 says so, and the job ends.
inline void pass() {
    std::puts("ok");
    towpath::exit(0);
}
