// Persistent channels: memory of a chare, into which others put elements again and again.
#pragma once

#include "proxy.hpp"

namespace towpath {

// Names the memory; it can be sent and stored. `Chare::open_channel` opens it:
//
//     left.send<&Block::connect_right>(open_channel(rim));       // once
//     right_channel.put<&Block::rim_came>(edge, step);           // in each step of the neighbour
//
// Nobody asks whether the chare has read what was there before. Neighbours that put into each
// other's memory in each step, and use two channels in turn, know that.
template <class T, class Element>
class PersistentChannel {
public:
    PersistentChannel() : channel_{} {}
    explicit PersistentChannel(const towpath_channel &channel) : channel_(channel) {}

    // Writes elements, a contiguous range or `nocopy`, to the beginning of the memory, and then
    // invokes a method of the chare. The elements may change at once, or when the callback of
    // `nocopy` is told.
    template <auto Member, class Elements, class... A>
    void put(const Elements &elements, A &&...arguments) const {
        put_with<Member>(SendOptions(), elements, std::forward<A>(arguments)...);
    }
    template <auto Member, class Elements, class... A>
    void put_with(const SendOptions &options, const Elements &elements, A &&...arguments) const {
        constexpr bool fits = detail::converts<View<const Element>, Elements> &&
                              !detail::is_strided<Elements>;
        static_assert(fits, "what is put is a contiguous range, or nocopy, of the elements of the "
                            "channel");
        if constexpr (fits && can_send<Member, T, A...>()) {
            auto message = detail::message_for(
                static_cast<detail::ParametersOf<Member> *>(nullptr),
                detail::EntryRecord<T, Member>::entry.number(), options, std::monostate(),
                std::forward<A>(arguments)...);
            put_message(elements, message);
            (detail::tell_copied(arguments), ...);
        }
    }

    // On the rank of the chare, once nobody puts anything any more. The chare may migrate then.
    void close() const { detail::check(towpath_close_channel(&channel_)); }
    // How many elements there is room for.
    std::size_t size() const { return channel_.bytes / sizeof(Element); }

private:
    template <class Elements>
    void put_message(const Elements &elements, towpath_message &message) const {
        if constexpr (detail::is_nocopy<Elements>)
            detail::check(towpath_put(&channel_, elements.data, elements.size * sizeof(Element),
                                      elements.done.get(), &message));
        else
            detail::check(towpath_put(&channel_, std::ranges::data(elements),
                                      std::ranges::size(elements) * sizeof(Element), nullptr,
                                      &message));
    }

    towpath_channel channel_;
};

}  // namespace towpath
