// Base classes of chares.
#ifndef TOWPATH_CHARM_CHARES_H
#define TOWPATH_CHARM_CHARES_H

#include <utility>

#include "futures.h"

class Chare;

namespace ck {

// The chare that the library destroys, or null.
inline Chare *&being_destroyed() {
    static Chare *now = nullptr;
    return now;
}
// The chare whose destructor has run last.
struct Destructed {
    Chare *chare = nullptr;
    towpath_chare_id id = {};
};
inline Destructed &destructed_last() {
    static Destructed last;
    return last;
}
// Chares that the program has deleted, and their memory, which is kept until the library forgets
// them.
inline std::map<Chare *, void *> &deleted_by_program() {
    static std::map<Chare *, void *> all;
    return all;
}

} // namespace ck

// What all chares are.
class Chare {
public:
    Chare() : ck_id(*ck::running().id), thishandle{ck_id} {
        // Of several bases that are a Chare, the library has the first.
        if (ck::running().made == nullptr)
            ck::running().made = this;
    }
    explicit Chare(CkMigrateMessage *) : Chare() {}
    Chare(const Chare &) = delete;
    virtual ~Chare() { ck::destructed_last() = {this, ck_id}; }
    // Not inline: the compiler would miss the operator delete of the same memory.
    CK_NOT_INLINE static void *operator new(std::size_t bytes) { return ::operator new(bytes); }
    static void *operator new(std::size_t, void *place) { return place; }
    static void operator delete(void *memory) {
        // Of several bases that are a Chare, the first is destructed last. The library knows that.
        const ck::Destructed last = ck::destructed_last();
        if (ck::being_destroyed() == last.chare)
            return ::operator delete(memory);
        // A program may delete a chare: the library forgets it, at once or after its method.
        ck::deleted_by_program()[last.chare] = memory;
        towpath_destroy(&last.id);
    }
    virtual void pup(PUP::er &) {}
    // What its base class has, which programs do not name.
    virtual void ck_pup_base(PUP::er &) {}
    // Called when it has been constructed or has arrived.
    virtual void ck_made() {}
    // What its class has of steps that wait for messages.
    virtual void ck_pup_steps(PUP::er &) {}
    // Called before an element is packed to migrate, and after it was unpacked.
    virtual void ckAboutToMigrate() {}
    virtual void ckJustMigrated() {}

    // Older programs call these; the runtime does what they did.
    void __sdag_init() {}
    void __sdag_pup(PUP::er &) {}
    void _sdag_pup(PUP::er &) {}

    const towpath_chare_id ck_id;
    CkChareID thishandle;
};

namespace ck {

// A chare that takes part in reductions.
class Contributor : public Chare {
public:
    using Chare::Chare;
    void contribute(std::size_t size, const void *data, CkReduction::reducerType type) {
        ck::contribute(ck_id, size, data, type, nullptr);
    }
    void contribute(std::size_t size, const void *data, CkReduction::reducerType type,
                    const CkCallback &callback) {
        ck::contribute(ck_id, size, data, type, &callback);
    }
    template <class T>
    void contribute(const std::vector<T> &data, CkReduction::reducerType type,
                    const CkCallback &callback) {
        contribute(data.size() * sizeof(T), data.data(), type, callback);
    }
    void contribute(const CkCallback &callback) {
        contribute(0, nullptr, CkReduction::nop, callback);
    }
    void contribute() { contribute(0, nullptr, CkReduction::nop); }
    void contribute(CkReductionMsg *message) { ck::contribute(ck_id, message); }
};

inline void destroy(Chare *chare) {
    auto deleted = deleted_by_program().extract(chare);
    if (!deleted.empty())
        return ::operator delete(deleted.mapped());
    Chare *before = std::exchange(being_destroyed(), chare);
    delete chare;
    being_destroyed() = before;
}

// The object as its class. With several bases its first Chare is not that of each.
template <class T, class = void> struct Cast {
    static T *from(Chare *chare) { return dynamic_cast<T *>(chare); }
};
template <class T>
struct Cast<T, std::void_t<decltype(static_cast<T *>(std::declval<Chare *>()))>> {
    static T *from(Chare *chare) { return static_cast<T *>(chare); }
};
template <class T> inline T *cast(void *object) {
    return object == nullptr ? nullptr : Cast<T>::from(static_cast<Chare *>(object));
}

// The entry method that all arrays have.
inline EntryMethod &resume_from_sync() {
    static EntryMethod entry;
    return entry;
}
inline towpath_message nothing() {
    towpath_message message;
    towpath_message_new(0, &message);
    return message;
}

} // namespace ck

class Group : public ck::Contributor {
public:
    Group() : thisgroup{ck_id.collection} {}
    explicit Group(CkMigrateMessage *) : Group() {}
    CkGroupID ckGetGroupID() const { return thisgroup; }
    CkGroupID thisgroup;
    int thisIndex = CkMyPe();
};
typedef Group IrrGroup;

class NodeGroup : public Group {
public:
    using Group::Group;
};

class ArrayElement : public ck::Contributor {
public:
    ArrayElement() : thisArrayID{ck_id.collection}, thisIndexMax(ck_id.index) {}
    explicit ArrayElement(CkMigrateMessage *) : ArrayElement() {}
    void migrateMe(int rank) {
        ck::check(towpath_migrate(&ck_id, static_cast<std::uint32_t>(rank)));
    }
    void ckMigrate(int rank) { migrateMe(rank); }
    void ckDestroy() { ck::check(towpath_destroy(&ck_id)); }
    // Ready for load balancing: goes on with ResumeFromSync.
    void AtSync(int = 1) {
        if (!usesAtSync)
            ck::fail("AtSync was called by an element that has not set usesAtSync; set it in the "
                     "constructor");
        ck::check(towpath_at_sync(&ck_id));
    }
    virtual void ResumeFromSync() {}
    void ck_pup_base(PUP::er &p) override { p | usesAtSync; }
    void ck_made() override {
        if (usesAtSync)
            towpath_join_balancing(ck_id.collection);
    }
    void setMigratable(int) {}
    bool usesAtSync = false;
    CkArrayID ckGetArrayID() const { return thisArrayID; }
    const CkArrayID thisArrayID;
    const CkArrayIndex thisIndexMax;
};

template <class Index> class ArrayElementT : public ArrayElement {
public:
    ArrayElementT() : thisIndex(ck::element_index<Index>(ck_id.index)) {}
    explicit ArrayElementT(CkMigrateMessage *) : ArrayElementT() {}
    Index thisIndex;
};
typedef ArrayElementT<CkIndex1D> ArrayElement1D;
typedef ArrayElementT<CkIndex2D> ArrayElement2D;
typedef ArrayElementT<CkIndex3D> ArrayElement3D;
typedef ArrayElementT<CkIndex4D> ArrayElement4D;
typedef ArrayElementT<CkIndex5D> ArrayElement5D;
typedef ArrayElementT<CkIndex6D> ArrayElement6D;

namespace ck {

template <class Proxy> inline Proxy proxy_of(const towpath_chare_id &id) {
    if constexpr (std::is_base_of_v<CProxy_Chare, Proxy>)
        return Proxy(CkChareID{id});
    else if constexpr (std::is_base_of_v<CProxy_Group, Proxy>)
        return Proxy(CkGroupID{id.collection});
    else
        return Proxy(CkArrayID{id.collection});
}

} // namespace ck

// CBase_X of a chare X: its base class, and a proxy to all that it belongs to.
template <class Base, class Proxy> class CBaseT1 : public Base {
public:
    using Base::Base;
    CBaseT1() = default;
    explicit CBaseT1(CkMigrateMessage *message) : Base(message) {}
    void pup(PUP::er &) override {}
    Proxy thisProxy = ck::proxy_of<Proxy>(Base::ck_id);
};

template <class Base1, class Base2, class Proxy> class CBaseT2 : public Base1, public Base2 {
public:
    CBaseT2() = default;
    explicit CBaseT2(CkMigrateMessage *message) : Base1(message), Base2(message) {}
    void pup(PUP::er &) override {}
    Proxy thisProxy = ck::proxy_of<Proxy>(Base1::ck_id);
};

#endif
