// Chare, the base of all chares.
#pragma once

#include "balancing.hpp"
#include "operations.hpp"
#include "persistent.hpp"

namespace towpath {

namespace detail {

// The entry method that gives an element the result of `Chare::reduce`.
template <class T>
struct ReducedRecord {
    static void invoke(void *, void *target, const towpath_chare_id *id,
                       towpath_message *message) {
        RunningScope scope(id);
        guarded([&] {
            static_cast<T *>(target)->reduced(*message);
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

    // Opens a persistent channel into a contiguous range, which stays in place until the channel is
    // closed. The chare does not migrate meanwhile.
    template <std::ranges::contiguous_range Range>
    auto open_channel(Range &memory) {
        using Element = std::ranges::range_value_t<Range>;
        static_assert(std::is_assignable_v<std::ranges::range_reference_t<Range>, Element>,
                      "others write to the memory of a channel, so it is not const");
        static_assert(detail::Plain<Element>, "elements are put byte by byte: they have no member "
                                              "serialize and no addresses");
        towpath_channel channel;
        detail::check(towpath_open_channel(&id_, std::ranges::data(memory),
                                           std::ranges::size(memory) * sizeof(Element), &channel));
        return PersistentChannel<T, Element>(channel);
    }

    // The sections of which it knows that it is a member: those of which it has had a multicast.
    std::vector<Section<T>> sections() const {
        std::vector<towpath_section> names(towpath_sections(&id_, nullptr, 0));
        names.resize(std::min(names.size(), towpath_sections(&id_, names.data(), names.size())));
        return {names.begin(), names.end()};
    }

    // An element of an array is ready for load balancing: it may migrate to another rank once the
    // running method has returned. When all elements of all arrays that take part are ready and have
    // migrated, its method resume_from_sync is called; without a balancer at once. While a coroutine
    // of it waits it stays where it is.
    void at_sync() {
        if constexpr (can_balance<T>()) {
            // So that the method is registered.
            static_cast<void>(detail::ResumeRecord<T>::entry.number());
            detail::check(towpath_at_sync(&id_));
        }
    }

    // Contributes to the next reduction of the collection.
    template <class Operation, class V>
    void contribute(Operation, const V &value, const Callback &done) {
        contribute_value<Operation>(nullptr, value, done);
    }
    template <class Operation, class V, class P>
    void contribute(Operation, const V &value, const CallbackOf<P> &done) {
        if constexpr (takes_result_of<P, Operation, V>())
            contribute_value<Operation>(nullptr, value, done);
    }
    // The same of a section, of which it has had a multicast.
    template <class Operation, class V>
    void contribute(const Section<T> &section, Operation, const V &value, const Callback &done) {
        contribute_value<Operation>(&section.id(), value, done);
    }
    template <class Operation, class V, class P>
    void contribute(const Section<T> &section, Operation, const V &value,
                    const CallbackOf<P> &done) {
        if constexpr (takes_result_of<P, Operation, V>())
            contribute_value<Operation>(&section.id(), value, done);
    }
    // Contributes without a value: a barrier.
    void contribute(const Callback &done) {
        detail::contribute(id_, nullptr, TOWPATH_NOP, nullptr, 0, done);
    }
    template <class P>
    void contribute(const CallbackOf<P> &done) {
        if constexpr (takes_nothing<P>())
            detail::contribute(id_, nullptr, TOWPATH_NOP, nullptr, 0, done);
    }
    void contribute(const Section<T> &section, const Callback &done) {
        detail::contribute(id_, &section.id(), TOWPATH_NOP, nullptr, 0, done);
    }
    template <class P>
    void contribute(const Section<T> &section, const CallbackOf<P> &done) {
        if constexpr (takes_nothing<P>())
            detail::contribute(id_, &section.id(), TOWPATH_NOP, nullptr, 0, done);
    }

    // The result of a reduction to which every element of the collection contributes: for
    // `co_await`, in all of them.
    template <class Operation, class V>
    auto reduce(Operation, const V &value) {
        towpath_callback told{};
        detail::check(towpath_next_reduction(&id_, &told.reference));
        told.kind = TOWPATH_CALL_ALL;
        return reduce_value<Operation>(nullptr, value, told);
    }
    // The same of a section.
    template <class Operation, class V>
    auto reduce(const Section<T> &section, Operation, const V &value) {
        const auto &name = section.id();
        towpath_callback told{};
        detail::check(towpath_next_section_reduction(&id_, &name, &told.reference));
        told.kind = TOWPATH_CALL_SECTION;
        told.rank = name.root;
        told.function = name.number;
        return reduce_value<Operation>(&name, value, told);
    }

    // For the library: the result of a reduction that methods wait for.
    void reduced(const towpath_message &message) {
        // An element that was made since has not contributed.
        if (!awaited_)
            return;
        towpath_section section{};
        if (message.flags & TOWPATH_TO_SECTION)
            detail::check(towpath_message_section(&message, &section));
        if (auto waiting = awaited_->extract({section.root, section.number, message.reference}))
            waiting.mapped()->complete(message.payload, message.bytes);
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
    template <class Operation, class V>
    void contribute_value(const towpath_section *section, const V &value, const Callback &done) {
        if constexpr (can_reduce<Operation, V>())
            detail::contribute<Operation>(id_, section, value, done);
    }

    template <class Operation, class V>
    auto reduce_value(const towpath_section *section, const V &value, towpath_callback told) {
        if constexpr (can_reduce<Operation, V>()) {
            using Result = typename detail::Reduction<Operation, V>::Result;
            auto result = std::make_shared<detail::FutureState<Result>>();
            if (!awaited_)
                awaited_ = std::make_unique<Awaited>();
            (*awaited_)[{told.rank, static_cast<std::uint32_t>(told.function), told.reference}] =
                result;
            told.entry = detail::ReducedRecord<T>::entry.number();
            told.collection = id_.collection;
            detail::contribute<Operation>(id_, section, value, Callback(told));
            return detail::FutureAwaiter<Result>{result};
        } else {
            // What `co_await` accepts, so that the compiler says nothing more.
            return Future<V>();
        }
    }

    towpath_chare_id id_;
    // By root and number of the section, which are 0 for the whole collection, and the number of the
    // reduction. Most chares never wait for one.
    using Awaited = std::map<std::array<std::uint32_t, 3>, std::shared_ptr<detail::Completion>>;
    std::unique_ptr<Awaited> awaited_;
};

}  // namespace towpath
