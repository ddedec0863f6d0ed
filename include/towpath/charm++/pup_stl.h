// What PUP::er does with types of the standard library.
#ifndef TOWPATH_CHARM_PUP_STL_H
#define TOWPATH_CHARM_PUP_STL_H

#include <array>
#include <complex>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pup.h"

namespace PUP {
namespace detail {

// The number of elements, which are at least a byte each.
template <class Container> inline std::size_t pup_count(er &p, const Container &container) {
    std::uint64_t count = container.size();
    p | count;
    if (p.isUnpacking() && count > static_cast<fromMem &>(p).left())
        throw std::length_error("A packed container is longer than the bytes that follow.");
    return count;
}

template <class Container> inline void pup_sequence(er &p, Container &container) {
    std::size_t count = pup_count(p, container);
    if (p.isUnpacking()) {
        container.clear();
        for (std::size_t i = 0; i < count; ++i) {
            container.push_back(fresh<typename Container::value_type>());
            p | container.back();
        }
    } else {
        for (auto &element : container)
            p | element;
    }
}

template <class Element, class Container> inline void pup_set(er &p, Container &container) {
    std::size_t count = pup_count(p, container);
    if (p.isUnpacking()) {
        container.clear();
        for (std::size_t i = 0; i < count; ++i) {
            Element element = fresh<Element>();
            p | element;
            container.insert(std::move(element));
        }
    } else {
        for (auto &element : container)
            p | const_cast<Element &>(element);
    }
}

template <class Map> inline void pup_map(er &p, Map &map) {
    using Key = typename Map::key_type;
    using Value = typename Map::mapped_type;
    std::size_t count = pup_count(p, map);
    if (p.isUnpacking()) {
        map.clear();
        for (std::size_t i = 0; i < count; ++i) {
            Key key = fresh<Key>();
            Value value = fresh<Value>();
            p | key;
            p | value;
            map.emplace(std::move(key), std::move(value));
        }
    } else {
        for (auto &entry : map) {
            p | const_cast<Key &>(entry.first);
            p | entry.second;
        }
    }
}

} // namespace detail

template <class T, class A> inline void operator|(PUP::er &p, std::vector<T, A> &vector) {
    if constexpr (std::is_same_v<T, bool>) {
        std::size_t count = PUP::detail::pup_count(p, vector);
        vector.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            bool bit = vector[i];
            p | bit;
            vector[i] = bit;
        }
    } else if constexpr (PUP::detail::is_bytes<T>() && std::is_default_constructible_v<T>) {
        std::size_t count = PUP::detail::pup_count(p, vector);
        if (p.isUnpacking())
            vector.resize(count);
        p(vector.data(), count);
    } else {
        PUP::detail::pup_sequence(p, vector);
    }
}
template <class T, class A> inline void operator|(PUP::er &p, std::list<T, A> &list) {
    PUP::detail::pup_sequence(p, list);
}
template <class T, class A> inline void operator|(PUP::er &p, std::deque<T, A> &deque) {
    PUP::detail::pup_sequence(p, deque);
}
template <class T, class C, class A>
inline void operator|(PUP::er &p, std::basic_string<T, C, A> &string) {
    std::size_t count = PUP::detail::pup_count(p, string);
    if (p.isUnpacking())
        string.resize(count);
    p(string.data(), count);
}
template <class T, class C, class A> inline void operator|(PUP::er &p, std::set<T, C, A> &set) {
    PUP::detail::pup_set<T>(p, set);
}
template <class T, class C, class A>
inline void operator|(PUP::er &p, std::multiset<T, C, A> &set) {
    PUP::detail::pup_set<T>(p, set);
}
template <class T, class H, class E, class A>
inline void operator|(PUP::er &p, std::unordered_set<T, H, E, A> &set) {
    PUP::detail::pup_set<T>(p, set);
}
template <class K, class T, class C, class A>
inline void operator|(PUP::er &p, std::map<K, T, C, A> &map) {
    PUP::detail::pup_map(p, map);
}
template <class K, class T, class C, class A>
inline void operator|(PUP::er &p, std::multimap<K, T, C, A> &map) {
    PUP::detail::pup_map(p, map);
}
template <class K, class T, class H, class E, class A>
inline void operator|(PUP::er &p, std::unordered_map<K, T, H, E, A> &map) {
    PUP::detail::pup_map(p, map);
}
template <class A, class B> inline void operator|(PUP::er &p, std::pair<A, B> &pair) {
    p | pair.first;
    p | pair.second;
}
template <class... T> inline void operator|(PUP::er &p, std::tuple<T...> &tuple) {
    std::apply([&p](auto &...element) { ((p | element), ...); }, tuple);
}
template <class T, std::size_t N> inline void operator|(PUP::er &p, std::array<T, N> &array) {
    p(array.data(), N);
}
template <class T> inline void operator|(PUP::er &p, std::complex<T> &value) {
    p.bytes(&value, sizeof value);
}
template <class T> inline void operator|(PUP::er &p, std::optional<T> &value) {
    bool present = value.has_value();
    p | present;
    if (p.isUnpacking())
        value = present ? std::optional<T>(PUP::detail::fresh<T>()) : std::nullopt;
    if (present)
        p | *value;
}

namespace detail {
template <class Pointer> inline void pup_pointer(er &p, Pointer &pointer) {
    using T = typename Pointer::element_type;
    if constexpr (std::is_base_of_v<able, T>) {
        T *object = pointer.get();
        pup_able(p, object);
        if (p.isUnpacking())
            pointer.reset(object);
    } else {
        bool present = pointer != nullptr;
        p | present;
        if (p.isUnpacking())
            pointer.reset(present ? new T(fresh<T>()) : nullptr);
        if (present)
            p | *pointer;
    }
}
} // namespace detail

template <class T> inline void operator|(PUP::er &p, std::unique_ptr<T> &pointer) {
    PUP::detail::pup_pointer(p, pointer);
}
template <class T> inline void operator|(PUP::er &p, std::shared_ptr<T> &pointer) {
    PUP::detail::pup_pointer(p, pointer);
}

} // namespace PUP

#endif
