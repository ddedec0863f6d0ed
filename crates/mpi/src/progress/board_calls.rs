//! Members of communicators as owners of calls on boards (`towpath_collective::board`), nonblocking
//! and persistent ones, and how communicators get boards.

use std::sync::Arc;

use towpath_base::ids::Plane;
use towpath_base::sync::Ordering;
use towpath_collective::board::{self, Begun, BoardOffer, Member, QueueOwner, QueuedCall, TeamBoard};
use towpath_collective::failure::in_other_call;
use towpath_collective::numbers::CallForm;
use towpath_collective::select::Subscription;
use towpath_collective::{HostCopies, Operation, Selection, Team};
use towpath_engine::Engine;
use towpath_wires::Wires;

use crate::objects::comm::Comm;
use crate::process::{Process, devices, ending};

/// A nonblocking or persistent call.
pub(crate) type BoardCall = QueuedCall<Caller>;

/// Begins the next nonblocking call on a communicator of one host, and tries it to its end.
///
/// # Safety
/// The memory that the operation and the copies name must live until the call is over.
pub(crate) unsafe fn begin(
    comm: &Arc<Comm>,
    process: &'static Process,
    work: (Operation, HostCopies),
    sequence: u64,
) -> Begun<Caller> {
    if comm.group.peers.len() == 1 || comm.group.placement().hosts() > 1 {
        return Begun::ByMessages(work);
    }
    let owner = || Caller { comm: comm.clone(), process, host: None };
    let queue = comm.queue(CallForm::Nonblocking);
    // SAFETY: this function has the same contract.
    unsafe { QueuedCall::begin(&mut Starter(comm), owner, queue, work, sequence) }
}

/// This process as a member of a communicator of one host, while it begins a call.
struct Starter<'a>(&'a Comm);

impl Member for Starter<'_> {
    fn out_of_step(&mut self, member: usize) -> ! {
        ending::end_job(1, &in_other_call(member, &self.0.in_words()))
    }

    fn progress(&mut self) {
        std::thread::yield_now();
    }
}

/// True if a persistent operation may use a board.
pub(crate) fn may_be_on_board(comm: &Comm, operation: &Operation, selection: &Selection) -> bool {
    let ranks = comm.group.peers.len();
    comm.group.placement().hosts() == 1 && board::may_use_board(operation, selection, ranks)
}

/// The offer of a board to the other members, see [`QueueOwner::offer`].
pub(crate) fn offer(team: &Team, process: &Process, wires: &mut Wires, longest: Option<usize>) -> BoardOffer {
    let make = |wires: &mut Wires| wires.make_board(&team.peers, longest);
    let location = if team.rank == 0 { make(wires) } else { None };
    let Some(location) = location else { return BoardOffer::NOTHING };
    let head = process.segment.head();
    let ranks = head.local_ranks.load(Ordering::Relaxed);
    let is_certain = head.affinities.load(Ordering::Relaxed) >= ranks;
    BoardOffer::new(location, subscription(process), is_certain).with_devices(devices::are_on_host())
}

/// The offer once all members have announced their affinity. Member 0 decides for all, because the
/// quota may change.
pub(crate) fn look_again(process: &Process, offer: BoardOffer) -> BoardOffer {
    BoardOffer::new(offer.location(), subscription(process), true).with_devices(offer.has_devices())
}

/// Joins the board that was offered.
pub(crate) fn join(team: &Team, selection: &Selection, wires: &Wires, offer: BoardOffer) -> TeamBoard {
    let board = wires.join_board(offer.location(), &team.peers, team.rank);
    let mut board = TeamBoard::new(board, team.peers.clone(), selection, offer.subscription());
    board.has_devices = offer.has_devices();
    board
}

fn subscription(process: &Process) -> Subscription {
    if process.ranks_share_cores() { Subscription::Over } else { Subscription::Full }
}

/// This process as a member of a communicator.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) comm: Arc<Comm>,
    pub(crate) process: &'static Process,
    /// The members on this host, if only they take part.
    pub(crate) host: Option<Box<Team>>,
}

impl Member for Caller {
    fn out_of_step(&mut self, member: usize) -> ! {
        let rank = self.comm.group.rank_of(self.team().peers[member]).unwrap_or(member);
        ending::end_job(1, &in_other_call(rank, &self.comm.in_words()))
    }

    fn progress(&mut self) {
        std::thread::yield_now();
    }
}

impl QueueOwner for Caller {
    type Engine = Engine<Wires>;

    fn team(&self) -> Team {
        self.host.as_deref().cloned().unwrap_or_else(|| self.comm.team(Plane::Collective))
    }

    fn selection(&self) -> &Selection {
        self.comm.selection().unwrap_or(&self.process.selection)
    }

    fn offer(&self, engine: &mut Engine<Wires>, longest: Option<usize>) -> BoardOffer {
        offer(&self.team(), self.process, engine.wire_mut(), longest)
    }

    fn look_again(&self, offer: BoardOffer) -> BoardOffer {
        look_again(self.process, offer)
    }

    fn join(&self, engine: &Engine<Wires>, offer: BoardOffer) -> TeamBoard {
        join(&self.team(), self.selection(), engine.wire(), offer)
    }
}
