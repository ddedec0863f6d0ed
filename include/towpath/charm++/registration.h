// How generated code tells the library what a program has, and how methods are run.
#ifndef TOWPATH_CHARM_REGISTRATION_H
#define TOWPATH_CHARM_REGISTRATION_H

#include "creation.h"
#include "marshal.h"
#include "posts.h"

namespace ck {

// What a method is invoked by.
struct Call {
    void *chare;
    const towpath_chare_id *id;
    towpath_message *message;

    template <class T> T *object() const { return cast<T>(chare); }
    // Of a synchronous method that gets a message. A callback can invoke it with nothing.
    ReplyTo reply_to() const {
        return message->bytes == 0 ? ReplyTo() : message_header(*message)->reply;
    }
    bool has_result() const { return (message->flags & TOWPATH_RESULT) != 0; }
    // The message as the program's own.
    template <class M> M *take() const {
        towpath_message_keep(message);
        return from_message<M>(*message, section_of(*message));
    }
    // The message while the method runs. What has arrived may be shared with other chares.
    template <class M> std::unique_ptr<M> look() const { return std::unique_ptr<M>(take<M>()); }
};

// Whether the arrays of a message, which is held, are here, and its post method has said where they
// are to be. Then they are there, and their senders are told.
template <std::size_t count>
inline bool place_now(const Call &call, const std::array<PostedArray, count> &arrays) {
    if (!std::all_of(arrays.begin(), arrays.end(), [](const PostedArray &one) {
            return one.to != nullptr && !one.post.is_matched &&
                   (one.from != nullptr || one.bytes == 0);
        }))
        return false;
    for (const PostedArray &one : arrays)
        if (one.bytes != 0)
            std::memmove(one.to, one.from, one.bytes);
    towpath_message_free(call.message);
    return true;
}

// Lets the arrays of a message, which is held, be copied to where its post method says. The chare
// cannot migrate until its method has run.
template <std::size_t count>
inline void place_arrays(const Call &call, const EntryMethod &entry,
                         const std::array<PostedArray, count> &arrays,
                         std::function<towpath_message(const PostedArray *)> marshal) {
    auto pending = std::make_shared<PendingArrays>();
    pending->message = *call.message;
    pending->id = *call.id;
    pending->entry = &entry;
    pending->arrays.assign(arrays.begin(), arrays.end());
    pending->marshal = std::move(marshal);
    check(towpath_pin(call.id));
    Posts::all().start(pending);
}

inline void resume_element(const Call &call) { call.object<ArrayElement>()->ResumeFromSync(); }

// The method by which proxies let an element delete itself.
inline void destroy_element(const Call &call) { check(towpath_destroy(call.id)); }

using Method = void (*)(const Call &);
using Constructor = Chare *(*)(const Call &);

template <Method method>
void invoke_method(void *, void *object, const towpath_chare_id *id, towpath_message *message) {
    RunningMethod now(id, message);
    guarded([&] { method({object, id, message}); });
}

template <Constructor constructor>
void *construct(void *, const towpath_chare_id *id, towpath_message *message) {
    RunningMethod now(id, message);
    Chare *made = nullptr;
    guarded([&] {
        made = constructor({nullptr, id, message});
        made->ck_made();
    });
    // A constructor that has ended the job leaves nothing behind.
    return made != nullptr ? made : new Chare();
}

inline void register_named(EntryMethod &entry, const std::string &name) {
    entry.name = name;
    entry.c.name = entry.name.c_str();
    towpath_register_entry(&entry.c);
}

template <Method method>
inline void register_method(EntryMethod &entry, const std::string &name, std::uint32_t send_flags,
                            std::uint32_t flags) {
    entry.c.invoke = invoke_method<method>;
    entry.c.flags = flags;
    entry.flags = send_flags;
    register_named(entry, name);
}

template <Constructor constructor>
inline void register_constructor(EntryMethod &entry, const std::string &name,
                                 const towpath_type &type) {
    entry.c.construct = construct<constructor>;
    entry.c.type = &type;
    register_named(entry, name);
}

// Whether a class has a pup function of its own, or inherits it.
template <class T, class = void> struct OwnPup : std::true_type {};
template <class T>
struct OwnPup<T, std::void_t<decltype(&T::pup)>>
    : std::is_same<decltype(&T::pup), void (T::*)(PUP::er &)> {};

// Becomes a CkMigrateMessage * and nothing else: a pointer would become a bool too.
struct MigrateMessagePointer {
    template <class T, class = std::enable_if_t<std::is_same_v<T, CkMigrateMessage *>>>
    operator T() const;
};

// The type of a class of chares.
template <class T, class Index> struct TypeFunctions {
    // Who unpacks the chare does not know for what it was packed.
    static void begin(PUP::er &p) {
        if (!p.isUnpacking())
            p.purpose = towpath_leaves() ? PUP::er::Purpose::Migration
                                         : PUP::er::Purpose::Checkpoint;
        p | p.purpose;
    }
    static void pup(Chare *chare, PUP::er &p) {
        chare->ck_pup_base(p);
        Index::ck_pup(cast<T>(chare), p);
        chare->ck_pup_steps(p);
    }
    static std::size_t packed_bytes(void *, void *object) {
        PUP::sizer p;
        guarded([&] {
            begin(p);
            if (p.isMigration())
                static_cast<Chare *>(object)->ckAboutToMigrate();
            pup(static_cast<Chare *>(object), p);
        });
        return p.size();
    }
    static void pack(void *, void *object, void *into, std::size_t bytes) {
        PUP::toMem p(into, bytes);
        guarded([&] {
            begin(p);
            pup(static_cast<Chare *>(object), p);
        });
    }
    static void *unpack(void *, const towpath_chare_id *id, const void *packed,
                        std::size_t bytes) {
        RunningMethod now(id, nullptr);
        Chare *made = nullptr;
        guarded([&] {
            made = Index::ck_base(new T(static_cast<CkMigrateMessage *>(nullptr)));
            PUP::fromMem p(packed, bytes);
            begin(p);
            pup(made, p);
            made->ckJustMigrated();
            made->ck_made();
        });
        return made;
    }
    static void destroy(void *, void *object) {
        guarded([&] { ck::destroy(static_cast<Chare *>(object)); });
    }
};

template <class T, class Index>
inline void register_type(towpath_type &type, std::string &name, const std::string &named) {
    using Functions = TypeFunctions<T, Index>;
    name = named;
    type.name = name.c_str();
    type.destroy = Functions::destroy;
    if constexpr (std::is_constructible_v<T, MigrateMessagePointer>) {
        type.packed_bytes = Functions::packed_bytes;
        type.pack = Functions::pack;
        type.unpack = Functions::unpack;
    }
    towpath_register_type(&type);
}

} // namespace ck

#endif
