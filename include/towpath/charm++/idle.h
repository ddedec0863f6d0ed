// Methods that are called when their rank has nothing to do.
#ifndef TOWPATH_CHARM_IDLE_H
#define TOWPATH_CHARM_IDLE_H

#include <vector>

#include "chares.h"

namespace ck {

using IdleMethod = bool (*)(Chare *);

// All such methods. For CkCallWhenIdle the first one is -1, the second one -2: entry methods have
// other numbers.
inline std::vector<IdleMethod> &idle_methods() {
    static std::vector<IdleMethod> all;
    return all;
}

template <IdleMethod method> inline int idle_method() {
    static const int number = [] {
        idle_methods().push_back(method);
        return -static_cast<int>(idle_methods().size());
    }();
    return number;
}

// The chare, as the class of one of these methods.
template <class T> inline T *idle_chare(Chare *chare, const char *method) {
    auto *object = dynamic_cast<T *>(chare);
    if (object == nullptr)
        fail(std::string("CkCallWhenIdle was called for ") + method +
             ", which is no method of the chare");
    return object;
}

// Calls a method once the rank has nothing to do, and then as long as it returns true. A chare that
// has left meanwhile, or exists no more, is not called.
inline void call_when_idle(IdleMethod method, const towpath_chare_id &id) {
    std::uint64_t function = Functions::all().add_once([=](const void *, std::size_t) {
        void *object = local(id);
        if (object == nullptr)
            return;
        bool is_called_again = false;
        check(towpath_enter(&id));
        {
            RunningMethod now(&id, nullptr);
            guarded([&] { is_called_again = method(static_cast<Chare *>(object)); });
        }
        towpath_leave(&id);
        if (is_called_again)
            call_when_idle(method, id);
    });
    check(towpath_call_when_idle(function));
}

} // namespace ck

// Calls a [whenidle] method of a chare of this rank, which CkIndex_X::method() names.
inline void CkCallWhenIdle(int method, Chare *chare) {
    const auto &all = ck::idle_methods();
    if (method >= 0 || static_cast<std::size_t>(-method) > all.size())
        ck::fail("CkCallWhenIdle was called for a method that is not [whenidle]: declare it so");
    ck::call_when_idle(all[static_cast<std::size_t>(-method - 1)], chare->ck_id);
}

#endif
