// Reductions: what is contributed, how values are combined, and what comes out.
#ifndef TOWPATH_CHARM_REDUCTION_H
#define TOWPATH_CHARM_REDUCTION_H

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "callback.h"

class CkReductionMsg;

// Types for which there are sums, products, maxima and minima.
#define CK_REDUCED_TYPES(X)                                                                        \
    X(char, char) X(short, short) X(int, int) X(long, long) X(long_long, long long)                \
    X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned) X(ulong, unsigned long)    \
    X(ulong_long, unsigned long long) X(float, float) X(double, double)

// Operations on bits and on truth values: name, type, expression.
#define CK_LOGICAL_REDUCERS(X)                                                                     \
    X(logical_and, int, a && b) X(logical_or, int, a || b) X(logical_xor, int, !a != !b)           \
    X(logical_and_int, int, a && b) X(logical_or_int, int, a || b)                                 \
    X(logical_xor_int, int, !a != !b) X(logical_and_bool, bool, a && b)                            \
    X(logical_or_bool, bool, a || b) X(logical_xor_bool, bool, a != b)                             \
    X(bitvec_and, int, a & b) X(bitvec_or, int, a | b) X(bitvec_xor, int, a ^ b)                   \
    X(bitvec_and_int, int, a & b) X(bitvec_or_int, int, a | b) X(bitvec_xor_int, int, a ^ b)

class CkReduction {
public:
    enum reducerType {
        invalid,
        nop,
#define CK_ENUMERATORS(name, type) sum_##name, product_##name, max_##name, min_##name,
        CK_REDUCED_TYPES(CK_ENUMERATORS)
#undef CK_ENUMERATORS
#define CK_ENUMERATOR(name, type, expression) name,
        CK_LOGICAL_REDUCERS(CK_ENUMERATOR)
#undef CK_ENUMERATOR
        concat,
        set,
        random,
        statistics,
        tuple,
        first_of_program
    };

    typedef CkReductionMsg *(*reducerFn)(int count, CkReductionMsg **messages);

    // Called by initnode functions, in the same order on all ranks.
    static reducerType addReducer(reducerFn function, bool streamable = false,
                                  const char *name = nullptr);

    // A contribution to a reduction by 'statistics', and its result.
    struct statisticsElement {
        explicit statisticsElement(double value = 0) : mean(value) {}
        double variance() const { return count > 1 ? m2 / (count - 1.0) : 0; }
        double stddev() const { return std::sqrt(variance()); }
        int count = 1;
        double mean;
        // The sum of the squares of the distances from the mean.
        double m2 = 0;
    };

    // One value of a reduction by 'tuple'.
    struct tupleElement {
        tupleElement() = default;
        tupleElement(std::size_t size, void *data, reducerType reducer)
            : dataSize(size), data(static_cast<char *>(data)), reducer(reducer) {}
        std::size_t dataSize = 0;
        char *data = nullptr;
        reducerType reducer = invalid;
    };

    // A contribution to a reduction by 'set'.
    class setElement {
    public:
        int dataSize;
        int has_next;
        std::uint64_t last; // in the first one: where the last one is
        char data[1];

        static std::size_t bytes(std::size_t size) {
            return ck::rounded(offsetof(setElement, data) + size);
        }
        setElement *next() {
            if (!has_next)
                return nullptr;
            return reinterpret_cast<setElement *>(reinterpret_cast<char *>(this) +
                                                  bytes(static_cast<std::size_t>(dataSize)));
        }
    };
};

// The result of a reduction, or a contribution.
class CkReductionMsg : public CkDataMsg {
public:
    using CkDataMsg::CkDataMsg;
    static CkReductionMsg *buildNew(int size, const void *data,
                                    CkReduction::reducerType reducer = CkReduction::invalid) {
        auto *message = new CkReductionMsg(data, static_cast<std::size_t>(size));
        message->reducer = reducer;
        return message;
    }
    // A contribution of several values, each for a reducer of its own, and such a result, whose
    // values are in the message; the array is deleted by the caller.
    static CkReductionMsg *buildFromTuple(CkReduction::tupleElement *elements, int count);
    void toTuple(CkReduction::tupleElement **elements, int *count);
    static CkReductionMsg *unpack(void *packed) { return new CkReductionMsg(arrived(packed)); }
    void setCallback(const CkCallback &to) { callback = to; }

    CkReduction::reducerType reducer = CkReduction::invalid;
    CkCallback callback;
};

// A result whose class is not known is that of a reduction.
inline void *CkDataMsg::operator new(std::size_t bytes) {
    void *object = ck::allocate_message(bytes);
    ck::MessageHeader *header = ck::MessageHeader::of(object);
    header->type = ck::message_type<CkReductionMsg>;
    header->destroy = [](void *it) { delete static_cast<CkDataMsg *>(it); };
    return object;
}

namespace ck {

// What values are combined into: a value of the library, or one of several in a tuple.
class Combined {
public:
    explicit Combined(towpath_value *value) : of_library(value) {}
    explicit Combined(std::vector<char> value) : own(std::move(value)) {}
    char *data() {
        return of_library != nullptr ? static_cast<char *>(towpath_value_data(of_library))
                                     : own.data();
    }
    std::size_t size() const {
        return of_library != nullptr ? towpath_value_bytes(of_library) : own.size();
    }
    void resize(std::size_t bytes) {
        if (of_library != nullptr)
            towpath_value_resize(of_library, bytes);
        else
            own.resize(bytes);
    }

private:
    towpath_value *of_library = nullptr;
    std::vector<char> own;
};

using Combine = void (*)(Combined &into, const void *value, std::size_t bytes);

void combine_statistics(Combined &into, const void *value, std::size_t bytes);
void combine_tuples(Combined &into, const void *value, std::size_t bytes);

template <class T, class Operation>
inline void combine_each(Combined &into, const void *value, std::size_t bytes) {
    if (into.size() != bytes || bytes % sizeof(T) != 0)
        fail("contributions to a reduction have different sizes: " + std::to_string(into.size()) +
             " and " + std::to_string(bytes) + " bytes");
    char *to = into.data();
    const char *from = static_cast<const char *>(value);
    for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
        T a, b;
        std::memcpy(&a, to + at, sizeof a);
        std::memcpy(&b, from + at, sizeof b);
        a = static_cast<T>(Operation()(a, b));
        std::memcpy(to + at, &a, sizeof a);
    }
}

struct Larger {
    template <class T> T operator()(T a, T b) const { return std::max(a, b); }
};
struct Smaller {
    template <class T> T operator()(T a, T b) const { return std::min(a, b); }
};

inline void append(Combined &into, const void *value, std::size_t bytes) {
    std::size_t before = into.size();
    into.resize(before + bytes);
    if (bytes != 0)
        std::memcpy(into.data() + before, value, bytes);
}

inline void append_set(Combined &into, const void *value, std::size_t bytes) {
    using Element = CkReduction::setElement;
    std::size_t before = into.size();
    append(into, value, bytes);
    char *all = into.data();
    auto *first = reinterpret_cast<Element *>(all);
    auto *second = reinterpret_cast<Element *>(all + before);
    reinterpret_cast<Element *>(all + first->last)->has_next = 1;
    first->last = before + second->last;
}

// A reducer, and what it does.
struct Reducer {
    std::string name;
    Combine combine;
    CkReduction::reducerFn function;
    towpath_reducer c;

    static void combine_for(void *context, towpath_value *into, const void *value,
                            std::size_t bytes) {
        guarded([&] {
            Combined combined(into);
            static_cast<Reducer *>(context)->apply(combined, value, bytes);
        });
    }
    void apply(Combined &into, const void *value, std::size_t bytes) const {
        if (combine != nullptr)
            return combine(into, value, bytes);
        auto first = std::make_unique<CkReductionMsg>(into.data(), into.size());
        auto second = std::make_unique<CkReductionMsg>(value, bytes);
        CkReductionMsg *both[2] = {first.get(), second.get()};
        CkReductionMsg *result = function(2, both);
        into.resize(static_cast<std::size_t>(result->getSize()));
        if (result->getSize() != 0)
            std::memcpy(into.data(), result->getData(),
                        static_cast<std::size_t>(result->getSize()));
        if (result != first.get() && result != second.get())
            delete result;
    }
};

// All reducers of the program, in the order of CkReduction::reducerType.
inline std::deque<Reducer> &reducers() {
    static std::deque<Reducer> all = [] {
        auto nothing = [](Combined &, const void *, std::size_t) {};
        std::deque<Reducer> made;
        auto add = [&made](const char *name, Combine combine) {
            made.push_back({name, combine, nullptr, {}});
        };
        add("invalid", nothing);
        add("nop", nothing);
#define CK_ADD(name, type)                                                                         \
    add("sum_" #name, combine_each<type, std::plus<type>>);                                        \
    add("product_" #name, combine_each<type, std::multiplies<type>>);                              \
    add("max_" #name, combine_each<type, Larger>);                                                 \
    add("min_" #name, combine_each<type, Smaller>);
        CK_REDUCED_TYPES(CK_ADD)
#undef CK_ADD
#define CK_ADD(name, type, expression)                                                             \
    struct Of_##name {                                                                             \
        type operator()(type a, type b) const { return expression; }                               \
    };                                                                                             \
    add(#name, combine_each<type, Of_##name>);
        CK_LOGICAL_REDUCERS(CK_ADD)
#undef CK_ADD
        add("concat", append);
        add("set", append_set);
        add("random", nothing);
        add("statistics", combine_statistics);
        add("tuple", combine_tuples);
        return made;
    }();
    return all;
}

// Whether the library knows the reducers of the program.
inline bool &are_reducers_registered() {
    static bool are = false;
    return are;
}

inline void register_reducers() {
    are_reducers_registered() = true;
    for (Reducer &reducer : reducers()) {
        // Only the library knows how many values a value was chosen from.
        if (&reducer == &reducers()[CkReduction::random]) {
            reducer.c.number = TOWPATH_RANDOM;
            continue;
        }
        reducer.c.name = reducer.name.c_str();
        reducer.c.context = &reducer;
        reducer.c.combine = Reducer::combine_for;
        towpath_register_reducer(&reducer.c);
    }
}

inline Reducer &reducer_of(CkReduction::reducerType type) {
    if (type == CkReduction::invalid || static_cast<std::size_t>(type) >= reducers().size())
        fail("contribute was called with a reducer that does not exist");
    return reducers()[type];
}

// A value as a set of one.
inline std::vector<char> set_of_one(const void *data, std::size_t size) {
    std::vector<char> wrapped(CkReduction::setElement::bytes(size));
    auto *element = new (wrapped.data()) CkReduction::setElement();
    element->dataSize = static_cast<int>(size);
    if (size != 0)
        std::memcpy(wrapped.data() + offsetof(CkReduction::setElement, data), data, size);
    return wrapped;
}

// Over the chare's collection, or over a section. The reduction client is told if the callback is
// null or invalid.
inline void contribute(const towpath_chare_id &id, std::size_t size, const void *data,
                       CkReduction::reducerType type, const CkCallback *callback,
                       const towpath_section *section = nullptr) {
    bool is_named = callback != nullptr && !callback->isInvalid();
    const towpath_callback *c = is_named ? &callback->c : nullptr;
    std::uint32_t reducer = reducer_of(type).c.number;
    std::vector<char> wrapped;
    if (type == CkReduction::set) {
        wrapped = set_of_one(data, size);
        data = wrapped.data();
        size = wrapped.size();
    }
    if (section != nullptr)
        return check(towpath_contribute_to_section(&id, section, reducer, data, size, c));
    check(towpath_contribute(&id, reducer, data, size, c));
}

// A contribution that is a message, which is freed.
inline void contribute(const towpath_chare_id &id, CkReductionMsg *message) {
    std::unique_ptr<CkReductionMsg> owned(message);
    contribute(id, static_cast<std::size_t>(message->getSize()), message->getData(),
               message->reducer, &message->callback);
}

} // namespace ck

inline CkReduction::reducerType CkReduction::addReducer(reducerFn function, bool, const char *) {
    if (ck::are_reducers_registered())
        ck::fail("addReducer was called after the start: call it in an initnode function");
    auto number = ck::reducers().size();
    ck::reducers().push_back(
        {"reducer " + std::to_string(number) + " of the program", nullptr, function, {}});
    return static_cast<reducerType>(number);
}

namespace ck {

inline void set_reduction_client(std::uint64_t collection, const CkCallback &client) {
    check(towpath_set_reduction_client(collection, &client.c));
}

// A callback that calls this function any number of times.
inline CkCallback reduction_client(CkReductionClientFn function, void *parameter) {
    struct Client {
        CkReductionClientFn function;
        void *parameter;
    };
    // Functions that are called any number of times are never forgotten.
    static std::deque<Client> clients;
    clients.push_back({function, parameter});
    auto call = [](void *client, void *message) {
        std::unique_ptr<CkReductionMsg> result(static_cast<CkReductionMsg *>(message));
        auto *to = static_cast<Client *>(client);
        to->function(to->parameter, result->getSize(), result->getData());
    };
    return CkCallback(call, &clients.back());
}

inline void set_reduction_client(std::uint64_t collection, CkReductionClientFn function,
                                 void *parameter) {
    set_reduction_client(collection, reduction_client(function, parameter));
}

// A message of the program, or a result, that the library gets.
template <class M> inline towpath_message as_message(M *message) {
    if constexpr (std::is_base_of_v<CkDataMsg, M>) {
        towpath_message copy;
        towpath_message_new(static_cast<std::size_t>(message->getSize()), &copy);
        if (copy.bytes != 0)
            std::memcpy(copy.payload, message->getData(), copy.bytes);
        copy.reference = static_cast<std::uint32_t>(CkGetRefNum(message));
        delete message;
        return copy;
    } else {
        return take_message(packed(message));
    }
}

// What a method gets that expects a message of the program, but is invoked with nothing.
template <class M> inline M *empty_message(towpath_message nothing) {
    void *object = allocate_message(sizeof(M));
    std::memset(object, 0, sizeof(M));
    MessageHeader::of(object)->type = message_type<M>;
    MessageHeader::of(object)->owner.reference = nothing.reference;
    towpath_message_free(&nothing);
    return static_cast<M *>(object);
}

// A message of the program, or a result.
inline CkMessage *any_message(const towpath_message &message) {
    if (message.bytes == 0 || (message.flags & TOWPATH_RESULT) != 0)
        return new CkReductionMsg(message);
    return unpacked(message_object(message));
}

template <class M> inline M *result_message(const towpath_message &message) {
    M *result = new M(message);
    MessageHeader::of(result)->type = message_type<M>;
    return result;
}

// The section to which a message of a method, or one that was kept, was sent, or none.
inline towpath_section section_of(const towpath_message &message) {
    towpath_section section = {};
    if ((message.flags & TOWPATH_TO_SECTION) != 0)
        check(towpath_message_section(&message, &section));
    return section;
}

// A message that was kept, as the program has it.
template <class M>
inline M *from_message(const towpath_message &message, const towpath_section &section) {
    M *made = nullptr;
    if constexpr (std::is_base_of_v<CkDataMsg, M>)
        made = result_message<M>(message);
    else if constexpr (std::is_same_v<M, CkMessage>)
        made = any_message(message);
    else if (message.bytes == 0)
        made = empty_message<M>(message);
    else
        made = static_cast<M *>(M::unpack(message_object(message)));
    MessageHeader::of(made)->section = section;
    return made;
}

} // namespace ck

#define CkReductionTarget(chare, method) CkIndex_##chare::redn_wrapper_##method(nullptr)

#endif
