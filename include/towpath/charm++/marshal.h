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
template <class T> inline Array<const T> copied(const T *elements, std::size_t count) {
    return {elements, checked_length<T>(count)};
}
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

// An array that a method is given. What is lent to it is not written to: a method that declares a
// pointer to what it may change gets a copy, which lasts as long as this.
template <class T> class Received {
public:
    Received(const T *elements, std::uint64_t count, bool is_lent)
        : count(count), elements(elements), is_lent(is_lent) {}
    Received(const Received &) = delete;
    ~Received() {
        if (copy.payload != nullptr)
            towpath_message_free(&copy);
    }
    operator const T *() const { return elements; }
    operator T *() const {
        if (!is_lent)
            return const_cast<T *>(elements);
        if (copy.payload == nullptr) {
            // Messages have memory that is used again while it is warm.
            towpath_message_new(count * sizeof(T), &copy);
            std::memcpy(copy.payload, elements, count * sizeof(T));
        }
        return static_cast<T *>(copy.payload);
    }
    const std::uint64_t count;

private:
    const T *elements;
    bool is_lent;
    mutable towpath_message copy = {};
};

// Where an array is in a message that `gathered` has made. Its last bytes describe the first.
struct GatheredArray {
    std::uint64_t at;
    std::uint64_t bytes;
};

// The message as the program's own, with its arrays behind its payload: it can be kept and packed.
inline towpath_message gathered(towpath_message *received) {
    if (received->array_count == 0) {
        towpath_message_keep(received);
        return *received;
    }
    auto rounded = [](std::size_t bytes) { return (bytes + 15) & ~std::size_t{15}; };
    std::vector<const void *> from(received->array_count);
    std::vector<GatheredArray> arrays(received->array_count);
    std::size_t size = rounded(received->bytes);
    for (std::uint32_t i = 0; i < from.size(); ++i) {
        std::size_t bytes = 0;
        from[i] = towpath_message_array(received, i, &bytes);
        arrays[from.size() - 1 - i] = {size, bytes};
        size += rounded(bytes);
    }
    std::size_t described = arrays.size() * sizeof(GatheredArray);
    towpath_message message;
    towpath_message_new(size + described, &message);
    message.flags = received->flags;
    message.reference = received->reference;
    auto *into = static_cast<char *>(message.payload);
    std::memcpy(into, received->payload, received->bytes);
    for (std::size_t i = 0; i < from.size(); ++i) {
        const GatheredArray &array = arrays[from.size() - 1 - i];
        if (array.bytes != 0)
            std::memcpy(into + array.at, from[i], array.bytes);
    }
    std::memcpy(into + size, arrays.data(), described);
    return message;
}

// Reads the parameters of a message in the order in which they were marshalled.
class Unmarshaller {
public:
    explicit Unmarshaller(const towpath_message &message)
        : message(message), payload(static_cast<char *>(message.payload)),
          p(message.payload, message.bytes) {}

    template <class T> T value() {
        T value = PUP::detail::fresh<T>();
        p | value;
        return value;
    }
    // An array where it is, which is only read if it is lent.
    template <class T> Array<T> array() {
        ArrayHeader header;
        p | header;
        p.align(ARRAY_ALIGNMENT);
        is_lent = header.place == ArrayPlace::Beside && message.array_count != 0;
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
    // The last array as a method is given it.
    template <class T> Received<T> given(const Array<T> &last) const {
        return {last.elements, last.count, is_lent};
    }
    template <class T> Received<T> received() { return given(array<T>()); }

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

    const towpath_message &message;
    char *payload;
    PUP::fromMem p;
    // Of the last array.
    bool is_lent = false;
};

// Reads the result of a reduction into the parameters of a reduction target.
class ResultReader : public Unmarshaller {
public:
    using Unmarshaller::Unmarshaller;
    // The whole result as an array.
    template <class T> Array<T> array() {
        return {reinterpret_cast<T *>(payload), p.left() / sizeof(T), 0};
    }
    template <class T> Received<T> received() {
        Array<T> all = array<T>();
        return {all.elements, all.count, false};
    }
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
