// Entry methods whose steps wait for messages (structured dagger). Generated code has the steps of
// a class as one switch; this has the threads of control that are somewhere in it.
#ifndef TOWPATH_CHARM_STEPS_H
#define TOWPATH_CHARM_STEPS_H

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "registration.h"

namespace ck {

// A message that has arrived for a chare, and is its own.
class Arrived {
public:
    Arrived() = default;
    Arrived(const towpath_message &kept, std::uint32_t number)
        : message(kept), section(section_of(kept)), number(number) {}
    Arrived(Arrived &&other) noexcept { swap(other); }
    Arrived &operator=(Arrived &&other) noexcept {
        swap(other);
        return *this;
    }
    ~Arrived() {
        if (message.payload != nullptr)
            towpath_message_free(&message);
    }
    // The message, which is the caller's then.
    towpath_message release() { return std::exchange(message, towpath_message{}); }
    void pup(PUP::er &p) {
        std::uint64_t bytes = gathered_bytes(message);
        std::uint32_t flags = message.flags;
        p | bytes;
        p | flags;
        p | message.reference;
        p | message.priority;
        p | number;
        p.bytes(&section, sizeof section);
        if (p.isUnpacking()) {
            const std::uint32_t reference = message.reference;
            const std::int32_t priority = message.priority;
            if (bytes > static_cast<PUP::fromMem &>(p).left())
                throw std::length_error("a packed message is longer than the bytes that follow");
            towpath_message_new(bytes, &message);
            message.reference = reference;
            message.priority = priority;
            message.flags = flags;
        }
        if (p.isSizing() || message.array_count == 0)
            return p.bytes(message.payload, bytes);
        towpath_message all = gathered(message);
        p.bytes(all.payload, bytes);
        towpath_message_free(&all);
    }

    towpath_message message = {};
    // To which it was sent, or none.
    towpath_section section = {};
    // By which it is expected.
    std::uint32_t number = 0;

private:
    void swap(Arrived &other) {
        std::swap(message, other.message);
        std::swap(section, other.section);
        std::swap(number, other.number);
    }
};

// The number by which a step finds a message: its first parameter, if that is an integer.
template <class T>
inline std::uint32_t number_of(towpath_message &message, bool has_posted_arrays) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        if ((message.flags & TOWPATH_RESULT) == 0) {
            Unmarshaller in(message);
            if (has_posted_arrays)
                in.value<bool>();
            return static_cast<std::uint32_t>(in.value<T>());
        }
    }
    return message.reference;
}

// Variables that the steps of a method see: parameters, and those of statements.
class StepScope {
public:
    explicit StepScope(std::shared_ptr<StepScope> outer) : outer(std::move(outer)) {}
    virtual ~StepScope() = default;
    virtual int kind() const = 0;
    virtual void pup(PUP::er &p) = 0;
    std::shared_ptr<StepScope> outer;
};

// A message of the program that steps have taken. It is also their scope's, which packs it until
// the program has deleted or sent it.
template <class M> class TakenMessage {
public:
    TakenMessage() = default;
    TakenMessage(const TakenMessage &) = delete;
    ~TakenMessage() { free_message(object); }

    M *take(Arrived arrived) {
        return share(from_message<M>(arrived.release(), arrived.section));
    }
    // The variable of the steps is the message.
    void pup(PUP::er &p, M *&variable) {
        bool is_there = object != nullptr && variable == object &&
                        MessageHeader::of(object)->owners > 1;
        p | is_there;
        if (!is_there)
            return;
        void *message = object;
        CkPupMessage(p, &message);
        // A class that packs itself makes another object.
        if (message != object) {
            free_message(object);
            share(static_cast<M *>(message));
        }
        variable = object;
        if (p.isDeleting())
            delete object;
    }

private:
    M *share(M *message) {
        ++MessageHeader::of(message)->owners;
        return object = message;
    }

    M *object = nullptr;
};

// A message that a statement waits for.
struct Expected {
    int alternative = 0; // of those that a statement chooses from
    int trigger = 0;
    bool has_number = false;
    std::uint32_t number = 0;

    bool is(const Arrived &message) const { return !has_number || message.number == number; }
};

// A thread of control in the steps of a class.
struct StepThread {
    int at = 0;
    std::shared_ptr<StepScope> scope;
    std::shared_ptr<StepThread> parent;
    int children = 0;
    std::vector<Expected> expected;
    int alternative = 0;
    std::vector<Arrived> taken;
    std::size_t next_taken = 0;

    bool expects(int trigger, const Arrived &message) const {
        return std::any_of(expected.begin(), expected.end(), [&](const Expected &one) {
            return one.trigger == trigger && one.is(message);
        });
    }
    Arrived take() { return std::move(taken[next_taken++]); }
    void leave_scopes(int count) {
        for (; count > 0; --count)
            scope = std::shared_ptr<StepScope>(scope->outer);
    }
};

// By how much a forall counts on.
inline int checked_step(int step) {
    if (step == 0)
        fail("a forall counts on by 0, and would never end: give another step");
    return step;
}

using StepThreadPointer = std::shared_ptr<StepThread>;

// What the steps of an object are at.
class StepState {
public:
    explicit StepState(std::size_t triggers) : arrived(triggers) {}

    // Whether the messages that a statement expects are there, and taken. Else the thread waits.
    template <class Expectation> bool ready(const StepThreadPointer &thread, Expectation &&expect) {
        if (thread->expected.empty()) {
            thread->expected = expect();
            if (!take(*thread)) {
                waiting.push_back(thread);
                return false;
            }
        }
        thread->expected.clear();
        return true;
    }
    // Starts threads below one, which goes on at a step once they have ended.
    void fork(const StepThreadPointer &parent, int after,
              std::vector<std::pair<int, std::shared_ptr<StepScope>>> children) {
        parent->at = after;
        parent->children = static_cast<int>(children.size());
        if (children.empty())
            runnable.push_back(parent);
        for (auto &[at, scope] : children) {
            auto child = std::make_shared<StepThread>();
            child->at = at;
            child->scope = std::move(scope);
            child->parent = parent;
            runnable.push_back(std::move(child));
        }
    }
    void end(const StepThreadPointer &thread) {
        if (thread->parent != nullptr && --thread->parent->children == 0)
            runnable.push_back(thread->parent);
    }
    void arrive(int trigger, Arrived message) {
        auto &queue = arrived[static_cast<std::size_t>(trigger)];
        queue.push_back(std::move(message));
        for (auto at = waiting.begin(); at != waiting.end(); ++at) {
            // Nothing has changed for the others.
            if ((*at)->expects(trigger, queue.back()) && take(**at)) {
                runnable.push_back(*at);
                waiting.erase(at);
                return;
            }
        }
    }

    std::vector<std::deque<Arrived>> arrived;
    std::list<StepThreadPointer> waiting;
    std::deque<StepThreadPointer> runnable;
    // The stacks on which steps of this object run: user-level threads, null for the scheduler.
    // Those of a thread that waits do not keep others from running.
    std::vector<towpath_thread *> stacks;
    // The object has been deleted.
    bool has_ended = false;

    bool runs_on(towpath_thread *stack) const {
        return std::find(stacks.begin(), stacks.end(), stack) != stacks.end();
    }

private:
    // Takes all messages of an alternative, if all are there.
    bool take(StepThread &thread) {
        int last = thread.expected.back().alternative;
        for (int alternative = 0; alternative <= last; ++alternative) {
            if (take_alternative(thread, alternative)) {
                thread.alternative = alternative;
                return true;
            }
        }
        return false;
    }
    bool take_alternative(StepThread &thread, int alternative) {
        // A statement can expect several messages of one trigger.
        std::vector<std::pair<int, std::size_t>> found;
        for (const Expected &one : thread.expected) {
            if (one.alternative != alternative)
                continue;
            auto &queue = arrived[static_cast<std::size_t>(one.trigger)];
            std::size_t at = 0;
            auto is_found = [&] {
                return std::find(found.begin(), found.end(), std::make_pair(one.trigger, at)) !=
                       found.end();
            };
            while (at < queue.size() && (!one.is(queue[at]) || is_found()))
                ++at;
            if (at == queue.size())
                return false;
            found.emplace_back(one.trigger, at);
        }
        thread.taken.clear();
        thread.next_taken = 0;
        for (auto [trigger, at] : found)
            thread.taken.push_back(std::move(arrived[static_cast<std::size_t>(trigger)][at]));
        std::sort(found.rbegin(), found.rend());
        for (auto [trigger, at] : found) {
            auto &queue = arrived[static_cast<std::size_t>(trigger)];
            queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(at));
        }
        return true;
    }
};

// While steps of an object run on the stack that runs.
class RunningSteps {
public:
    explicit RunningSteps(StepState &state) : state(state), stack(towpath_thread_self()) {
        state.stacks.push_back(stack);
    }
    RunningSteps(const RunningSteps &) = delete;
    ~RunningSteps() {
        state.stacks.erase(std::find(state.stacks.begin(), state.stacks.end(), stack));
    }

private:
    StepState &state;
    towpath_thread *stack;
};

// Packs the threads of an object. Generated code makes its scopes again, by their kinds.
class StepPacker {
public:
    using MakeScope = std::shared_ptr<StepScope> (*)(int kind);

    StepPacker(PUP::er &p, MakeScope make) : p(p), make(make) {}

    void pup(StepState &state) {
        p | state.arrived;
        std::size_t count = PUP::detail::pup_count(p, state.waiting);
        if (p.isUnpacking())
            for (std::size_t i = 0; i < count; ++i)
                state.waiting.push_back(nullptr);
        for (StepThreadPointer &thread : state.waiting)
            shared(thread, threads, [&] { return std::make_shared<StepThread>(); });
    }

    void body(StepThread &thread) {
        p | thread.at;
        p | thread.children;
        p | thread.alternative;
        p | thread.expected;
        shared(thread.parent, threads, [] { return std::make_shared<StepThread>(); });
        scope(thread.scope);
    }
    void body(StepScope &one) {
        scope(one.outer);
        one.pup(p);
    }

private:
    void scope(std::shared_ptr<StepScope> &pointer) {
        int kind = pointer != nullptr ? pointer->kind() : -1;
        p | kind;
        shared(pointer, scopes, [&] { return make(kind); });
    }
    // An object that several point to is packed where it is met first.
    template <class T, class Make>
    void shared(std::shared_ptr<T> &pointer, std::vector<std::shared_ptr<T>> &known, Make &&fresh) {
        auto at = std::find(known.begin(), known.end(), pointer);
        std::int64_t number = pointer == nullptr ? -1 : at - known.begin();
        p | number;
        if (number < 0)
            return;
        if (static_cast<std::size_t>(number) < known.size()) {
            pointer = known[static_cast<std::size_t>(number)];
            return;
        }
        if (p.isUnpacking())
            pointer = fresh();
        known.push_back(pointer);
        body(*pointer);
    }

    PUP::er &p;
    MakeScope make;
    std::vector<StepThreadPointer> threads;
    std::vector<std::shared_ptr<StepScope>> scopes;
};

// The steps of an object: a member of classes with such methods.
class Steps {
public:
    explicit Steps(std::size_t triggers) : state(std::make_shared<StepState>(triggers)) {}
    Steps(const Steps &) = delete;
    ~Steps() { state->has_ended = true; }

    // Begins a method. Its first steps run at once.
    template <class Object>
    void start(Object *object, int at, std::shared_ptr<StepScope> scope) {
        auto thread = std::make_shared<StepThread>();
        thread->at = at;
        thread->scope = std::move(scope);
        std::shared_ptr<StepState> now = state;
        {
            RunningSteps on(*now);
            object->ck_advance(*now, thread);
        }
        run(object, now);
    }
    template <class Object> void arrive(Object *object, int trigger, Arrived message) {
        state->arrive(trigger, std::move(message));
        run(object, state);
    }
    void pup(PUP::er &p, StepPacker::MakeScope make) { StepPacker(p, make).pup(*state); }

private:
    // A step may delete the object, and this with it.
    template <class Object>
    static void run(Object *object, std::shared_ptr<StepState> now) {
        if (now->runs_on(towpath_thread_self()))
            return;
        RunningSteps on(*now);
        while (!now->has_ended && !now->runnable.empty()) {
            StepThreadPointer thread = std::move(now->runnable.front());
            now->runnable.pop_front();
            object->ck_advance(*now, thread);
        }
    }

    std::shared_ptr<StepState> state;
};

} // namespace ck

#endif
