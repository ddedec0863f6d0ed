// Parameters of entry methods in messages: values by their pup functions, and arrays in place.
#ifndef TOWPATH_CHARM_MARSHAL_H
#define TOWPATH_CHARM_MARSHAL_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pup.h"
#include "runtime.h"

namespace ck {

constexpr std::size_t ARRAY_ALIGNMENT = 16;
// In bytes; no machine has more.
constexpr std::size_t LONGEST_ARRAY = std::size_t{1} << 46;

// Where the elements of an array parameter are.
enum class ArrayPlace : std::uint64_t {
    Behind, // what describes it
    Beside, // the payload: an array of the message of this number
    Named   // in memory of this process, at this address
};

// What describes an array parameter in a message.
struct ArrayHeader {
    std::uint64_t count;
    ArrayPlace place;
    // Of arrays beside the payload: which one. Of others: the rank of the process.
    std::uint64_t number;
    std::uint64_t address;
};

// A value to send.
template <class T> struct Value {
    const T &value;
    void attach(towpath_message &) const {}
    void put(PUP::er &p) const { p | const_cast<T &>(value); }
    void sent() const {}
};
template <class T> inline Value<T> value(const T &value) { return {value}; }

// An array to send. With an address, its elements stay where they are: it is for this process.
template <class T> struct Array {
    static_assert(std::is_trivially_copyable_v<T> ||
                      PUP::as_bytes<std::remove_const_t<T>>::value,
                  "An array parameter consists of plain data: send a std::vector of others.");
    T *elements;
    std::uint64_t count;
    std::uint64_t address = 0;
    // Of one beside a payload, which may not have been received: its number in the message.
    int number = -1;

    void attach(towpath_message &) const {}
    void put(PUP::er &p) const {
        ArrayHeader header = {count, address == 0 ? ArrayPlace::Behind : ArrayPlace::Named,
                              towpath_rank(), address};
        p | header;
        p.align(ARRAY_ALIGNMENT);
        if (address == 0 && count != 0)
            p.bytes(const_cast<std::remove_const_t<T> *>(elements), count * sizeof(T));
    }
    void sent() const {}
};
// A length that an array can have: the program has said how many elements it sends.
template <class T> inline std::size_t checked_length(std::size_t count) {
    if (count > LONGEST_ARRAY / sizeof(T))
        fail("an array parameter is sent with a length of " +
             std::to_string(static_cast<std::ptrdiff_t>(count)) + " elements");
    return count;
}
// In the payload, however long.
template <class T> inline Array<const T> inside(const T *elements, std::size_t count) {
    return {elements, checked_length<T>(count)};
}

// An array to send, of which the message has a copy: in the payload, or beside it.
template <class T> class Copied {
public:
    Copied(const T *elements, std::size_t count)
        : content(inside(elements, count)),
          is_beside(bytes() >= TOWPATH_SHORTEST_ARRAY && bytes() >= towpath_shortest_array()) {}
    void attach(towpath_message &message) const {
        if (is_beside)
            number = checked(towpath_message_add_copy(&message, content.elements, bytes()));
    }
    void put(PUP::er &p) const {
        if (!is_beside)
            return content.put(p);
        ArrayHeader header = {content.count, ArrayPlace::Beside,
                              static_cast<std::uint64_t>(number), 0};
        p | header;
        p.align(ARRAY_ALIGNMENT);
    }
    void sent() const {}

protected:
    static int checked(int number) {
        check(number < 0 ? -1 : 0);
        return number;
    }
    std::size_t bytes() const { return content.count * sizeof(T); }

    Array<const T> content;
    bool is_beside;
    // Of one beside the payload: its number in the message.
    mutable int number = 0;
};
template <class T> inline Copied<T> copied(const T *elements, std::size_t count) {
    return {elements, count};
}

// An array of this process, which is not sent.
template <class T> inline Array<const T> placed(const T *elements, std::size_t count) {
    return {elements, checked_length<T>(count), reinterpret_cast<std::uintptr_t>(elements)};
}

// A message with these parameters.
template <class... Items> inline towpath_message marshal(const Items &...items) {
    PUP::sizer size;
    (items.put(size), ...);
    towpath_message message;
    towpath_message_new(size.size(), &message);
    (items.attach(message), ...);
    PUP::toMem out(message.payload, message.bytes);
    (items.put(out), ...);
    (items.sent(), ...);
    return message;
}

// An array of a message, to be written to; null if others read it too.
inline void *own_array(towpath_message &message, int number) {
    std::size_t bytes = 0;
    return towpath_message_own_array(&message, static_cast<std::uint32_t>(number), &bytes);
}

// An array that a method is given. A method that declares a pointer to what it may change gets the
// array itself if nobody else reads it, or a copy, which lasts as long as this.
template <class T> class Received {
public:
    // Without the message, what is beside it is not written to.
    Received(const Array<T> &array, towpath_message *message)
        : count(array.count), array(array), message(message) {}
    Received(const Received &) = delete;
    ~Received() {
        if (copy.payload != nullptr)
            towpath_message_free(&copy);
    }
    template <class U,
              class = std::enable_if_t<std::is_pointer_v<U> && std::is_convertible_v<T *, U>>>
    operator U() const {
        if constexpr (std::is_convertible_v<const T *, U>)
            return static_cast<const T *>(array.elements);
        else
            return writable();
    }
    // What the method may write to.
    T *&writable() const {
        if (pointer == nullptr)
            pointer = own_elements();
        if (pointer == nullptr)
            pointer = copied_elements();
        return pointer;
    }
    const std::uint64_t count;

private:
    // The elements where the method may write to them; null if others read them too.
    T *own_elements() const {
        if (array.number >= 0)
            return message == nullptr
                       ? nullptr
                       : static_cast<T *>(own_array(*message, array.number));
        bool is_shared = array.address == 0 && message != nullptr &&
                         (message->flags & TOWPATH_SHARED) != 0;
        return is_shared ? nullptr : array.elements;
    }
    T *copied_elements() const {
        // Messages have memory that is used again while it is warm.
        towpath_message_new(count * sizeof(T), &copy);
        if (count != 0)
            std::memcpy(copy.payload, array.elements, count * sizeof(T));
        return static_cast<T *>(copy.payload);
    }

    Array<T> array;
    towpath_message *message;
    mutable towpath_message copy = {};
    mutable T *pointer = nullptr;
};

// A value as it is, but of an array a pointer to what may be written to.
template <class V> inline V &&as_pointer(V &&value) { return std::forward<V>(value); }
template <class T> inline T *&as_pointer(Received<T> &array) { return array.writable(); }

// Calls a method. Arrays become what it declares; if it is overloaded or takes anything, pointers.
template <class Method, class... Values>
inline decltype(auto) apply(Method &&method, Values &&...values) {
    if constexpr (std::is_invocable_v<Method, Values...>)
        return method(std::forward<Values>(values)...);
    else
        return method(as_pointer(std::forward<Values>(values))...);
}

// Where an array is in a message that `gathered` has made. Its last bytes describe the first.
struct GatheredArray {
    std::uint64_t at;
    std::uint64_t bytes;
};

inline std::size_t aligned(std::size_t bytes) {
    return (bytes + ARRAY_ALIGNMENT - 1) / ARRAY_ALIGNMENT * ARRAY_ALIGNMENT;
}

// The payload of what `gathered` makes.
inline std::size_t gathered_bytes(const towpath_message &message) {
    if (message.array_count == 0)
        return message.bytes;
    std::size_t size = aligned(message.bytes);
    for (std::uint32_t i = 0; i < message.array_count; ++i) {
        std::size_t bytes = 0;
        towpath_message_array(&message, i, &bytes);
        size += aligned(bytes) + sizeof(GatheredArray);
    }
    return size;
}

// A copy of a message, which has its arrays behind its payload.
inline towpath_message gathered(const towpath_message &from) {
    towpath_message message;
    towpath_message_new(gathered_bytes(from), &message);
    message.flags = from.flags;
    message.priority = from.priority;
    message.reference = from.reference;
    auto *into = static_cast<char *>(message.payload);
    std::memcpy(into, from.payload, from.bytes);
    std::size_t at = aligned(from.bytes);
    for (std::uint32_t i = 0; i < from.array_count; ++i) {
        std::size_t bytes = 0;
        const void *elements = towpath_message_array(&from, i, &bytes);
        if (bytes != 0)
            std::memcpy(into + at, elements, bytes);
        const GatheredArray array = {at, bytes};
        std::memcpy(into + message.bytes - (i + 1) * sizeof array, &array, sizeof array);
        at += aligned(bytes);
    }
    return message;
}

// The message of the running method as the program's own, which may write to its arrays.
inline towpath_message kept(towpath_message *received) {
    towpath_message_keep(received);
    towpath_message message = *received;
    for (std::uint32_t i = 0; i < message.array_count; ++i) {
        std::size_t bytes = 0;
        towpath_message_array(&message, i, &bytes);
        if (bytes != 0 && own_array(message, static_cast<int>(i)) == nullptr) {
            // Other chares have it too.
            towpath_message own = gathered(message);
            towpath_message_free(&message);
            return own;
        }
    }
    return message;
}

// Reads the parameters of a message in the order in which they were marshalled.
class Unmarshaller {
public:
    explicit Unmarshaller(towpath_message &message)
        : message(message), payload(static_cast<char *>(message.payload)),
          p(message.payload, message.bytes) {}

    template <class T> T value() {
        T value = PUP::detail::fresh<T>();
        p | value;
        return value;
    }
    // An array where it is, which is only read if it is beside the payload.
    template <class T> Array<T> array() {
        ArrayHeader header;
        p | header;
        p.align(ARRAY_ALIGNMENT);
        switch (header.place) {
        case ArrayPlace::Behind: {
            if (header.count > p.left() / sizeof(T))
                throw std::length_error("an array parameter is longer than its message");
            T *elements = reinterpret_cast<T *>(payload + p.size());
            p.pass(header.count * sizeof(T));
            return {elements, header.count, 0};
        }
        case ArrayPlace::Beside:
            return {static_cast<T *>(beside_payload(header.number, header.count * sizeof(T))),
                    header.count, 0,
                    message.array_count != 0 ? static_cast<int>(header.number) : -1};
        case ArrayPlace::Named:
            if (header.number != towpath_rank())
                fail("a chare has migrated before the method ran for which it had posted memory");
            return {reinterpret_cast<T *>(header.address), header.count, header.address};
        }
        throw std::length_error("an array parameter is nowhere");
    }
    // An array as a method is given it.
    template <class T> Received<T> received() { return {array<T>(), &message}; }
    template <class T> Received<T> given(const Array<T> &array) { return {array, &message}; }
    // An array as a post method is given it, before the method itself: its sender reads it too.
    template <class T> Received<T> shown(const Array<T> &array) const { return {array, nullptr}; }
    // An array of a message that was kept, which may be written to.
    template <class T> Array<T> own() {
        Array<T> found = array<T>();
        if (found.number >= 0)
            found.elements = static_cast<T *>(own_array(message, found.number));
        return found;
    }

protected:
    void *beside_payload(std::uint64_t number, std::size_t expected) const {
        GatheredArray array = {0, 0};
        const void *found = nullptr;
        if (message.array_count != 0) {
            std::size_t bytes = 0;
            found = towpath_message_array(&message, static_cast<std::uint32_t>(number), &bytes);
            array.bytes = bytes;
        } else if (number < message.bytes / sizeof array) {
            std::memcpy(&array, payload + message.bytes - (number + 1) * sizeof array,
                        sizeof array);
            found = payload + std::min<std::uint64_t>(array.at, message.bytes);
        }
        bool is_inside = message.array_count != 0 ||
                         (array.at <= message.bytes && array.bytes <= message.bytes - array.at);
        if (array.bytes != expected || !is_inside)
            throw std::length_error("an array beside a message has another length than it says");
        return const_cast<void *>(found);
    }

    towpath_message &message;
    char *payload;
    PUP::fromMem p;
};

// Reads the result of a reduction into the parameters of a reduction target.
class ResultReader : public Unmarshaller {
public:
    using Unmarshaller::Unmarshaller;
    // The whole result as an array.
    template <class T> Array<T> array() {
        return {reinterpret_cast<T *>(payload), p.left() / sizeof(T), 0};
    }
    template <class T> Array<T> own() { return array<T>(); }
    template <class T> Received<T> received() { return {array<T>(), &message}; }
    // A parameter beside the array, which is the array's length if it is an integer.
    template <class T> T beside(std::uint64_t count) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(count);
        else
            return PUP::detail::fresh<T>();
    }
};

} // namespace ck

#endif
