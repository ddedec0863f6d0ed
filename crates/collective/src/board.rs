//! Collectives on a board: every rank writes its part once, where all others can read it.
//!
//! A call consists of rounds, whose number all ranks derive from the bytes of the call. In a round,
//! each rank that provides data posts a chunk, and each rank that needs data reads the chunks of
//! others. There is no tree: when oversubscribed, each level of a tree costs a context switch, and
//! with few ranks a tree saves nothing (figures: research on collectives, section 2.2).
//!
//! Blocking and nonblocking calls have one source, the modules in `board/calls`, which are compiled
//! twice. It is written as asynchronous functions, which a nonblocking call ([`PendingCall`]) runs:
//! where it waits for another member, it is suspended until it is polled again. For blocking calls
//! the attribute `both_forms` turns them into ordinary functions, which wait in the caller's
//! [`WaitLoop`]: a call of 100 ns has no time for states in memory.

mod apart;
mod limits;
mod notices;
mod offer;
mod queue;
mod queued;
mod records;
mod team;

pub use limits::{BoardLimits, Need};
pub use notices::BoardNotices;
pub(crate) use notices::CallBeside;
pub use offer::BoardOffer;
pub use queue::{BoardQueue, BoardState, may_use_board};
pub(crate) use queued::renumbered;
pub use queued::{Begun, QueueOwner, QueuedCall, number_of};
pub use team::{BoardOutcome, CallState, CompleteCall, PendingCall, TeamBoard};
pub use towpath_engine::board::NumberedCall;

/// The calls as ordinary functions.
#[path = "board/calls"]
mod blocking {
    mod call;
    mod direct;
    mod movement;
    mod reductions;

    use maybe_async::must_be_sync as both_forms;

    use super::WaitLoop;
    pub(super) use call::perform;

    /// Number of polls of a line before waiting, when not oversubscribed.
    const LOOKS: u32 = 64;

    /// The owner of a call.
    type Waiter<'a> = dyn WaitLoop + 'a;

    /// Returns when `ready` returns true, see [`WaitLoop::wait`].
    fn wait_until(waiter: &mut Waiter<'_>, mut ready: impl FnMut(bool) -> bool) {
        waiter.wait(&mut ready);
    }

    /// True if the call must be suspended where it would wait.
    #[inline(always)]
    fn pauses(_: &Waiter<'_>) -> bool {
        false
    }
}

/// The calls as functions that are suspended where they wait.
#[path = "board/calls"]
#[expect(clippy::duplicate_mod, reason = "one source of blocking and nonblocking calls")]
mod suspending {
    mod call;
    mod direct;
    mod movement;
    mod reductions;

    use std::future::poll_fn;
    use std::task::Poll;

    use maybe_async::must_be_async as both_forms;

    use super::team::PolledMember;
    pub(super) use call::perform;

    /// Number of polls of a line before the call is suspended, when not oversubscribed: for less
    /// time than it takes to suspend it and to find it again. A member that has been suspended is
    /// late for the next call, so with 64 polls two ranks kept suspending each other in turn.
    const LOOKS: u32 = 128;

    /// The owner of a call.
    type Waiter<'a> = PolledMember<'a>;

    /// Suspends the call until `ready` returns true or the call must end, see
    /// [`WaitLoop::wait`](super::WaitLoop::wait).
    async fn wait_until(waiter: &mut Waiter<'_>, mut ready: impl FnMut(bool) -> bool) {
        if pauses(waiter) || !ready(false) {
            waiter.suspend();
            let mut poll = || ready(waiter.has_waited_long()) || waiter.must_stop();
            let mut is_over = || !waiter.pauses() && poll();
            poll_fn(|_| if is_over() { Poll::Ready(()) } else { Poll::Pending }).await;
        }
    }

    /// True if the call must be suspended where it would wait.
    fn pauses(waiter: &Waiter<'_>) -> bool {
        waiter.pauses()
    }
}

/// The member that calls.
pub trait Member {
    /// Ends the job: `member` is in a different call on the communicator than this rank. The ranks
    /// have not called the same collectives with matching sizes, so the content of the board cannot
    /// be trusted.
    fn out_of_step(&mut self, member: usize) -> !;
    /// Called again and again while a device is busy with data of this call. Makes a round of
    /// progress, or yields if the call is itself polled by one.
    fn progress(&mut self);
}

/// The member that calls, and waits for others.
pub trait WaitLoop: Member {
    /// Returns once `ready` returns true, which it does after another member has posted or finished
    /// what this one waits for, or if the call must end. Passes true about once a second: `ready`
    /// then also looks for members in other calls.
    fn wait(&mut self, ready: &mut dyn FnMut(bool) -> bool);
}
