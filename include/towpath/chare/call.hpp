// Errors, names of types and methods, and the chare whose method runs.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <typeinfo>

#include "../actors.h"
#include "serialize.hpp"

namespace towpath {

namespace detail {

// Throws if a function of the library has failed.
inline void check(int status) {
    if (status != 0)
        throw Error(towpath_error());
}

inline constexpr const char *no_exception = "it has thrown something that is no std::exception";

// Tells the library of an exception that was not caught, and where.
inline void fail(std::exception_ptr exception, std::string where = "") {
    try {
        std::rethrow_exception(exception);
    } catch (const std::exception &error) {
        towpath_fail((where + error.what()).c_str());
    } catch (...) {
        towpath_fail((where + no_exception).c_str());
    }
}

// Calls a function for the library, which exceptions must not reach.
template <class Function>
void guarded(Function &&function) {
    try {
        function();
    } catch (...) {
        fail(std::current_exception());
    }
}

// The chare whose method or constructor runs, or null.
inline thread_local const towpath_chare_id *running = nullptr;

// Whether a coroutine runs that has waited.
inline thread_local bool has_waited = false;

class RunningScope {
public:
    explicit RunningScope(const towpath_chare_id *id, bool waited = false)
        : outer_(running), outer_waited_(has_waited) {
        running = id;
        has_waited = waited;
    }
    ~RunningScope() {
        running = outer_;
        has_waited = outer_waited_;
    }
    RunningScope(const RunningScope &) = delete;

private:
    const towpath_chare_id *outer_;
    bool outer_waited_;
};

// The index of the chare whose method runs, for sentences.
inline std::string running_index() {
    if (running == nullptr)
        return "";
    std::string words;
    for (int at = 0; at < running->index.length; ++at)
        words += (at > 0 ? ", " : "") + std::to_string(running->index.words[at]);
    return " of chare [" + words + "]";
}

inline bool is_same(const towpath_chare_id &a, const towpath_chare_id &b) {
    return a.collection == b.collection && a.index.length == b.index.length &&
           std::memcmp(a.index.words, b.index.words, sizeof a.index.words) == 0;
}

// The name of this function with its argument, as the compiler writes it. It returns a pointer since
// GCC adds what a name such as std::string stands for.
template <class T>
const char *text_of_type() {
    return __PRETTY_FUNCTION__;
}
template <auto Member>
const char *text_of_member() {
    return __PRETTY_FUNCTION__;
}

// What follows "T = " or "Member = " there.
inline std::string argument_in(std::string_view text) {
    auto begin = text.find(" = ") + 3;
    return std::string(text.substr(begin, text.rfind(']') - begin));
}

// What the compiler calls T.
template <class T>
std::string type_name() {
    std::string name = argument_in(text_of_type<T>());
    const std::string_view long_name = "std::__cxx11::basic_string<char>";
    for (auto at = name.find(long_name); at != name.npos; at = name.find(long_name))
        name.replace(at, long_name.size(), "std::string");
    return name;
}

template <auto Member>
struct MemberTag {};

// The name of a member, without its class.
template <auto Member>
std::string member_name() {
    std::string text = argument_in(text_of_member<Member>());
    if (text.ends_with(')') && text.starts_with('('))
        text.pop_back();
    // Arguments of a template have names with :: too.
    int brackets = 0;
    auto at = text.size();
    while (at > 1 && (brackets != 0 || text.compare(at - 2, 2, "::") != 0)) {
        --at;
        brackets += (text[at] == '>') - (text[at] == '<');
    }
    std::string name = text.substr(at);
    // GCC leaves the arguments of a template out, which follow its name in this one.
    std::string long_name = typeid(MemberTag<Member>).name();
    if (long_name.find(std::to_string(name.size()) + name + 'I') != long_name.npos)
        name += ' ' + long_name;
    return name;
}

// The parameters of a function, in parentheses.
template <class... P>
std::string parameter_names() {
    std::string all;
    ((all += (all.empty() ? "" : ", ") + type_name<P>()), ...);
    return "(" + all + ")";
}

}  // namespace detail

// This rank, and how many there are.
inline int rank() { return static_cast<int>(towpath_rank()); }
inline int ranks() { return static_cast<int>(towpath_ranks()); }

}  // namespace towpath
