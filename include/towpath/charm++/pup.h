// PUP::er: one function of a class says what it consists of, and it is measured, packed and
// unpacked by that.
#ifndef TOWPATH_CHARM_PUP_H
#define TOWPATH_CHARM_PUP_H

#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace PUP {

// A class that has a constructor with this parameter is made by it before it is unpacked.
struct reconstruct {};

// Measures, packs or unpacks.
class er {
public:
    enum class Task { Sizing, Packing, Unpacking };
    // What a chare is packed for.
    enum class Purpose { Other, Migration, Checkpoint };

    er(const er &) = delete;
    er &operator=(const er &) = delete;
    virtual ~er() = default;

    bool isSizing() const { return task == Task::Sizing; }
    bool isPacking() const { return task == Task::Packing; }
    bool isUnpacking() const { return task == Task::Unpacking; }
    // Whether what is packed will be deleted: an object that leaves its rank.
    bool isDeleting() const { return isPacking() && isMigration(); }
    bool isUserlevel() const { return false; }
    bool isRestarting() const { return isUnpacking() && purpose == Purpose::Checkpoint; }
    // Also if a balancer asks how large the object is.
    bool isCheckpoint() const { return !isUnpacking() && purpose == Purpose::Checkpoint; }
    bool isMigration() const { return purpose == Purpose::Migration; }

    virtual void bytes(void *data, std::size_t size) = 0;

    template <class T> void operator()(T &value);
    template <class T> void operator()(T *array, std::size_t count);
    void operator()(void *data, std::size_t size) { bytes(data, size); }

    // How far it has come.
    std::size_t size() const { return position; }
    // Passes bytes until the position is a multiple of a power of two.
    void align(std::size_t alignment) { pass(-position & (alignment - 1)); }
    // Passes bytes without looking at them.
    virtual void pass(std::size_t size) = 0;

    Purpose purpose = Purpose::Other;

protected:
    explicit er(Task what) : task(what) {}
    std::size_t position = 0;

private:
    Task task;
};

class sizer : public er {
public:
    sizer() : er(Task::Sizing) {}
    void bytes(void *, std::size_t size) override { position += size; }
    void pass(std::size_t size) override { position += size; }
};

// Packs into memory that is as large as a sizer has said.
class toMem : public er {
public:
    explicit toMem(void *memory, std::size_t size = SIZE_MAX)
        : er(Task::Packing), into(static_cast<char *>(memory)), end(size) {}
    void bytes(void *data, std::size_t size) override {
        check(size);
        if (size != 0)
            std::memcpy(into + position, data, size);
        position += size;
    }
    void pass(std::size_t size) override {
        check(size);
        if (size != 0)
            std::memset(into + position, 0, size);
        position += size;
    }

private:
    void check(std::size_t size) const {
        if (size > end - position)
            throw std::length_error("A pup function packs more than it has measured.");
    }
    char *into;
    std::size_t end;
};

// Unpacks from memory.
class fromMem : public er {
public:
    explicit fromMem(const void *memory, std::size_t size = SIZE_MAX)
        : er(Task::Unpacking), from(static_cast<const char *>(memory)), end(size) {}
    void bytes(void *data, std::size_t size) override {
        check(size);
        if (size != 0)
            std::memcpy(data, from + position, size);
        position += size;
    }
    void pass(std::size_t size) override {
        check(size);
        position += size;
    }
    const char *here() const { return from + position; }
    // How many bytes are left.
    std::size_t left() const { return end - position; }

private:
    void check(std::size_t size) const {
        if (size > end - position)
            throw std::length_error("A pup function unpacks more than has been packed.");
    }
    const char *from;
    std::size_t end;
};

using memory_sizer = sizer;

// Specialised by PUPbytes: the type is packed as the bytes that it consists of.
template <class T> struct as_bytes : std::false_type {};

namespace detail {
template <class T, class = void> struct has_pup : std::false_type {};
template <class T>
struct has_pup<T, std::void_t<decltype(std::declval<T &>().pup(std::declval<er &>()))>>
    : std::true_type {};

template <class T> constexpr bool is_bytes() {
    return as_bytes<T>::value || std::is_arithmetic_v<T> || std::is_enum_v<T> ||
           (!has_pup<T>::value && std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
}
} // namespace detail

// What has a pup function is packed by it, and what is plain bytes as such. Other types have an
// operator of their own.
template <class T> inline void operator|(PUP::er &p, T &value) {
    if constexpr (PUP::as_bytes<T>::value || !PUP::detail::has_pup<T>::value) {
        static_assert(PUP::detail::is_bytes<T>(),
                      "This type has no 'void pup(PUP::er &p)' and no 'operator|': write one.");
        p.bytes(&value, sizeof(T));
    } else {
        value.pup(p);
    }
}

template <class T, std::size_t N> inline void operator|(PUP::er &p, T (&array)[N]) {
    p(array, N);
}

template <class T> inline void er::operator()(T &value) { *this | value; }

template <class T> inline void er::operator()(T *array, std::size_t count) {
    if constexpr (detail::is_bytes<T>()) {
        bytes(array, count * sizeof(T));
    } else {
        for (std::size_t i = 0; i < count; ++i)
            *this | array[i];
    }
}

template <class T> inline std::size_t size(T &value) {
    sizer p;
    p | value;
    return p.size();
}
template <class T> inline void toMemBuf(T &value, void *memory, std::size_t size) {
    toMem p(memory, size);
    p | value;
}
template <class T> inline void fromMemBuf(T &value, const void *memory, std::size_t size) {
    fromMem p(memory, size);
    p | value;
}

namespace detail {
// A value that is made in order to be unpacked.
template <class T> inline T fresh() {
    if constexpr (std::is_constructible_v<T, reconstruct>)
        return T(reconstruct());
    else
        return T();
}
} // namespace detail
} // namespace PUP

template <class T> inline void PUParray(PUP::er &p, T *array, std::size_t count) {
    p(array, count);
}

#define PUPbytes(type)                                                                             \
    namespace PUP {                                                                                \
    template <> struct as_bytes<type> : std::true_type {};                                         \
    }
#define PUPmarshallBytes(type) PUPbytes(type)
#define PUPmarshall(type)

#include "pup_able.h"
#include "pup_stl.h"

#endif
