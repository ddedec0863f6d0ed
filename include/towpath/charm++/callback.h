// Callbacks, and the messages that carry results to them.
#ifndef TOWPATH_CHARM_CALLBACK_H
#define TOWPATH_CHARM_CALLBACK_H

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include "index.h"
#include "messages.h"
#include "proxies.h"

// A result: of a reduction, or what a callback was sent with.
class CkDataMsg : public CkMessage {
public:
    CkDataMsg(const void *from, std::size_t bytes)
        : own(static_cast<const char *>(from), static_cast<const char *>(from) + bytes),
          data(own.data()), length(bytes) {}
    // The message was kept.
    explicit CkDataMsg(const towpath_message &message)
        : kept(message), data(static_cast<char *>(message.payload)), length(message.bytes) {
        CkSetRefNum(this, static_cast<int>(message.reference));
    }
    CkDataMsg(const CkDataMsg &) = delete;
    virtual ~CkDataMsg() {
        if (kept.payload != nullptr)
            towpath_message_free(&kept);
    }
    // Programs have it as a message whose class they do not know too.
    static void *operator new(std::size_t bytes);
    static void operator delete(void *object) { ck::free_message(object); }
    static void *pack(CkDataMsg *message) {
        void *packed = ck::allocate_like(message, message->length);
        if (message->length != 0)
            std::memcpy(packed, message->data, message->length);
        delete message;
        return packed;
    }
    static CkDataMsg *unpack(void *packed) { return new CkDataMsg(arrived(packed)); }
    static CkDataMsg *buildNew(int size, const void *data) {
        return new CkDataMsg(data, static_cast<std::size_t>(size));
    }
    void *getData() { return data; }
    const void *getData() const { return data; }
    int getSize() const { return static_cast<int>(length); }
    int getLength() const { return getSize(); }

protected:
    // What is packed, as it arrives when it is sent.
    static towpath_message arrived(void *packed) {
        const ck::MessageHeader *header = ck::MessageHeader::of(packed);
        towpath_message message;
        towpath_message_new(header->bytes, &message);
        if (message.bytes != 0)
            std::memcpy(message.payload, packed, message.bytes);
        message.reference = header->owner.reference;
        ck::free_message(packed);
        return message;
    }

private:
    std::vector<char> own;
    towpath_message kept = {};

public:
    char *data;

private:
    std::size_t length;
};

namespace ck {

// Functions of this rank that are told of results.
class Functions {
public:
    using Function = std::function<void(const void *, std::size_t)>;

    static Functions &all() {
        static Functions functions;
        return functions;
    }
    // For one result.
    std::uint64_t add_once(Function function) {
        once.emplace(++last, std::move(function));
        return last;
    }
    // For any number. The same function and parameter have one number.
    std::uint64_t add(void (*function)(void *, void *), void *parameter) {
        auto [known, is_new] = numbers.emplace(std::make_pair(function, parameter), last + 1);
        if (is_new)
            ever.emplace(++last, known->first);
        return known->second;
    }
    void call(std::uint64_t number, const void *value, std::size_t bytes);

private:
    using Plain = std::pair<void (*)(void *, void *), void *>;
    std::uint64_t last = 0;
    std::unordered_map<std::uint64_t, Function> once;
    std::unordered_map<std::uint64_t, Plain> ever;
    std::map<Plain, std::uint64_t> numbers;
};

} // namespace ck

namespace ck {

// Of the number of a function: it gets a message of the program.
constexpr std::uint64_t WITH_MESSAGE = std::uint64_t{1} << 63;

// A message, which is freed, as bytes.
inline std::vector<char> message_bytes(void *message) {
    PUP::sizer size;
    CkPupMessage(size, &message);
    std::vector<char> bytes(size.size());
    PUP::toMem into(bytes.data(), bytes.size());
    CkPupMessage(into, &message);
    CkFreeMsg(message);
    return bytes;
}

// The message again.
inline void *message_of_bytes(const void *bytes, std::size_t size) {
    void *message = nullptr;
    PUP::fromMem from(bytes, size);
    CkPupMessage(from, &message);
    return message;
}

} // namespace ck

class CProxySection;
typedef void (*CkCallbackFn)(void *param, void *message);
typedef void (*Callback1Fn)(void *message);

// What happens with a result.
class CkCallback {
public:
    enum callbackType { invalid, ignore, ckExit, resumeThread, other };

    CkCallback() = default;
    explicit CkCallback(callbackType type);
    CkCallback(CkCallbackFn function, void *parameter) {
        c.kind = TOWPATH_CALL_FUNCTION;
        c.rank = towpath_rank();
        c.function = ck::Functions::all().add(function, parameter);
    }
    explicit CkCallback(Callback1Fn function)
        : CkCallback([](void *real, void *message) {
              reinterpret_cast<Callback1Fn>(real)(message);
          }, reinterpret_cast<void *>(function)) {}
    CkCallback(int entry, const CkChareID &chare) { to(entry, chare.id); }
    CkCallback(int entry, const CProxy_Chare &chare) { to(entry, chare.ckGetChareID().id); }
    CkCallback(int entry, const CProxy_Group &group) { to_all(entry, group.ckGetGroupID().id); }
    CkCallback(int entry, CkGroupID group) { to_all(entry, group.id); }
    CkCallback(int entry, const CProxyElement_Group &branch) { to(entry, branch.ck_target()); }
    CkCallback(int entry, int rank, CkGroupID group) { to(entry, ck::branch(group.id, rank)); }
    CkCallback(int entry, int rank, const CProxy_Group &group)
        : CkCallback(entry, rank, group.ckGetGroupID()) {}
    CkCallback(int entry, const CProxy_ArrayBase &array) { to_all(entry, array.ckGetArrayID().id); }
    CkCallback(int entry, CkArrayID array) { to_all(entry, array.id); }
    CkCallback(int entry, const CProxyElement_ArrayBase &element) {
        to(entry, element.ck_target());
    }
    CkCallback(int entry, const CProxySection &section);
    CkCallback(int entry, const CkArrayIndex &index, CkArrayID array) {
        to(entry, {array.id, index.to_c()});
    }
    CkCallback(int entry, const CkArrayIndex &index, const CProxy_ArrayBase &array)
        : CkCallback(entry, index, array.ckGetArrayID()) {}
    // The published form: the function of CkIndex_X instead of what it returns, and a pointer.
    template <class... Parameters, class... Target>
    CkCallback(int (*entry)(Parameters...), const Target &...target)
        : CkCallback(entry(PUP::detail::fresh<std::decay_t<Parameters>>()...), target...) {}
    CkCallback(const CkCallback *callback) : c(callback->c), ignores(callback->ignores) {}

    bool isInvalid() const { return c.kind == TOWPATH_CALL_NOBODY && !ignores; }
    CkCallback &setRefNum(int reference) {
        c.reference = static_cast<std::uint32_t>(reference);
        return *this;
    }
    CkCallback &setRefnum(int reference) { return setRefNum(reference); }

    // With nothing.
    void send() const { send(0, nullptr); }
    // With bytes.
    void send(int size, const void *data) const {
        ck::check(towpath_call_back(&c, data, static_cast<std::size_t>(size)));
    }
    // With a result, which is freed.
    void send(CkDataMsg *message) const {
        if (message == nullptr)
            return send();
        CkCallback with = *this;
        if (int reference = CkGetRefNum(message))
            with.setRefNum(reference);
        with.send(message->getSize(), message->getData());
        delete message;
    }
    // With a message of the program, or one of any class.
    template <class M, class = std::enable_if_t<!std::is_base_of_v<CkDataMsg, M>>>
    void send(M *message) const {
        if constexpr (std::is_same_v<M, CkMessage>)
            if (ck::is_result(message))
                return send(static_cast<CkDataMsg *>(message));
        if (c.kind != TOWPATH_CALL_FUNCTION)
            return send_message(ck::take_message(ck::packed(message)));
        if (c.reference != 0)
            CkSetRefNum(message, static_cast<int>(c.reference));
        std::vector<char> bytes = ck::message_bytes(message);
        towpath_callback with = c;
        with.function |= ck::WITH_MESSAGE;
        ck::check(towpath_call_back(&with, bytes.data(), bytes.size()));
    }

    // With CkCallback::resumeThread: waits until it is sent.
    CkDataMsg *thread_delay() const;

    void pup(PUP::er &p) {
        p.bytes(&c, sizeof c);
        p | ignores;
    }

    towpath_callback c = {};

private:
    void to(int entry, const towpath_chare_id &id) {
        c.kind = TOWPATH_CALL_CHARE;
        c.entry = static_cast<std::uint32_t>(entry);
        c.collection = id.collection;
        c.index = id.index;
    }
    void to_all(int entry, std::uint64_t collection) {
        c.kind = TOWPATH_CALL_ALL;
        c.entry = static_cast<std::uint32_t>(entry);
        c.collection = collection;
    }
    void send_message(towpath_message message) const {
        message.entry = c.entry;
        if (c.reference != 0)
            message.reference = c.reference;
        towpath_chare_id id = {c.collection, c.index};
        towpath_section section = {c.collection, c.rank, static_cast<std::uint32_t>(c.function)};
        switch (c.kind) {
        case TOWPATH_CALL_CHARE:
            return ck::check(towpath_invoke(&id, &message));
        case TOWPATH_CALL_ALL:
            return ck::check(towpath_broadcast(c.collection, &message));
        case TOWPATH_CALL_SECTION:
            return ck::check(towpath_multicast(&section, &message));
        default:
            towpath_message_free(&message);
            send();
        }
    }

    bool ignores = false;
};

typedef CkCallback Callback;

#endif
