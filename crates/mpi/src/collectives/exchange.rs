//! How neighbourhood collectives are run: straight between the streams of the neighbours, without a
//! plan and, where what is expected is there, without requests (small path); persistent ones, and
//! data with gaps, by a plan.

use std::mem::MaybeUninit;

use towpath_base::ids::Plane;
use towpath_collective::Failure;
use towpath_collective::neighborhood::Neighborly;
use towpath_engine::{Exchange, Part};

use super::execution::{Ground, Prepared};
use crate::comm::{Comm, Form};
use crate::error::Result;
use crate::face::Handle;
use crate::request_table::{COMPLETE, Work};
use crate::wait_target::WaitTarget;
use crate::{runs, world};

/// Neighbours on each side up to which a call goes this way: that many lie on the stack and are
/// looked through for each message. A stencil in three dimensions has 26.
const MOST: usize = 32;

/// A neighbourhood collective whose arguments are checked.
pub(super) struct Among<'a> {
    pub(super) ground: Ground<'a>,
    pub(super) call: Neighborly<'a>,
}

impl<'a> Among<'a> {
    fn planned(self) -> Result<Prepared<'a>> {
        let Among { ground, call } = self;
        ground.planned(|place| call.plan(place))
    }

    /// Runs it to its end.
    ///
    /// # Safety
    /// The memory that the call names must live during the call.
    pub(super) unsafe fn wait(self) -> Result<()> {
        let comm = self.ground.comm;
        // SAFETY: promised by the caller.
        if let Some(outcome) = with_parts(comm, &self.call, Form::Blocking, |parts| unsafe { execute(parts, comm) }) {
            return outcome;
        }
        // SAFETY: promised by the caller.
        unsafe { self.planned()?.wait_by_messages() }
    }

    /// Starts it and names it by a request.
    ///
    /// # Safety
    /// The memory that the call names must live until the request is complete.
    pub(super) unsafe fn begin(self) -> Result<Handle> {
        let comm = self.ground.comm;
        // SAFETY: promised by the caller.
        if let Some(request) = with_parts(comm, &self.call, Form::Nonblocking, |parts| unsafe { start(parts, comm) }) {
            return request;
        }
        // SAFETY: promised by the caller.
        unsafe { self.planned()?.begin() }
    }

    /// Makes a persistent request of it.
    ///
    /// # Safety
    /// The memory that the call names must live whenever the request is active.
    pub(super) unsafe fn keep(self) -> Result<Handle> {
        // SAFETY: promised by the caller.
        unsafe { self.planned()?.keep() }
    }
}

/// Makes an exchange of the call, if it fits, and hands it over; `None` when nothing happened.
/// Whoever runs it takes the sequence number, once nothing can be refused any more.
fn with_parts<R>(comm: &Comm, call: &Neighborly, form: Form, then: impl FnOnce(Exchange) -> R) -> Option<R> {
    let mut sends = [const { MaybeUninit::<Part>::uninit() }; MOST];
    let mut receives = [const { MaybeUninit::<Part>::uninit() }; MOST];
    let sequence = comm.coming_sequence(form);
    let (sent, received) = call.parts(&comm.group.peers, sequence, &mut sends, &mut receives)?;
    let written = |parts: &mut [MaybeUninit<Part>]| std::ptr::from_mut(parts) as *mut [Part];
    // SAFETY: `parts` wrote so many, and a part that is written lies as one that may not be.
    let (sends, receives) = unsafe { (&mut *written(&mut sends[..sent]), &mut *written(&mut receives[..received])) };
    let context = comm.context().on(Plane::Collective);
    Some(then(Exchange { context, rank: comm.rank as u32, sends, receives, truncated: false, lost: false }))
}

/// Runs an exchange to its end.
///
/// # Safety
/// The memory of its parts must live during the call.
unsafe fn execute(mut exchange: Exchange, comm: &Comm) -> Result<()> {
    let lane = world::lane()?;
    comm.next_sequence(Form::Blocking);
    let rounds = lane.patience();
    let mut state = lane.hold();
    // SAFETY: promised by the caller.
    let done = unsafe { exchange.begin(&mut state.engine, rounds) };
    drop(state);
    lane.nudge();
    if !done {
        let context = exchange.context;
        lane.wait_for(|_| WaitTarget::Members(context), |state| exchange.settle(&mut state.engine).then_some(()));
        lane.choose_patience(world::is_crowded());
    }
    match (exchange.lost, exchange.truncated) {
        (false, false) => Ok(()),
        (lost, _) => failed(if lost { Failure::Lost } else { Failure::Truncated }),
    }
}

/// Starts an exchange and names what is under way by a request.
///
/// # Safety
/// The memory of its parts must live until the request is complete.
unsafe fn start(mut exchange: Exchange, comm: &Comm) -> Result<Handle> {
    let lane = world::lane()?;
    let mut state = lane.hold();
    let place = state.requests.place()?;
    comm.next_sequence(Form::Nonblocking);
    // SAFETY: promised by the caller. One look takes what is here already.
    let done = unsafe { exchange.begin(&mut state.engine, 1) };
    let request = match done && !exchange.truncated && !exchange.lost {
        true => {
            state.requests.give_back(place);
            COMPLETE
        }
        false => state.requests.fill(place, Work::Exchange(exchange.rest()), comm.handle(), None),
    };
    drop(state);
    lane.nudge();
    Ok(request)
}

#[cold]
fn failed(failure: Failure) -> Result<()> {
    Err(runs::failed(failure))
}
