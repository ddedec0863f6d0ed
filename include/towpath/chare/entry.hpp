// Entry methods and constructors, as the library calls them. What a program names anywhere is
// registered before main, on all ranks.
#pragma once

#include "mailbox.hpp"

namespace towpath::detail {

// A structure of the library that is registered, with its name.
template <class Record>
class Registered {
public:
    Registered(std::string name, Record record, void (*add)(Record *))
        : name_(std::move(name)), record_(record) {
        record_.name = name_.c_str();
        add(&record_);
    }
    Registered(const Registered &) = delete;

    const Record *get() const { return &record_; }
    std::uint32_t number() const { return record_.number; }

private:
    std::string name_;
    Record record_;
};

// Type of a member that messages can be sent to.
template <class M>
struct MemberTraits {
    static constexpr bool is_entry = false;
};

template <class R, class C, class... P>
struct MethodTraits {
    static constexpr bool is_entry = true;
    static constexpr bool is_mailbox = false;
    using Class = C;
    using Result = R;
    using Parameters = std::tuple<std::decay_t<P>...>;
    static std::string parameter_names() { return detail::parameter_names<P...>(); }
    static_assert(!is_task<R> || (!std::is_reference_v<P> && ...),
                  "an entry method that is a coroutine takes its parameters by value: they must "
                  "last until it ends");
    static_assert(!is_task<R> || (!is_view<std::decay_t<P>> && ...),
                  "a View does not outlast the wait of a coroutine; use a Mailbox or a std::vector");

    template <class T, auto Method>
    static R call(T &object, Parameters &parameters) {
        return std::apply(
            [&](auto &...values) -> R { return (object.*Method)(static_cast<P &&>(values)...); },
            parameters);
    }
};

template <class R, class C, class... P>
struct MemberTraits<R (C::*)(P...)> : MethodTraits<R, C, P...> {};
template <class R, class C, class... P>
struct MemberTraits<R (C::*)(P...) const> : MethodTraits<R, C, P...> {};
template <class R, class C, class... P>
struct MemberTraits<R (C::*)(P...) noexcept> : MethodTraits<R, C, P...> {};
template <class R, class C, class... P>
struct MemberTraits<R (C::*)(P...) const noexcept> : MethodTraits<R, C, P...> {};

template <class C, class... P>
struct MemberTraits<Mailbox<P...> C::*> {
    static constexpr bool is_entry = true;
    static constexpr bool is_mailbox = true;
    using Class = C;
    using Result = void;
    using Parameters = std::tuple<P...>;
    static std::string parameter_names() { return detail::parameter_names<P...>(); }
};

// These can be parameters of an entry method or a constructor.
template <class Parameters>
inline constexpr bool are_default_constructible = false;
template <class... P>
inline constexpr bool are_default_constructible<std::tuple<P...>> =
    (std::is_default_constructible_v<P> && ...);
template <class Parameters>
inline constexpr bool are_serializable = false;
template <class... P>
inline constexpr bool are_serializable<std::tuple<P...>> = (Serializable<P> && ...);

template <class Parameters>
consteval bool are_parameters() {
    static_assert(are_serializable<Parameters>,
                  "a parameter cannot be sent: pointers mean nothing on another rank (use View for "
                  "arrays), and classes need a member template <class Archive> void "
                  "serialize(Archive &archive)");
    static_assert(are_default_constructible<Parameters>,
                  "a parameter that is sent has a constructor without parameters");
    return are_serializable<Parameters> && are_default_constructible<Parameters>;
}

}  // namespace towpath::detail

namespace towpath {

// Pointer to a method, or a mailbox, of T or of a base of it. Otherwise a sentence says what is wrong.
template <auto Member, class T>
consteval bool is_entry_of() {
    using Traits = detail::MemberTraits<decltype(Member)>;
    static_assert(Traits::is_entry, "an entry method is a method or a Mailbox of the chare, as in "
                                    "send<&Cell::receive>(...)");
    if constexpr (Traits::is_entry) {
        constexpr bool is_of_chare = std::is_base_of_v<typename Traits::Class, T>;
        static_assert(is_of_chare, "this is a method of another class than the chare's");
        return is_of_chare && detail::are_parameters<typename Traits::Parameters>();
    }
    return false;
}

// The same, but no mailbox.
template <auto Member, class T>
consteval bool is_method_of() {
    if constexpr (is_entry_of<Member, T>()) {
        constexpr bool is_mailbox = detail::MemberTraits<decltype(Member)>::is_mailbox;
        static_assert(!is_mailbox, "a Mailbox gives no result, and no callback tells it one");
        return !is_mailbox;
    }
    return false;
}

}  // namespace towpath

namespace towpath::detail {

template <class Parameters>
Parameters read_parameters(const towpath_message &message) {
    Parameters parameters{};
    if (message.flags & TOWPATH_RESULT) {
        constexpr auto count = std::tuple_size_v<Parameters>;
        if constexpr (count == 1)
            std::get<0>(parameters) = read_value<std::tuple_element_t<0, Parameters>>(
                message.payload, message.bytes);
        else if constexpr (count > 1)
            throw Error("a method that is told of a result has one parameter, or none");
    } else {
        Reader(message) & parameters;
    }
    return parameters;
}

template <class T, auto Member>
std::string entry_name() {
    return type_name<T>() + "::" + member_name<Member>() +
           MemberTraits<decltype(Member)>::parameter_names();
}

// Whether a failure of a method that was called for a result does not end the job: the caller's
// `co_await` throws.
template <class T>
bool tells_callers(const T &object) {
    if constexpr (requires { object.failures_reach_callers; }) {
        using Setting = std::remove_cvref_t<decltype(object.failures_reach_callers)>;
        static_assert(std::is_same_v<Setting, bool>, "failures_reach_callers is a bool");
        return object.failures_reach_callers;
    }
    return false;
}

// Calls a method, and tells the callback of its result.
template <class T, auto Member, class Parameters>
void call_method(T &object, Parameters &parameters, const Callback &reply, bool is_told) {
    using Traits = MemberTraits<decltype(Member)>;
    using Result = typename Traits::Result;
    if constexpr (is_task<Result>) {
        finish(Traits::template call<T, Member>(object, parameters), reply,
               entry_name<T, Member>, is_told);
    } else if constexpr (std::is_void_v<Result>) {
        Traits::template call<T, Member>(object, parameters);
        if (!reply.is_nobody())
            reply();
    } else {
        auto result = Traits::template call<T, Member>(object, parameters);
        if (!reply.is_nobody())
            reply(result);
    }
}

// An entry method of T.
template <class T, auto Member>
struct EntryRecord {
    using Traits = MemberTraits<decltype(Member)>;

    static void invoke(void *, void *target, const towpath_chare_id *id,
                       towpath_message *message) {
        RunningScope scope(id);
        guarded([&] {
            T &object = *static_cast<T *>(target);
            if constexpr (Traits::is_mailbox) {
                towpath_message_keep(message);
                (object.*Member).deliver(KeptMessage(*message));
            } else {
                auto parameters = read_parameters<typename Traits::Parameters>(*message);
                call_method<T, Member>(object, parameters, Callback(), false);
            }
        });
    }

    static towpath_entry record() {
        towpath_entry entry{};
        entry.invoke = invoke;
        return entry;
    }

    static inline Registered<towpath_entry> entry{entry_name<T, Member>(), record(),
                                                  towpath_register_entry};
};

// An entry method of T whose result the caller waits for: its callback is the first parameter.
template <class T, auto Member>
struct CallRecord {
    using Traits = MemberTraits<decltype(Member)>;

    static void invoke(void *, void *target, const towpath_chare_id *id,
                       towpath_message *message) {
        RunningScope scope(id);
        guarded([&] {
            std::tuple<Callback, typename Traits::Parameters> sent;
            Reader(*message) & sent;
            auto &[reply, parameters] = sent;
            T &object = *static_cast<T *>(target);
            bool is_told = tells_callers(object);
            try {
                call_method<T, Member>(object, parameters, reply, is_told);
            } catch (...) {
                if (!is_told)
                    throw;
                tell_failure(reply, entry_name<T, Member>());
            }
        });
    }

    static std::string name() { return entry_name<T, Member>() + " for a result"; }

    static towpath_entry record() {
        towpath_entry entry{};
        entry.invoke = invoke;
        return entry;
    }

    static inline Registered<towpath_entry> entry{name(), record(), towpath_register_entry};
};

// The chare that is being constructed takes its name from here.
inline thread_local const towpath_chare_id *constructing = nullptr;

// Makes an object whose base must know its name already.
template <class T>
T *construct(const towpath_chare_id *id, auto make) {
    constructing = id;
    T *object = nullptr;
    guarded([&] { object = make(); });
    constructing = nullptr;
    return object;
}

// A type of chares. It can migrate if it has a constructor without parameters and `serialize`.
template <class T>
concept Migratable = std::is_default_constructible_v<T> && HasSerialize<T, Sizer> &&
                     HasSerialize<T, Writer> && HasSerialize<T, Reader>;

template <class T>
struct TypeRecord {
    static std::size_t packed_bytes(void *, void *object) {
        Sizer sizer;
        guarded([&] { static_cast<T *>(object)->serialize(sizer); });
        return sizer.size();
    }
    static void pack(void *, void *object, void *into, std::size_t bytes) {
        guarded([&] {
            Writer writer(into, bytes);
            static_cast<T *>(object)->serialize(writer);
        });
    }
    static void *unpack(void *, const towpath_chare_id *id, const void *packed,
                        std::size_t bytes) {
        return construct<T>(id, [&] {
            auto object = std::make_unique<T>();
            Reader reader(packed, bytes);
            object->serialize(reader);
            return object.release();
        });
    }
    static void destroy(void *, void *object) { delete static_cast<T *>(object); }

    static towpath_type record() {
        towpath_type type{};
        if constexpr (Migratable<T>) {
            type.packed_bytes = packed_bytes;
            type.pack = pack;
            type.unpack = unpack;
        }
        type.destroy = destroy;
        return type;
    }

    static inline Registered<towpath_type> type{type_name<T>(), record(), towpath_register_type};
};

template <class T, class... P>
consteval bool can_construct() {
    if constexpr (are_parameters<std::tuple<P...>>()) {
        static_assert(std::is_constructible_v<T, P...>,
                      "the chare has no constructor for these arguments");
        return std::is_constructible_v<T, P...>;
    }
    return false;
}

// A constructor of T with parameters of these types.
template <class T, class... P>
struct ConstructorRecord {
    static void *construct_one(void *, const towpath_chare_id *id, towpath_message *message) {
        RunningScope scope(id);
        return construct<T>(id, [&] {
            std::tuple<P...> parameters;
            Reader(message->payload, message->bytes) & parameters;
            auto make = [](P &...values) { return new T(std::move(values)...); };
            return std::apply(make, parameters);
        });
    }

    static std::string name() { return "constructor " + type_name<T>() + parameter_names<P...>(); }

    static towpath_entry record() {
        towpath_entry entry{};
        entry.construct = construct_one;
        entry.type = TypeRecord<T>::type.get();
        return entry;
    }

    static inline Registered<towpath_entry> entry{name(), record(), towpath_register_entry};
};

}  // namespace towpath::detail
