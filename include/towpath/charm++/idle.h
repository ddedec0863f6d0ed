// Methods that are called when their rank has nothing to do.
#ifndef TOWPATH_CHARM_IDLE_H
#define TOWPATH_CHARM_IDLE_H

#include <vector>

#include "chares.h"

namespace ck {

using IdleMethod = bool (*)(Chare *);

// All such methods, by the numbers that the program gives to CkCallWhenIdle.
inline std::vector<IdleMethod> &idle_methods() {
    static std::vector<IdleMethod> all;
    return all;
}

template <IdleMethod method> inline int idle_method() {
    static const int number = [] {
        idle_methods().push_back(method);
        return static_cast<int>(idle_methods().size()) - 1;
    }();
    return number;
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
    ck::call_when_idle(ck::idle_methods().at(static_cast<std::size_t>(method)), chare->ck_id);
}

#endif
