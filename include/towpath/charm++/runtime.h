// The rank, the job, time and output; and how methods of chares are run.
#ifndef TOWPATH_CHARM_RUNTIME_H
#define TOWPATH_CHARM_RUNTIME_H

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "../actors.h"

class Chare;

namespace ck {

// Ends the running method: the job is about to end.
struct Ending {};

// What the running method was invoked by.
struct Running {
    const towpath_chare_id *id = nullptr;
    towpath_message *message = nullptr;
    // That of a constructor, or which has migrated: the library does not have it yet.
    Chare *made = nullptr;
};

inline Running &running() {
    static thread_local Running now;
    return now;
}

// While a method runs. Methods that suspend themselves leave, and come back to, their own.
class RunningMethod {
public:
    RunningMethod(const towpath_chare_id *id, towpath_message *message)
        : before(std::exchange(running(), Running{id, message, nullptr})) {}
    RunningMethod(const RunningMethod &) = delete;
    ~RunningMethod() { running() = before; }

private:
    Running before;
};

inline std::string formatted(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    std::string text(length < 0 ? 0 : static_cast<std::size_t>(length), '\0');
    std::vsnprintf(text.data(), text.size() + 1, format, arguments);
    return text;
}

// Ends the job with this sentence.
[[noreturn]] inline void fail(const std::string &sentence) {
    towpath_fail(sentence.c_str());
    throw Ending();
}

// The library's answer: 0, or -1 and a sentence.
inline void check(int result) {
    if (result != 0)
        fail(towpath_error());
}

// Runs code of the program that must not throw through the library.
template <class Code> inline void guarded(Code &&code) {
    try {
        code();
    } catch (const Ending &) {
    } catch (const std::exception &error) {
        towpath_fail(error.what());
    } catch (...) {
        towpath_fail("an exception that is no std::exception");
    }
}

using Clock = std::chrono::steady_clock;

inline Clock::time_point &started() {
    static Clock::time_point when = Clock::now();
    return when;
}

} // namespace ck

inline int CkMyPe() { return static_cast<int>(towpath_rank()); }
inline int CkNumPes() { return static_cast<int>(towpath_ranks()); }
inline int CkMyNode() { return CkMyPe(); }
inline int CkNumNodes() { return CkNumPes(); }
inline int CkMyRank() { return 0; }
inline int CkNodeFirst(int node) { return node; }
inline int CkNodeSize(int) { return 1; }
inline int CkMyNodeSize() { return 1; }
inline int CkNodeOf(int pe) { return pe; }
inline int CkRankOf(int) { return 0; }

inline double CkWallTimer() {
    return std::chrono::duration<double>(ck::Clock::now() - ck::started()).count();
}
inline double CkTimer() { return CkWallTimer(); }
inline double CkCpuTimer() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

#if defined(__GNUC__)
#define CK_PRINTF_LIKE __attribute__((format(printf, 1, 2)))
#define CK_NOT_INLINE __attribute__((noinline))
#else
#define CK_PRINTF_LIKE
#define CK_NOT_INLINE
#endif

CK_PRINTF_LIKE inline int CkPrintf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int printed = std::vprintf(format, arguments);
    va_end(arguments);
    std::fflush(stdout);
    return printed;
}

CK_PRINTF_LIKE inline int CkError(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int printed = std::vfprintf(stderr, format, arguments);
    va_end(arguments);
    return printed;
}

// Programs write endl after ckout.
using std::endl;
#define ckout std::cout
#define ckerr std::cerr
#define CkScanf std::scanf

// Ends the job on all ranks, and the running method.
[[noreturn]] inline void CkExit(int code = 0) {
    towpath_exit(code);
    throw ck::Ending();
}

[[noreturn]] CK_PRINTF_LIKE inline void CkAbort(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::string sentence = ck::formatted(format, arguments);
    va_end(arguments);
    ck::fail(sentence);
}

#define CkAssert(condition)                                                                        \
    ((condition) ? static_cast<void>(0)                                                            \
                 : CkAbort("%s:%d: this does not hold: %s", __FILE__, __LINE__, #condition))
#define CkEnforce(condition) CkAssert(condition)

typedef std::int8_t CmiInt1;
typedef std::int16_t CmiInt2;
typedef std::int32_t CmiInt4;
typedef std::int64_t CmiInt8;
typedef std::uint8_t CmiUInt1;
typedef std::uint16_t CmiUInt2;
typedef std::uint32_t CmiUInt4;
typedef std::uint64_t CmiUInt8;
typedef bool CmiBool;
constexpr CmiBool CmiTrue = true;
constexpr CmiBool CmiFalse = false;

#define CmiPrintf CkPrintf
#define CmiError CkError
#define CmiAbort CkAbort
#define CmiAssert CkAssert
#define CmiWallTimer CkWallTimer
#define CmiCpuTimer CkCpuTimer
#define CmiMyPe CkMyPe
#define CmiNumPes CkNumPes
#define CmiMyNode CkMyNode
#define CmiNumNodes CkNumNodes
#define CmiMyRank CkMyRank

#endif
