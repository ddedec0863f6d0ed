// Sections: some chares of an array or a group.
#pragma once

#include "proxy.hpp"

namespace towpath {

// Some chares of a collection, which get the messages that are sent to it, and may make reductions
// of their own. It is a value that can be sent. `CollectionProxy::section` makes one.
template <class T>
class Section {
public:
    using Chare = T;

    Section() : section_{} {}
    explicit Section(const towpath_section &section) : section_(section) {}

    // Sends a message, which every member gets once.
    template <auto Member, class... A>
    void send(A &&...arguments) const {
        send_with<Member>(SendOptions(), std::forward<A>(arguments)...);
    }

    Sender<Section> with(const SendOptions &options) const { return {*this, options}; }

    template <auto Member, class... A>
    Future<> call(A &&...) const {
        static_assert(detail::never<Member>, "call is for one chare, which gives one result; send "
                      "a callback to all, and let them contribute to it");
        return {};
    }

    // A callback that invokes a method of all members with the result.
    template <auto Member>
    auto callback() const {
        towpath_callback call{};
        call.kind = TOWPATH_CALL_SECTION;
        call.collection = section_.collection;
        call.rank = section_.root;
        call.function = section_.number;
        return detail::callback_of<T, Member>(call);
    }

    // The collection to which the members belong.
    CollectionProxy<T> all() const { return CollectionProxy<T>(section_.collection); }
    const towpath_section &id() const { return section_; }
    friend bool operator==(const Section &a, const Section &b) {
        return a.section_.collection == b.section_.collection &&
               a.section_.root == b.section_.root && a.section_.number == b.section_.number;
    }

    template <auto Member, class... A>
    void send_with(const SendOptions &options, A &&...arguments) const {
        if constexpr (can_send<Member, T, A...>()) {
            auto message = detail::message_for(
                static_cast<detail::ParametersOf<Member> *>(nullptr),
                detail::EntryRecord<T, Member>::entry.number(), options, std::monostate(),
                std::forward<A>(arguments)...);
            detail::check(towpath_multicast(&section_, &message));
            (detail::tell_copied(arguments), ...);
        }
    }

private:
    towpath_section section_;
};

namespace detail {

template <class T>
Section<T> section_of(std::uint64_t collection, const std::vector<towpath_index> &members) {
    towpath_section section;
    check(towpath_create_section(collection, members.data(), members.size(), &section));
    return Section<T>(section);
}

}  // namespace detail

template <class T>
template <std::ranges::input_range Range>
Section<T> CollectionProxy<T>::section(Range &&indexes) const {
    using Index = typename T::Index;
    constexpr bool are_indexes = std::is_convertible_v<std::ranges::range_value_t<Range>, Index>;
    static_assert(are_indexes, "a section is made of indexes of the chares of its collection");
    std::vector<towpath_index> members;
    if constexpr (are_indexes) {
        for (const auto &index : indexes)
            members.push_back(detail::words_of<Index>(index));
    }
    return detail::section_of<T>(collection_, members);
}

template <class T>
template <class U>
Section<T> CollectionProxy<T>::section_between(const typename U::Index &first,
                                               const typename U::Index &end, int step) const {
    static_assert(detail::is_coordinates<typename U::Index>,
                  "section_between is for indexes that are an int or a std::array of ints");
    if (step < 1)
        throw Error("section_between was called with the step " + std::to_string(step) +
                    "; steps are 1 or more");
    towpath_index begin = detail::words_of(first), behind = detail::words_of(end), at = begin;
    std::vector<towpath_index> members;
    for (int word = 0; word < begin.length; ++word) {
        if (begin.words[word] >= behind.words[word])
            return detail::section_of<T>(collection_, members);
    }
    for (int word = 0; word >= 0;) {
        members.push_back(at);
        // As an odometer: the last coordinate that has a next one gets it.
        for (word = begin.length - 1; word >= 0; --word) {
            if (std::int64_t{at.words[word]} + step < behind.words[word]) {
                at.words[word] += step;
                break;
            }
            at.words[word] = begin.words[word];
        }
    }
    return detail::section_of<T>(collection_, members);
}

}  // namespace towpath
