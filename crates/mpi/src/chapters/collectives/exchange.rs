//! Neighbourhood collectives without a plan: each neighbour's message is copied from the head of
//! its stream into the buffer, without a request if it has arrived (fast path). Persistent calls
//! and data with gaps use a plan.

use std::mem::MaybeUninit;

use towpath_base::ids::Plane;
use towpath_collective::neighborhood::Neighborly;
use towpath_collective::numbers::CallForm;
use towpath_collective::{Failure, exchange_parts};
use towpath_engine::{Exchange, ExchangeMessage};
use towpath_neutral::abi::Handle;
use towpath_neutral::error::Result;

use super::execution::{CommView, Prepared};
use crate::objects::comm::Comm;
use crate::progress::request_table::{COMPLETE, RequestWork};
use crate::progress::wait_target::WaitTarget;
use crate::progress::{self, runs};

/// Maximum number of neighbours on each side for a call without a plan: the messages are on the
/// stack and are searched for each arrival. A three-dimensional stencil has 26.
const MOST: usize = 32;

/// A neighbourhood collective whose arguments are checked.
#[must_use = "a prepared call does nothing until it is waited for, begun or kept"]
pub struct NeighborCall<'a> {
    pub(super) view: CommView<'a>,
    pub(super) call: Neighborly<'a>,
}

impl<'a> NeighborCall<'a> {
    fn planned(self) -> Result<Prepared<'a>> {
        let NeighborCall { view, call } = self;
        view.planned(|place| call.plan(place))
    }

    /// Runs the call to completion.
    ///
    /// # Safety
    /// The memory that the call names must live during the call.
    #[inline]
    pub unsafe fn wait(self) -> Result<()> {
        let comm = self.view.comm;
        // SAFETY: the memory that the call names lives during the call (this function's contract).
        if let Some(outcome) = with_parts(comm, &self.call, CallForm::Blocking, |parts| unsafe { execute(parts, comm) })
        {
            return outcome;
        }
        // SAFETY: the memory that the call names lives during the call (this function's contract).
        unsafe { self.planned()?.wait_by_messages() }
    }

    /// Starts the call and returns a request for it.
    ///
    /// # Safety
    /// The memory that the call names must live until the request is complete.
    pub unsafe fn begin(self) -> Result<Handle> {
        let comm = self.view.comm;
        // SAFETY: the memory that the call names lives until the request is complete (this
        // function's contract).
        let begin = |parts: Exchange<'_>| unsafe { start(parts, comm) };
        if let Some(request) = with_parts(comm, &self.call, CallForm::Nonblocking, begin) {
            return request;
        }
        // SAFETY: the memory that the call names lives until the request is complete (this
        // function's contract).
        unsafe { self.planned()?.begin() }
    }

    /// Creates a persistent request for the call. No info keys are recognized.
    ///
    /// # Safety
    /// The memory that the call names must live whenever the request is active.
    pub unsafe fn keep(self, info: Handle) -> Result<Handle> {
        // SAFETY: the memory that the call names lives whenever the request is active (this
        // function's contract).
        unsafe { self.planned()?.keep(info) }
    }
}

/// Calls `then` with the exchange of a call; `None` if the call needs a plan. `then` must take the
/// sequence number once nothing can fail any more.
fn with_parts<R>(comm: &Comm, call: &Neighborly, form: CallForm, then: impl FnOnce(Exchange) -> R) -> Option<R> {
    let mut sends = [const { MaybeUninit::<ExchangeMessage>::uninit() }; MOST];
    let mut receives = [const { MaybeUninit::<ExchangeMessage>::uninit() }; MOST];
    let sequence = comm.coming_sequence(form);
    let (sent, received) = exchange_parts(call, &comm.group.peers, sequence, &mut sends, &mut receives)?;
    let written = |parts: &mut [MaybeUninit<ExchangeMessage>]| std::ptr::from_mut(parts) as *mut [ExchangeMessage];
    // SAFETY: `exchange_parts` has initialized the first `sent` and `received` elements, and
    // `MaybeUninit<T>` has the layout of `T`.
    let (sends, receives) = unsafe { (&mut *written(&mut sends[..sent]), &mut *written(&mut receives[..received])) };
    let context = comm.context().on(Plane::Collective);
    Some(then(Exchange { context, sends, receives, truncated: false, lost: None }))
}

/// Runs an exchange to completion.
///
/// # Safety
/// The memory of its messages must live during the call.
unsafe fn execute(mut exchange: Exchange, comm: &Comm) -> Result<()> {
    let worker = progress::worker()?;
    comm.next_sequence(CallForm::Blocking);
    let rounds = worker.spin_rounds();
    let mut state = worker.hold();
    // SAFETY: the memory of the messages lives during the call (this function's contract), and this
    // function waits until all messages are complete.
    let done = unsafe { exchange.begin(&mut state.engine, rounds) };
    drop(state);
    worker.nudge();
    if !done {
        let context = exchange.context;
        worker.wait_for(
            |_| WaitTarget::Members(context),
            |state| exchange.take_completed(&mut state.engine).then_some(()),
        );
    }
    match (exchange.lost, exchange.truncated) {
        (None, false) => Ok(()),
        (lost, _) => failed(lost.map_or(Failure::Truncated, |peer| Failure::Lost { peer })),
    }
}

/// Starts an exchange and returns a request for the messages in flight.
///
/// # Safety
/// The memory of its messages must live until the request is complete.
unsafe fn start(mut exchange: Exchange, comm: &Comm) -> Result<Handle> {
    let worker = progress::worker()?;
    let mut state = worker.hold();
    let entry = state.requests.reserve()?;
    comm.next_sequence(CallForm::Nonblocking);
    // SAFETY: the memory of the messages lives until the request is complete (this function's
    // contract). One round of polling takes the messages that have arrived.
    let done = unsafe { exchange.begin(&mut state.engine, 1) };
    let request = match done && !exchange.truncated && exchange.lost.is_none() {
        true => {
            state.requests.give_back(entry);
            COMPLETE
        }
        false => state.requests.fill(entry, RequestWork::Exchange(exchange.rest()), comm.handle(), None),
    };
    drop(state);
    worker.nudge();
    Ok(request)
}

#[cold]
fn failed(failure: Failure) -> Result<()> {
    Err(runs::failed(failure))
}
