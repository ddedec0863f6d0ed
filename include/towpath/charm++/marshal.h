// Parameters of entry methods in messages: values by their pup functions, and arrays in place.
#ifndef TOWPATH_CHARM_MARSHAL_H
#define TOWPATH_CHARM_MARSHAL_H

#include <cstdint>
#include <type_traits>

#include "pup.h"
#include "runtime.h"

namespace ck {

constexpr std::size_t ARRAY_ALIGNMENT = 16;

// A value to send.
template <class T> struct Value {
    const T &value;
    void put(PUP::er &p) const { p | const_cast<T &>(value); }
};
template <class T> inline Value<T> value(const T &value) { return {value}; }

// An array to send. With an address, its elements stay where they are: it is for this process.
template <class T> struct Array {
    static_assert(std::is_trivially_copyable_v<T> || !PUP::detail::has_pup<T>::value,
                  "An array parameter consists of plain data: send a std::vector of others.");
    T *elements;
    std::uint64_t count;
    std::uint64_t address = 0;

    void put(PUP::er &p) const {
        std::uint64_t header[2] = {count, address};
        p(header, 2);
        p.align(ARRAY_ALIGNMENT);
        if (address == 0 && count != 0)
            p.bytes(const_cast<std::remove_const_t<T> *>(elements), count * sizeof(T));
    }
};
template <class T> inline Array<const T> copied(const T *elements, std::size_t count) {
    return {elements, count};
}
template <class T> inline Array<const T> placed(const T *elements, std::size_t count) {
    return {elements, count, reinterpret_cast<std::uintptr_t>(elements)};
}

// A message with these parameters.
template <class... Items> inline towpath_message marshal(const Items &...items) {
    PUP::sizer size;
    (items.put(size), ...);
    towpath_message message;
    towpath_message_new(size.size(), &message);
    PUP::toMem out(message.payload, message.bytes);
    (items.put(out), ...);
    return message;
}

// Reads the parameters of a message in the order in which they were marshalled.
class Unmarshaller {
public:
    explicit Unmarshaller(const towpath_message &message)
        : payload(static_cast<char *>(message.payload)), p(message.payload, message.bytes) {}

    template <class T> T value() {
        T value = PUP::detail::fresh<T>();
        p | value;
        return value;
    }
    template <class T> Array<T> array() {
        std::uint64_t header[2];
        p(header, 2);
        p.align(ARRAY_ALIGNMENT);
        if (header[1] != 0)
            return {reinterpret_cast<T *>(header[1]), header[0], header[1]};
        if (header[0] > p.left() / sizeof(T))
            throw std::length_error("an array parameter is longer than its message");
        T *elements = reinterpret_cast<T *>(payload + p.size());
        p.pass(header[0] * sizeof(T));
        return {elements, header[0], 0};
    }

protected:
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
