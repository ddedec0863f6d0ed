//! How neighbourhood collectives are run: a blocking one straight between the streams of the neighbours, without plan and
//! requests (small path); others, and data with gaps, by a plan.

use std::mem::MaybeUninit;

use towpath_base::ids::Plane;
use towpath_collective::Failure;
use towpath_collective::neighborhood::Neighborly;
use towpath_engine::{Exchange, Part};

use super::execution::{Ground, Prepared};
use crate::comm::{Comm, Form};
use crate::error::Result;
use crate::face::Handle;
use crate::{runs, world};

/// Neighbours on each side up to which a call goes this way: that many lie on the stack and are looked through for each
/// message. A stencil in three dimensions has 26.
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
        // SAFETY: promised by the caller.
        if let Some(outcome) = unsafe { try_execute(self.ground.comm, &self.call) } {
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

/// Executes the call if it fits; `None` when nothing happened.
///
/// # Safety
/// The memory that the call names must live during the call.
unsafe fn try_execute(comm: &Comm, call: &Neighborly) -> Option<Result<()>> {
    let mut sends = [const { MaybeUninit::<Part>::uninit() }; MOST];
    let mut receives = [const { MaybeUninit::<Part>::uninit() }; MOST];
    let sequence = comm.coming_sequence(Form::Blocking);
    let (sent, received) = call.parts(&comm.group.peers, sequence, &mut sends, &mut receives)?;
    comm.next_sequence(Form::Blocking);
    // SAFETY: `parts` wrote so many.
    let (sends, receives) = unsafe { (sends[..sent].assume_init_mut(), receives[..received].assume_init_mut()) };
    let context = comm.context().on(Plane::Collective);
    let exchange = Exchange { context, rank: comm.rank as u32, sends, receives, truncated: false, lost: false };
    // SAFETY: promised by the caller.
    Some(unsafe { execute(exchange) })
}

/// # Safety
/// As [`try_execute`].
unsafe fn execute(mut exchange: Exchange) -> Result<()> {
    let lane = world::lane()?;
    let rounds = lane.patience();
    let mut state = lane.hold();
    // SAFETY: promised by the caller.
    let done = unsafe { exchange.begin(&mut state.engine, rounds) };
    drop(state);
    lane.nudge();
    if !done {
        lane.wait_for(|state| exchange.settle(&mut state.engine).then_some(()));
        lane.choose_patience(world::is_crowded());
    }
    match (exchange.lost, exchange.truncated) {
        (false, false) => Ok(()),
        (lost, _) => failed(if lost { Failure::Lost } else { Failure::Truncated }),
    }
}

#[cold]
fn failed(failure: Failure) -> Result<()> {
    Err(runs::failed(failure))
}
