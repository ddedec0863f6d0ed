// Priorities of messages: integers, or strings of bits.
#pragma once

#include <cstdint>
#include <vector>

#include "call.hpp"

namespace towpath {

// A smaller integer is more urgent. A string of bits is more urgent than those that follow it in the
// order of dictionaries; an integer is one of 32 bits. In the search of a tree, what is left is:
//
//     node.with({.priority = mine.followed_by(branch, 2)}).send<&Node::search>(...)
class Priority {
public:
    // None: as urgent as 0.
    Priority() = default;
    Priority(std::int32_t number) : first_(number), bits_(32), is_set_(true) {}

    // The string without bits, before all others.
    static Priority root() { return Priority(none, 0); }

    // These lowest bits of a value behind those of this one; behind none if that is not set.
    Priority followed_by(std::uint32_t value, unsigned count) const {
        if (count > 32)
            throw Error("a priority is followed by up to 32 bits of a value, but " +
                        std::to_string(count) + " were named");
        Priority longer = is_set_ ? *this : root();
        for (unsigned bit = count; bit-- > 0;)
            longer.append(value >> bit & 1);
        return longer;
    }

    bool is_set() const { return is_set_; }
    // The integer, or the first 32 bits as such.
    std::int32_t number() const { return first_; }
    std::uint32_t bits() const { return bits_; }
    bool is_integer() const { return bits_ == 32; }

    // All bits, from the most significant one of the first word on.
    std::vector<std::uint32_t> words() const {
        std::vector<std::uint32_t> words{static_cast<std::uint32_t>(first_) ^ sign};
        words.insert(words.end(), rest_.begin(), rest_.end());
        words.resize((std::size_t{bits_} + 31) / 32);
        return words;
    }

    template <class Archive>
    void serialize(Archive &archive) {
        archive & first_ & bits_ & is_set_ & rest_;
    }

private:
    static constexpr std::uint32_t sign = 1u << 31;
    // No bits, as an integer.
    static constexpr std::int32_t none = INT32_MIN;

    Priority(std::int32_t first, std::uint32_t bits) : first_(first), bits_(bits), is_set_(true) {}

    void append(std::uint32_t bit) {
        std::uint32_t word = bits_ / 32, value = bit << (31 - bits_ % 32);
        if (word == 0) {
            first_ = static_cast<std::int32_t>(static_cast<std::uint32_t>(first_) ^ value);
        } else {
            rest_.resize(word);
            rest_[word - 1] |= value;
        }
        ++bits_;
    }

    std::int32_t first_ = 0;
    std::uint32_t bits_ = 32;
    bool is_set_ = false;
    // The words behind the first one.
    std::vector<std::uint32_t> rest_;
};

}  // namespace towpath
