// Load balancing and checkpoints.
#pragma once

#include "reduction.hpp"

namespace towpath {

namespace detail {

template <class T>
concept HasResume = requires(T &object) { object.resume_from_sync(); };

// The method with which an element goes on after load balancing.
template <class T>
struct ResumeRecord {
    static towpath_entry record() {
        towpath_entry entry = EntryRecord<T, &T::resume_from_sync>::record();
        entry.flags = TOWPATH_RESUMES;
        entry.type = TypeRecord<T>::type.get();
        return entry;
    }

    static inline Registered<towpath_entry> entry{
        entry_name<T, &T::resume_from_sync>() + " after load balancing", record(),
        towpath_register_entry};
};

inline void start_checkpoint(const std::string &directory, bool is_required,
                             const Callback &done) {
    if (done.get()->kind == TOWPATH_CALL_FUNCTION)
        throw Error("the callback of a checkpoint is called after a restart too, where functions and "
                    "futures of this job do not exist; use one of a method");
    check(towpath_checkpoint(directory.c_str(), is_required, done.get()));
}

}  // namespace detail

// Elements of this type can take part in load balancing. Otherwise a sentence says what is wrong.
template <class T>
consteval bool can_balance() {
    static_assert(detail::Migratable<T>,
                  "a chare that is balanced has a constructor without parameters, and a member "
                  "template <class Archive> void serialize(Archive &archive)");
    static_assert(detail::HasResume<T>, "a chare that calls at_sync goes on with a public method "
                                        "resume_from_sync without parameters");
    return detail::Migratable<T> && detail::HasResume<T>;
}

// Writes all chares to files in a directory, which all ranks see, once no message is left anywhere:
// the program sends none until the method that the callback names is invoked. A restarted job goes on
// with this method. If there can be no checkpoint, the job ends with a sentence.
inline void checkpoint(const std::string &directory, const Callback &done) {
    detail::start_checkpoint(directory, true, done);
}
template <class P>
void checkpoint(const std::string &directory, const CallbackOf<P> &done) {
    if constexpr (takes_nothing<P>())
        detail::start_checkpoint(directory, true, done);
}
// The same, but the method gets a std::string: empty, or why there is no checkpoint.
inline void try_checkpoint(const std::string &directory, const Callback &done) {
    detail::start_checkpoint(directory, false, done);
}
template <class P>
void try_checkpoint(const std::string &directory, const CallbackOf<P> &done) {
    static_assert(detail::takes_value<P, std::string>,
                  "the callback of try_checkpoint is told a std::string");
    detail::start_checkpoint(directory, false, done);
}

}  // namespace towpath
