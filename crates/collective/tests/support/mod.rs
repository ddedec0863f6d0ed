//! A rank as the owner of calls on boards, on the engine and the board of real wires.

use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_collective::board::{BoardOffer, Member, QueueOwner, TeamBoard};
use towpath_collective::select::Subscription;
use towpath_collective::{CollectiveRun, Placement, Progress, Selection, Team};
use towpath_engine::messages::{Messages, Outcome, Ticket};
use towpath_engine::{Engine, Limits};
use towpath_machine::memory;
use towpath_shm::Segment;
use towpath_wires::Wires;

/// What member 0 offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Offered {
    Board,
    /// A board, but the members must meet before they know whether they share cores.
    Uncertain,
    Nothing,
}

/// The engine of a rank, with the number of its messages.
pub(crate) struct Counted {
    pub(crate) engine: Engine<Wires>,
    pub(crate) sends: usize,
}

impl Messages for Counted {
    unsafe fn start_send(
        &mut self,
        to: PeerIndex,
        context: ContextId,
        tag: i32,
        immediate: u32,
        source: Source,
    ) -> Ticket {
        self.sends += 1;
        // SAFETY: as this function's contract says.
        unsafe { self.engine.start_send(to, context, tag, immediate, source) }
    }

    unsafe fn start_receive(
        &mut self,
        from: PeerIndex,
        context: ContextId,
        tag: i32,
        target: Target,
    ) -> Ticket {
        // SAFETY: as this function's contract says.
        unsafe { self.engine.start_receive(from, context, tag, target) }
    }

    fn poll(&mut self, ticket: Ticket) -> Option<Outcome> {
        self.engine.poll(ticket)
    }

    fn withdraw(&mut self, ticket: Ticket) -> bool {
        self.engine.withdraw(ticket)
    }

    fn take_back(&mut self, ticket: Ticket) {
        self.engine.take_back(ticket);
    }

    fn find_unmatched(
        &self,
        context: ContextId,
        wanted: &dyn Fn(i32, u32) -> bool,
    ) -> Option<(PeerIndex, u32)> {
        self.engine.find_unmatched(context, wanted)
    }
}

/// A rank as a member of a team.
#[derive(Clone)]
pub(crate) struct Caller {
    /// What member 0 of the team offers.
    pub(crate) offered: Offered,
    pub(crate) selection: Arc<Selection>,
    pub(crate) team: Team,
}

/// A team whose rank r is peer r, on these hosts.
pub(crate) fn team(rank: usize, hosts: &[u32]) -> Team {
    let peers = (0..hosts.len() as u32).map(PeerIndex).collect();
    let placement = Placement::new(hosts.iter().copied()).into();
    Team { context: ContextId::new(1, 1), rank, peers, placement }
}

impl Member for Caller {
    fn out_of_step(&mut self, member: usize) -> ! {
        panic!("member {member} is in another call")
    }

    fn progress(&mut self) {}
}

impl QueueOwner for Caller {
    type Engine = Counted;

    fn team(&self) -> Team {
        self.team.clone()
    }

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn offer(&self, counted: &mut Counted, longest: Option<usize>) -> BoardOffer {
        if self.team.rank > 0 || self.offered == Offered::Nothing {
            return BoardOffer::NOTHING;
        }
        let made = counted.engine.wire_mut().make_board(&self.team.peers, longest);
        let Some(location) = made else { return BoardOffer::NOTHING };
        BoardOffer::new(location, Subscription::Over, self.offered == Offered::Board)
    }

    fn look_again(&self, offer: BoardOffer) -> BoardOffer {
        if self.team.rank > 0 {
            return BoardOffer::NOTHING;
        }
        BoardOffer::new(offer.location(), Subscription::Full, true)
    }

    fn join(&self, counted: &Counted, offer: BoardOffer) -> TeamBoard {
        let (wires, team) = (counted.engine.wire(), &self.team);
        let board = wires.join_board(offer.location(), &team.peers, team.rank);
        TeamBoard::new(board, team.peers.clone(), &self.selection, offer.subscription())
    }
}

/// Goes on with calls that are started until all are over, in an order of this rank's own.
pub(crate) fn complete(runs: &mut [CollectiveRun<Caller>], counted: &mut Counted, rank: usize) {
    let mut left: Vec<usize> = (0..runs.len()).collect();
    left.rotate_left(rank * 5 % runs.len().max(1));
    while !left.is_empty() {
        counted.engine.progress();
        left.retain(|&number| match runs[number].post(counted).0 {
            Progress::Running => true,
            Progress::Compute => {
                runs[number].compute();
                true
            }
            Progress::Done => false,
            Progress::Failed(failure) => panic!("{failure}"),
        });
        std::thread::yield_now();
    }
}

/// Runs `calls` on all ranks, each a thread, in one segment. Returns the number of messages.
pub(crate) fn run(ranks: usize, calls: impl Fn(usize, &mut Counted) + Sync) -> usize {
    let file = memory::create_file("towpath-queued").unwrap();
    let engines = (0..ranks).map(|own| {
        let segment = Segment::map(&file, ranks, own).expect("memory for a segment");
        Engine::new(Wires::single_host(segment), Limits::from_settings(), ranks)
    });
    let engines: Vec<Engine<Wires>> = engines.collect();
    let (left, calls) = (&std::sync::Barrier::new(ranks), &calls);
    std::thread::scope(|scope| {
        let of_rank = |(rank, engine)| {
            scope.spawn(move || {
                let mut counted = Counted { engine, sends: 0 };
                calls(rank, &mut counted);
                left.wait();
                counted.sends
            })
        };
        let ranks: Vec<_> = engines.into_iter().enumerate().map(of_rank).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).sum()
    })
}
