// Messages that programs declare: a message of the library, whose payload is a header, the object
// of the program and its arrays.
#ifndef TOWPATH_CHARM_MESSAGES_H
#define TOWPATH_CHARM_MESSAGES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>

#include "pup.h"
#include "waiting.h"

class CkMigrateMessage;

namespace ck {
inline void destroy_message(void *object);
}

// What all messages are.
class CkMessage {
public:
    static void operator delete(void *object) { ck::destroy_message(object); }
};

namespace ck {

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 15) & ~std::size_t{15}; }

// Before the object in the payload.
struct alignas(16) MessageHeader {
    towpath_message owner; // as it was when the payload was made or kept
    std::uint64_t bytes;   // of the object and its arrays
    ReplyTo reply;         // of a synchronous method
    // What deletes an object with a destructor, such as a result; others are memory only.
    void (*destroy)(void *object) = nullptr;
    // Of the memory for a priority, whose words are behind the arrays if an integer has less.
    std::uint32_t priority_bits = 0;
    // Whether the priority is a string of bits, and no integer.
    bool has_bits = false;
    // The program, and a scope of steps that has taken the message.
    std::uint16_t owners = 1;
    // Of its class: a number among MessageTypes.
    std::uint64_t type = 0;
    // To which it was sent, or one of collection 0.
    towpath_section section = {};

    static MessageHeader *of(const void *object) {
        return static_cast<MessageHeader *>(const_cast<void *>(object)) - 1;
    }
    void *object() { return this + 1; }
    std::size_t priority_words() const {
        return std::max<std::size_t>((std::size_t{priority_bits} + 31) / 32, 1);
    }
    void *priority() {
        return priority_bits <= 32 ? static_cast<void *>(&owner.priority)
                                   : static_cast<char *>(object()) + rounded(bytes);
    }
};

// Memory for an object of so many bytes, and a priority, in a message.
inline void *allocate_message(std::size_t bytes, int priority_bits = 0) {
    if (priority_bits < 0)
        fail("a message is made with a priority of " + std::to_string(priority_bits) + " bits");
    MessageHeader made = {{}, bytes, {}};
    made.priority_bits = static_cast<std::uint32_t>(priority_bits);
    made.has_bits = priority_bits > 32;
    std::size_t priority = made.has_bits ? made.priority_words() * sizeof(std::uint32_t) : 0;
    towpath_message_new(sizeof made + (priority == 0 ? bytes : rounded(bytes) + priority),
                        &made.owner);
    auto *header = new (made.owner.payload) MessageHeader(made);
    if (made.has_bits)
        std::memset(header->priority(), 0, priority);
    return header->object();
}

// The memory of an object, for one of its owners.
inline void free_message(void *object) {
    if (object != nullptr && --MessageHeader::of(object)->owners == 0) {
        towpath_message owner = MessageHeader::of(object)->owner;
        towpath_message_free(&owner);
    }
}

// Deletes an object of any type.
inline void destroy_message(void *object) {
    if (object == nullptr)
        return;
    if (auto destroy = MessageHeader::of(object)->destroy)
        return destroy(object);
    free_message(object);
}

// Whether a message is a CkDataMsg: no other class has a destructor that the header knows.
inline bool is_result(const CkMessage *message) {
    return MessageHeader::of(message)->destroy != nullptr;
}

// The header in a message that has arrived.
inline MessageHeader *message_header(const towpath_message &message) {
    auto *header = static_cast<MessageHeader *>(message.payload);
    if (message.bytes < sizeof *header || header->bytes > message.bytes - sizeof *header)
        fail("a message for this entry method is shorter than its header says");
    return header;
}

// The object in it.
inline void *message_object(const towpath_message &message) {
    MessageHeader *header = message_header(message);
    // The library has a string of bits as an integer.
    std::int32_t priority = header->has_bits ? header->owner.priority : message.priority;
    header->owner = message;
    header->owner.priority = priority;
    header->owners = 1;
    return header->object();
}

// Memory for an object of so many bytes, which is sent with what another one is sent with.
inline void *allocate_like(const void *object, std::size_t bytes) {
    MessageHeader *from = MessageHeader::of(object);
    void *made = allocate_message(bytes, static_cast<int>(from->priority_bits));
    MessageHeader *to = MessageHeader::of(made);
    to->owner.flags = from->owner.flags;
    to->owner.reference = from->owner.reference;
    to->reply = from->reply;
    to->has_bits = from->has_bits;
    to->type = from->type;
    to->section = from->section;
    std::memcpy(to->priority(), from->priority(), from->priority_words() * sizeof(std::uint32_t));
    return made;
}

// The message to send, of which the program gives up the object.
inline towpath_message take_message(void *object) {
    MessageHeader *header = MessageHeader::of(object);
    if (header->owners > 1) {
        void *copy = allocate_like(object, header->bytes);
        std::memcpy(copy, object, header->bytes);
        free_message(object);
        return take_message(copy);
    }
    towpath_message owner = header->owner;
    if (!header->has_bits || (owner.flags & TOWPATH_PRIORITY) == 0)
        return owner;
    // The library has such a priority in front of the payload.
    towpath_message prioritized;
    std::uint32_t bits = header->priority_bits == 0 ? 32 : header->priority_bits;
    check(towpath_message_new_prioritized(
        owner.bytes, static_cast<const std::uint32_t *>(header->priority()), bits, &prioritized));
    std::memcpy(prioritized.payload, owner.payload, owner.bytes);
    prioritized.flags |= owner.flags;
    prioritized.reference = owner.reference;
    towpath_message_free(&owner);
    return prioritized;
}

template <class M> inline void *packed(M *message) { return M::pack(message); }

// Types of messages, on all ranks: those that the program has declared, and results. Their numbers
// are hashes of what the compiler calls them.
class MessageTypes {
public:
    struct Functions {
        void *(*pack)(void *object);
        void *(*unpack)(void *packed);
    };
    static std::unordered_map<std::uint64_t, Functions> &all() {
        static std::unordered_map<std::uint64_t, Functions> types;
        return types;
    }
    template <class M> static std::uint64_t add() {
        std::uint64_t number = 14695981039346656037u;
        for (const char *at = typeid(M).name(); *at != 0; ++at)
            number = (number ^ static_cast<unsigned char>(*at)) * 1099511628211u;
        all()[number] = {[](void *object) { return M::pack(static_cast<M *>(object)); },
                         [](void *packed) -> void * { return M::unpack(packed); }};
        return number;
    }
    // That of an object.
    static const Functions &of(const void *object) {
        auto type = all().find(MessageHeader::of(object)->type);
        if (type == all().end())
            fail("a message has a type that the program has not declared");
        return type->second;
    }
};
template <class M> inline const std::uint64_t message_type = MessageTypes::add<M>();

inline void *packed(CkMessage *message) { return MessageTypes::of(message).pack(message); }
// A class that packs itself may make an object that does not know of which message it was made.
inline CkMessage *unpacked(void *packed) {
    const MessageHeader before = *MessageHeader::of(packed);
    void *object = MessageTypes::of(packed).unpack(packed);
    MessageHeader *header = MessageHeader::of(object);
    header->type = before.type;
    header->section = before.section;
    header->owner.reference = before.owner.reference;
    return static_cast<CkMessage *>(object);
}

// What stands in front of a message that was packed with other things.
struct PackedMessage {
    std::uint64_t type = 0; // 0 if there is none
    std::uint64_t bytes = 0;
    towpath_section section = {};
    std::uint32_t reference = 0;
    std::uint32_t flags = 0;
    std::uint32_t priority_bits = 0;
    std::uint32_t has_bits = 0;

    PackedMessage() = default;
    explicit PackedMessage(const MessageHeader &of)
        : type(of.type), bytes(of.bytes), section(of.section), reference(of.owner.reference),
          flags(of.owner.flags & TOWPATH_PRIORITY), priority_bits(of.priority_bits),
          has_bits(of.has_bits) {}
    // Memory for the message.
    void *allocate() const {
        void *object = allocate_message(bytes, static_cast<int>(priority_bits));
        MessageHeader *header = MessageHeader::of(object);
        header->type = type;
        header->section = section;
        header->owner.reference = reference;
        header->owner.flags = flags;
        header->has_bits = has_bits != 0;
        return object;
    }
};

// Base of the class that is generated for each type of messages.
template <class M> class MessageOf : public CkMessage {
public:
    MessageOf() { MessageHeader::of(static_cast<M *>(this))->type = message_type<M>; }
    MessageOf(const MessageOf &) : MessageOf() {}
    MessageOf &operator=(const MessageOf &) { return *this; }
    static void *operator new(std::size_t bytes) { return allocate_message(bytes); }
    static void *operator new(std::size_t, void *place) { return place; }
    static void *operator new(std::size_t bytes, int priority_bits) {
        return allocate_message(bytes, priority_bits);
    }
    static void operator delete(void *object) { free_message(object); }
    static void operator delete(void *, void *) {}
    static void operator delete(void *object, int) { free_message(object); }
    // Programs call it from their own.
    void pup(PUP::er &) {}
    static void *alloc(int, std::size_t bytes, const int *, int priority_bits) {
        return allocate_message(bytes, priority_bits);
    }
};

// Memory for an object, and for arrays behind it whose places stand between.
template <class... T>
inline void *allocate_with_arrays(std::size_t object_bytes, const int *lengths,
                                  int priority_bits = 0) {
    static_assert(((alignof(T) <= 16) && ...), "Arrays of messages are aligned to 16 bytes.");
    std::size_t bytes = rounded(object_bytes) + rounded(sizeof...(T) * sizeof(std::uint64_t));
    std::uint64_t places[sizeof...(T)];
    std::size_t number = 0;
    auto add = [&](std::size_t element) {
        if (lengths[number] < 0)
            fail("a message is made with an array of negative length");
        places[number] = bytes;
        bytes += rounded(element * static_cast<std::size_t>(lengths[number]));
        ++number;
    };
    (add(sizeof(T)), ...);
    void *object = allocate_message(bytes, priority_bits);
    std::memcpy(static_cast<char *>(object) + rounded(object_bytes), places, sizeof places);
    return object;
}

// Points to an array of a message that is being made.
template <class M, class T> inline void place_array(M *message, std::size_t number, T *&array) {
    char *object = reinterpret_cast<char *>(message);
    std::uint64_t place;
    std::memcpy(&place, object + rounded(sizeof(M)) + number * sizeof place, sizeof place);
    array = reinterpret_cast<T *>(object + place);
}

// What pointers to arrays are during the journey: offsets.
template <class T> inline void pack_pointer(const void *object, T *&pointer) {
    std::ptrdiff_t offset = pointer == nullptr ? 0
                                               : reinterpret_cast<const char *>(pointer) -
                                                     static_cast<const char *>(object);
    pointer = reinterpret_cast<T *>(offset);
}

template <class T> inline void unpack_pointer(void *object, T *&pointer) {
    auto offset = reinterpret_cast<std::uintptr_t>(pointer);
    if (offset > MessageHeader::of(object)->bytes)
        fail("an array of a message lies outside of it");
    pointer = offset == 0 ? nullptr : reinterpret_cast<T *>(static_cast<char *>(object) + offset);
}

} // namespace ck

// Memory for another form of a message, whose class packs itself; it is sent like the message.
inline void *CkAllocBuffer(const void *message, int bytes) {
    return ck::allocate_like(message, static_cast<std::size_t>(bytes));
}
inline void CkFreeMsg(void *message) { ck::destroy_message(message); }

// A copy of a message, with its pointers to arrays. The message may move.
inline void *CkCopyMsg(void **message) {
    void *packed = ck::packed(static_cast<CkMessage *>(*message));
    std::size_t bytes = ck::MessageHeader::of(packed)->bytes;
    void *copy = ck::allocate_like(packed, bytes);
    std::memcpy(copy, packed, bytes);
    *message = ck::unpacked(packed);
    return ck::unpacked(copy);
}

// A message, or null, as part of what is packed. The message may move.
inline void CkPupMessage(PUP::er &p, void **message, int = 1) {
    ck::PackedMessage image;
    void *packed = nullptr;
    if (!p.isUnpacking() && *message != nullptr) {
        packed = ck::packed(static_cast<CkMessage *>(*message));
        image = ck::PackedMessage(*ck::MessageHeader::of(packed));
    }
    p.bytes(&image, sizeof image);
    if (p.isUnpacking() && image.type != 0)
        packed = image.allocate();
    *message = nullptr;
    if (packed == nullptr)
        return;
    ck::MessageHeader *header = ck::MessageHeader::of(packed);
    p.bytes(header->priority(), header->priority_words() * sizeof(std::uint32_t));
    p.bytes(packed, image.bytes);
    *message = ck::unpacked(packed);
}

inline void CkSetRefNum(void *message, int reference) {
    ck::MessageHeader::of(message)->owner.reference = static_cast<std::uint32_t>(reference);
}
inline int CkGetRefNum(const void *message) {
    return static_cast<int>(ck::MessageHeader::of(message)->owner.reference);
}
// The priority of a message, which is used then: as many bits as the message was made with, or an
// integer.
inline void *CkPriorityPtr(void *message) {
    ck::MessageHeader *header = ck::MessageHeader::of(message);
    header->owner.flags |= TOWPATH_PRIORITY;
    return header->priority();
}

enum { CK_QUEUEING_FIFO, CK_QUEUEING_LIFO, CK_QUEUEING_IFIFO, CK_QUEUEING_ILIFO,
       CK_QUEUEING_BFIFO, CK_QUEUEING_BLIFO };
// A priority of 32 bits or less is an integer, unless this says that it is a string of bits.
inline void CkSetQueueing(void *message, int queueing) {
    ck::MessageHeader *header = ck::MessageHeader::of(message);
    header->owner.flags |= TOWPATH_PRIORITY;
    header->has_bits |= queueing == CK_QUEUEING_BFIFO || queueing == CK_QUEUEING_BLIFO;
}

// How a message is sent.
class CkEntryOptions {
public:
    CkEntryOptions &setPriority(int value) {
        flags |= TOWPATH_PRIORITY;
        priority = value;
        return *this;
    }
    CkEntryOptions &setQueueing(int) { return *this; }
    std::uint32_t flags = 0;
    std::int32_t priority = 0;
};

// What the main chare gets.
class CkArgMsg : public CkMessage {
public:
    static void *operator new(std::size_t bytes) { return ck::allocate_message(bytes); }
    int argc = 0;
    char **argv = nullptr;
};

// What a method may expect that is invoked at quiescence.
class CkQdMsg : public ck::MessageOf<CkQdMsg> {
public:
    static void *pack(CkQdMsg *message) { return message; }
    static CkQdMsg *unpack(void *object) { return static_cast<CkQdMsg *>(object); }
};

// Given to the constructor of an element that has migrated.
class CkMigrateMessage : public CkMessage {};

#endif
