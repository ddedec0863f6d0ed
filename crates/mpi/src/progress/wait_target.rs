//! Publishes what a blocked call waits for in the process's control page, so that `mpiexec` can
//! show where a job hangs.
//!
//! A wait is published before its first sleep, so calls that end while they spin or yield pay
//! nothing. Only the thread that polls for the process publishes; with several threads in MPI, the
//! page shows what one of them waits for.

use towpath_base::control::{Awaited, BlockedCall, ControlPage};
use towpath_base::ids::{ContextId, PeerIndex, Plane};
use towpath_base::sync::Ordering;
use towpath_collective::Failure;
use towpath_collective::failure::FormedCall;
use towpath_collective::order::PlacedCall;
use towpath_collective::runs::RunId;
use towpath_engine::{Pending, RequestId};
use towpath_neutral::abi::Handle;
use towpath_neutral::constants::{COMM_SELF, COMM_WORLD};

use super::request_table::RequestWork;
use super::state::State;
use crate::objects::comm::Comm;
use crate::objects::registry::{self, OBJECTS};
use crate::process;

/// A wait is long after this many nanoseconds.
const LONG_WAIT: u64 = 1_000_000_000;

/// What a blocked call waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitTarget {
    /// Nothing more specific than the name of the call.
    Other,
    /// This engine request, in this context.
    Message(ContextId, RequestId),
    /// A message that matches a probe; `None` is a wildcard.
    Probe(ContextId, Option<PeerIndex>, Option<i32>),
    /// The other members of the communicator with this context.
    Members(ContextId),
    /// A line on the board of the communicator with this context.
    Line(ContextId),
    /// This run of the members of the communicator with this context.
    Run(ContextId, RunId),
    /// This request handle of the program.
    Request(Handle),
}

/// A published wait. Dropping it withdraws it.
#[derive(Default)]
pub(crate) struct PublishedWait {
    page: Option<&'static ControlPage>,
    /// That another rank is in a call that cannot meet this one.
    contradiction: Option<Failure>,
}

impl PublishedWait {
    /// Publishes the wait; later calls do nothing.
    #[cold]
    pub(crate) fn publish(&mut self, state: &State, target: impl Fn(&State) -> WaitTarget) {
        if self.page.is_some() {
            return;
        }
        let Some(page) = process::page() else { return };
        let mut blocked = describe(state, target(state));
        blocked.call = page.last_call.load(Ordering::Relaxed);
        blocked.since = towpath_machine::clock::nanoseconds();
        page.publish_blocked(&blocked);
        self.page = Some(page);
    }

    /// The failure of a collective call if a rank of this host waits long in another one that
    /// cannot meet it. It is returned when it is looked for again: until then the other rank can
    /// find it too.
    #[cold]
    pub(crate) fn find_contradiction(&mut self) -> Option<Failure> {
        if let Some(found) = self.contradiction.take() {
            return Some(found);
        }
        let own = PlacedCall::from_words(self.page?.blocked()?.place)?;
        let (now, formed) = (towpath_machine::clock::nanoseconds(), FormedCall::from);
        self.contradiction = process::blocked_here().find_map(|(peer, blocked)| {
            let theirs = PlacedCall::from_words(blocked.place)?;
            let is_long = now.saturating_sub(blocked.since) >= LONG_WAIT;
            let failure = || Failure::Order { peer, own: formed(own), theirs: formed(theirs) };
            (is_long && own.contradicts(&theirs)).then(failure)
        });
        None
    }
}

impl Drop for PublishedWait {
    #[inline]
    fn drop(&mut self) {
        if let Some(page) = self.page {
            page.withdraw_blocked();
        }
    }
}

fn describe(state: &State, target: WaitTarget) -> BlockedCall {
    match target {
        WaitTarget::Other => BlockedCall::default(),
        WaitTarget::Message(context, id) => match state.engine.pending(id) {
            Some(pending) => with_comm(context, |comm| message(pending, [Awaited::Receive, Awaited::Send], comm)),
            None => BlockedCall::default(),
        },
        WaitTarget::Probe(context, peer, tag) => {
            let pending = Pending { receives: true, peer, tag };
            with_comm(context, |comm| message(pending, [Awaited::Receive, Awaited::Send], comm))
        }
        WaitTarget::Members(context) => with_comm(context, members),
        WaitTarget::Line(context) | WaitTarget::Run(context, _) => with_comm(context, |comm| {
            let place = comm.and_then(Comm::last_blocking).map_or_else(Default::default, |call| call.words());
            BlockedCall { place, ..members(comm) }
        }),
        WaitTarget::Request(request) => describe_request(state, request),
    }
}

fn describe_request(state: &State, request: Handle) -> BlockedCall {
    let Ok((work, comm)) = state.requests.work_on(request) else { return BlockedCall::default() };
    let comm = if comm.0 == 0 { None } else { registry::comm(comm).ok() };
    let comm = comm.as_deref();
    let kinds = [Awaited::ReceiveRequest, Awaited::SendRequest];
    let engine = &state.engine;
    let pending = match work {
        RequestWork::Send(id) | RequestWork::Receive(id) => engine.pending(*id),
        RequestWork::Both(send, receive) => receive.and_then(|id| engine.pending(id)).or_else(|| engine.pending(*send)),
        RequestWork::Run(_) | RequestWork::Exchange(_) => {
            let (awaited, communicator) = (Awaited::CollectiveRequest as u32, in_words(comm));
            let place = placed(state, work).map_or_else(Default::default, |call| call.words());
            return BlockedCall { awaited, communicator, place, ..BlockedCall::default() };
        }
        RequestWork::Generalized(_) => {
            return BlockedCall { awaited: Awaited::GeneralizedRequest as u32, ..BlockedCall::default() };
        }
        RequestWork::Flush(_) | RequestWork::Sent(_) | RequestWork::Done(_) | RequestWork::Inactive => None,
    };
    pending.map_or_else(BlockedCall::default, |pending| message(pending, kinds, comm))
}

fn members(comm: Option<&Comm>) -> BlockedCall {
    BlockedCall { awaited: Awaited::Members as u32, communicator: in_words(comm), ..BlockedCall::default() }
}

/// The collective call behind a request, with its place.
fn placed(state: &State, work: &RequestWork) -> Option<PlacedCall> {
    let RequestWork::Run(id) = work else { return None };
    let (order, signature) = state.runs.placed(*id)?;
    Some(PlacedCall { order, signature })
}

fn message(pending: Pending, [receive, send]: [Awaited; 2], comm: Option<&Comm>) -> BlockedCall {
    let rank_of = |peer: PeerIndex| match comm {
        Some(comm) => comm.targets().iter().position(|&other| other == peer).map_or(-1, |rank| rank as i32),
        None => process::rank_in_own_job(peer).map_or(-1, |rank| rank as i32),
    };
    BlockedCall {
        awaited: if pending.receives { receive } else { send } as u32,
        peer: pending.peer.map_or(-1, rank_of),
        tag: pending.tag.unwrap_or(-1),
        communicator: in_words(comm),
        ..BlockedCall::default()
    }
}

/// True if `peer` belongs to the communicator of `context` and may send in it.
pub(crate) fn is_member(context: ContextId, peer: PeerIndex) -> bool {
    with_comm(context, |comm| comm.is_some_and(|comm| comm.targets().contains(&peer)))
}

/// Calls `then` with the communicator of a context, or with `None` if the program has none.
fn with_comm<R>(context: ContextId, then: impl FnOnce(Option<&Comm>) -> R) -> R {
    let context = context.on(Plane::PointToPoint);
    let found = [COMM_WORLD, COMM_SELF]
        .into_iter()
        .filter_map(|handle| registry::comm(handle).ok())
        .find(|comm| comm.context() == context)
        .or_else(|| OBJECTS.comms.find(|comm| comm.context() == context));
    then(found.as_deref())
}

fn in_words(comm: Option<&Comm>) -> Vec<u8> {
    comm.map_or_else(Vec::new, |comm| comm.in_words().into_bytes())
}
