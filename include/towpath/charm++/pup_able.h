// PUP::able: objects that are packed through a pointer to their base class.
#ifndef TOWPATH_CHARM_PUP_ABLE_H
#define TOWPATH_CHARM_PUP_ABLE_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "pup.h"

class CkMigrateMessage;

namespace PUP {

class able {
public:
    // A hash of the class's name, which is the same on all ranks. 0 is a null pointer.
    using PUP_ID = std::uint64_t;
    using Constructor = able *(*)();

    able() = default;
    explicit able(CkMigrateMessage *) {}
    virtual ~able() = default;
    virtual void pup(er &) {}
    virtual PUP_ID get_PUP_ID() const = 0;

    static PUP_ID register_constructor(const char *name, Constructor constructor) {
        PUP_ID id = 14695981039346656037u;
        for (const char *at = name; *at != 0; ++at)
            id = (id ^ static_cast<unsigned char>(*at)) * 1099511628211u;
        constructors()[id] = constructor;
        return id;
    }

    static able *make(PUP_ID id) {
        auto known = constructors().find(id);
        if (known == constructors().end())
            throw std::invalid_argument("A packed object is of a class that is not registered: "
                                        "name it in a PUPable declaration of the interface file.");
        return known->second();
    }

private:
    static std::map<PUP_ID, Constructor> &constructors() {
        static std::map<PUP_ID, Constructor> known;
        return known;
    }
};

namespace detail {
template <class T> inline void pup_able(er &p, T *&object) {
    able::PUP_ID id = !p.isUnpacking() && object != nullptr ? object->get_PUP_ID() : 0;
    p | id;
    if (p.isUnpacking())
        object = id == 0 ? nullptr : static_cast<T *>(able::make(id));
    if (object != nullptr)
        object->pup(p);
}
} // namespace detail

template <class T, class = std::enable_if_t<std::is_base_of_v<able, T>>>
inline void operator|(er &p, T *&object) {
    detail::pup_able(p, object);
}

} // namespace PUP

// A pointer to such an object as a parameter, which the receiver owns.
template <class T> class CkPointer {
public:
    CkPointer(T *object) : object(object) {}
    CkPointer() = default;
    CkPointer(CkPointer &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
    CkPointer(const CkPointer &) = default;
    operator T *() { return object; }
    T *operator->() const { return object; }
    void pup(PUP::er &p) { PUP::detail::pup_able(p, object); }

private:
    T *object = nullptr;
};

// The same as a reference, whose object is deleted after the method.
template <class T> class CkReference {
public:
    CkReference(T &object) : object(&object) {}
    CkReference() = default;
    operator T &() { return *object; }
    void pup(PUP::er &p) {
        PUP::detail::pup_able(p, object);
        if (p.isUnpacking())
            owned.reset(object);
    }

private:
    T *object = nullptr;
    std::shared_ptr<T> owned;
};

#define PUPable_decl_inside(type) PUPable_members(type, #type)
#define PUPable_decl(type) PUPable_members(type, #type)
#define PUPable_decl_base_template(base, type) PUPable_members(type, #type)
#define PUPable_decl_template(type) PUPable_members(type, #type)
#define PUPable_members(type, name)                                                                \
public:                                                                                            \
    static PUP::able *ck_make() { return new type(static_cast<CkMigrateMessage *>(nullptr)); }     \
    static PUP::able::PUP_ID ck_register() {                                                       \
        static const PUP::able::PUP_ID id = PUP::able::register_constructor(name, ck_make);        \
        return id;                                                                                 \
    }                                                                                              \
    PUP::able::PUP_ID get_PUP_ID() const override { return ck_register(); }
#define PUPable_abstract(type)                                                                     \
public:                                                                                            \
    PUP::able::PUP_ID get_PUP_ID() const override = 0;
#define PUPable_def(type)
#define PUPable_reg(type) type::ck_register()

#endif
