// Chare, the base of all chares.
#pragma once

#include "reduction.hpp"

namespace towpath {

namespace detail {

// The entry method that gives an element the result of `Chare::reduce`.
template <class T>
struct ReducedRecord {
    static void invoke(void *, void *target, const towpath_chare_id *id,
                       towpath_message *message) {
        RunningScope scope(id);
        guarded([&] {
            auto *object = static_cast<T *>(target);
            object->reduced(message->reference, message->payload, message->bytes);
        });
    }

    static towpath_entry record() {
        towpath_entry entry{};
        entry.invoke = invoke;
        return entry;
    }

    static inline Registered<towpath_entry> entry{type_name<T>() + "::reduce", record(),
                                                  towpath_register_entry};
};

}  // namespace detail

// Base of a type of chares, `struct Cell : Chare<Cell>`. The index is an int, a std::array of up to
// six ints, or a structure of up to six words of 32 bits.
template <class T, class I = int>
class Chare {
public:
    using Index = I;

    // Its index in its collection; of a branch of a group, the rank.
    I index() const { return detail::index_of<I>(id_.index); }
    // Proxies of this chare, and of all of its collection.
    ElementProxy<T> self() const { return ElementProxy<T>(id_); }
    CollectionProxy<T> all() const { return CollectionProxy<T>(id_.collection); }

    // Lets it migrate, or be deleted, once the running method has returned.
    void migrate(int rank) {
        static_assert(detail::Migratable<T>,
                      "a chare that migrates has a constructor without parameters, and a member "
                      "template <class Archive> void serialize(Archive &archive)");
        if (rank < 0)
            throw Error("migrate was called with rank " + std::to_string(rank) +
                        "; ranks are numbered from 0");
        detail::check(towpath_migrate(&id_, static_cast<std::uint32_t>(rank)));
    }
    void destroy() { detail::check(towpath_destroy(&id_)); }

    // Contributes to the next reduction of the collection.
    template <class Operation, class V>
    void contribute(Operation, const V &value, const Callback &done) {
        if constexpr (can_reduce<Operation, V>()) {
            auto reducer = detail::ReducerRecord<Operation, V>::reducer.number();
            detail::with_value(value, [&](const void *at, std::size_t bytes) {
                detail::check(towpath_contribute(&id_, reducer, at, bytes, done.get()));
            });
        }
    }
    // Contributes without a value: a barrier.
    void contribute(const Callback &done) {
        auto reducer = detail::BarrierRecord::reducer.number();
        detail::check(towpath_contribute(&id_, reducer, nullptr, 0, done.get()));
    }

    // The result of a reduction to which every element of the collection contributes: for
    // `co_await`, in all of them.
    template <class Operation, class V>
    auto reduce(Operation operation, const V &value) {
        auto result = std::make_shared<detail::FutureState<V>>();
        towpath_callback told{};
        detail::check(towpath_next_reduction(&id_, &told.reference));
        if (!awaited_)
            awaited_ = std::make_unique<Awaited>();
        (*awaited_)[told.reference] = result;
        told.kind = TOWPATH_CALL_ALL;
        told.entry = detail::ReducedRecord<T>::entry.number();
        told.collection = id_.collection;
        contribute(operation, value, Callback(told));
        return detail::FutureAwaiter<V>{result};
    }

    // For the library: the result of a reduction that methods wait for.
    void reduced(std::uint32_t number, const void *value, std::size_t bytes) {
        // An element that was made since has not contributed.
        if (!awaited_)
            return;
        if (auto waiting = awaited_->extract(number))
            waiting.mapped()->complete(value, bytes);
    }

protected:
    Chare() {
        if (detail::constructing == nullptr)
            throw Error("a chare was made as an ordinary object; use create_array, create_group, "
                        "create_chare or insert");
        id_ = *std::exchange(detail::constructing, nullptr);
    }
    ~Chare() = default;
    Chare(const Chare &) = delete;

private:
    towpath_chare_id id_;
    // Most chares never wait for one.
    using Awaited = std::map<std::uint32_t, std::shared_ptr<detail::Completion>>;
    std::unique_ptr<Awaited> awaited_;
};

}  // namespace towpath
