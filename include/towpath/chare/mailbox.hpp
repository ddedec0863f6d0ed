// Messages that a coroutine takes one after the other.
#pragma once

#include <algorithm>
#include <deque>

#include "task.hpp"

namespace towpath {

namespace detail {

// A message that belongs to the program.
class KeptMessage {
public:
    explicit KeptMessage(const towpath_message &message) : message_(message) {}
    KeptMessage(KeptMessage &&other) noexcept : message_(std::exchange(other.message_, {})) {}
    KeptMessage &operator=(KeptMessage &&other) noexcept {
        std::swap(message_, other.message_);
        return *this;
    }
    ~KeptMessage() { towpath_message_free(&message_); }

    const towpath_message &get() const { return message_; }

    // Migrates with its chare.
    void write(auto &archive) const {
        archive.plain(message_.bytes);
        archive.plain(message_.reference);
        archive.plain(message_.array_count);
        archive.bytes(message_.payload, message_.bytes);
        for (std::uint32_t number = 0; number < message_.array_count; ++number) {
            std::size_t bytes;
            const void *array = towpath_message_array(&message_, number, &bytes);
            archive.plain(bytes);
            archive.bytes(array, bytes);
        }
    }
    static KeptMessage read(Reader &archive) {
        std::size_t bytes, arrays;
        std::uint32_t reference;
        archive.plain(bytes);
        archive.plain(reference);
        archive.plain(arrays);
        const void *payload = archive.skip(bytes);
        towpath_message message;
        towpath_message_new(bytes, &message);
        KeptMessage kept(message);
        if (bytes > 0)
            std::memcpy(message.payload, payload, bytes);
        kept.message_.reference = reference;
        for (; arrays > 0; --arrays) {
            archive.plain(bytes);
            if (towpath_message_add_copy(&kept.message_, archive.skip(bytes), bytes) < 0)
                throw Error(towpath_error());
        }
        return kept;
    }

private:
    towpath_message message_;
};

}  // namespace detail

// The parameters of a message that a mailbox gave. Views point into it, and last as long as it:
//
//     auto [side, values] = co_await edges.receive(iteration);
template <class... P>
class Received {
public:
    explicit Received(detail::KeptMessage message) : message_(std::move(message)) {
        detail::Reader(message_.get()) & parameters_;
    }

    std::tuple<P...> &parameters() { return parameters_; }
    template <std::size_t N>
    auto &get() {
        return std::get<N>(parameters_);
    }
    std::uint32_t reference() const { return message_.get().reference; }

private:
    detail::KeptMessage message_;
    std::tuple<P...> parameters_;
};

}  // namespace towpath

// For `auto [...] = `.
template <class... P>
struct std::tuple_size<towpath::Received<P...>> : std::tuple_size<std::tuple<P...>> {};
template <std::size_t N, class... P>
struct std::tuple_element<N, towpath::Received<P...>> : std::tuple_element<N, std::tuple<P...>> {};

namespace towpath {

// A member of a chare to which messages are sent as to an entry method, and from which a coroutine of
// the chare takes them, by reference number or in the order in which they came:
//
//     towpath::Mailbox<int, towpath::View<const double>> edges;
//     ...
//     neighbour.with({.reference = iteration}).send<&Block::edges>(side, values);
//     auto [side, values] = co_await edges.receive(iteration);
//
// A chare that migrates serializes its mailboxes. A mailbox stays in place while a coroutine waits.
template <class... P>
class Mailbox {
public:
    // The next message.
    auto receive() { return Awaiter{{}, this, std::nullopt}; }
    // The next message with this reference number.
    auto receive(std::uint32_t reference) { return Awaiter{{}, this, reference}; }
    // How many messages wait.
    std::size_t size() const { return messages_.size(); }

    Mailbox() = default;
    Mailbox(Mailbox &&) = default;
    Mailbox &operator=(Mailbox &&) = default;

    template <class Archive>
    void serialize(Archive &archive) {
        std::size_t count = messages_.size();
        archive.plain(count);
        if constexpr (Archive::reads) {
            for (; count > 0; --count)
                messages_.push_back(detail::KeptMessage::read(archive));
        } else {
            for (auto &kept : messages_)
                kept.write(archive);
        }
    }

    // A message has come.
    void deliver(detail::KeptMessage message) {
        auto reference = message.get().reference;
        messages_.push_back(std::move(message));
        auto fits = [&](detail::Suspension *waiter) {
            return static_cast<Awaiter *>(waiter)->fits(reference);
        };
        auto found = std::ranges::find_if(waiting_, fits);
        if (found == waiting_.end())
            return;
        auto *awaiter = static_cast<Awaiter *>(*found);
        awaiter->take();
        awaiter->resume();
    }

private:
    struct Awaiter : detail::Suspension {
        Mailbox *mailbox;
        std::optional<std::uint32_t> reference;
        std::optional<detail::KeptMessage> message{};

        bool fits(std::uint32_t sent) const { return !reference || *reference == sent; }

        bool take() {
            auto fits_this = [&](auto &kept) { return fits(kept.get().reference); };
            auto found = std::ranges::find_if(mailbox->messages_, fits_this);
            if (found == mailbox->messages_.end())
                return false;
            message = std::move(*found);
            mailbox->messages_.erase(found);
            return true;
        }

        bool await_ready() { return take(); }
        void await_suspend(std::coroutine_handle<> handle) {
            suspend(handle, mailbox->waiting_);
        }
        Received<P...> await_resume() { return Received<P...>(std::move(*message)); }
    };

    std::deque<detail::KeptMessage> messages_;
    detail::Suspension::List waiting_;
};

}  // namespace towpath
