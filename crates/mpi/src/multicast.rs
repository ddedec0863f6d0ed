//! The group by which the blocking collectives of a communicator reach all its hosts at once: made
//! when the first of them can use one, left when the communicator is freed.
//!
//! The first rank of each host on a communicator is the one that receives, and passes on inside its
//! host. Any rank may send. All members take these steps in the same calls, because all come to the
//! same answers: they tell each other how frames reach the others, join the group, and try it with
//! a few empty messages. Where not everybody hears one of them, there is no group.

use std::sync::Arc;

use towpath_base::ids::{PeerIndex, Plane};
use towpath_base::sync::{AtomicU32, Ordering};
use towpath_clic::multicast::FEWEST_RECEIVERS;
use towpath_clic_wire::port::Carrier;
use towpath_clic_wire::{Clic, Reach};
use towpath_collective::multicast::{self as cast, Cast};
use towpath_collective::{Buffer, Call, Failure, Operation, Pays, Selection};
use towpath_engine::messages::Team;

use crate::comm::{Comm, Form};
use crate::error::Result;
use crate::internal::{gather_everywhere, plan_failed, run};
use crate::lane::{Lane, State};
use crate::runs::failed;
use crate::wait_target::WaitTarget;
use crate::world;

/// What a communicator knows of its group.
#[derive(Debug)]
pub(crate) enum Place {
    /// So many calls could have used one, if there is one.
    Unknown(u32),
    /// There is none: too few hosts, or frames to a group do not reach them.
    Missing,
    /// Made.
    Made(Box<Group>),
}

impl Default for Place {
    fn default() -> Place {
        Place::Unknown(0)
    }
}

/// A group that this process has joined.
#[derive(Debug)]
pub(crate) struct Group {
    number: u32,
    chunk: u16,
    pays: Pays,
    /// The ranks of each host.
    hosts: Vec<Vec<usize>>,
    /// Which of them is mine.
    own: usize,
    /// This process has sent already.
    sends: bool,
}

/// Groups that this process has given numbers to; a number is its own and one of these, each of 16
/// bits.
static NUMBERS: AtomicU32 = AtomicU32::new(0);
/// Numbers that a communicator takes: one for each way by which its frames may go, so that nothing
/// of one attempt is taken for the next.
const NUMBERS_EACH: u32 = 2;
/// As many calls go by messages before a group is made, which takes as long as several of them.
const CALLS: u32 = 8;
/// Before anything is known about frames. A group pays for nothing else: up to the first messages
/// are quicker, since they need no answer; beyond the second the copies that receivers make cost
/// more than what the sender saves.
const MAY_PAY: Pays = Pays(4 << 10, 256 << 10);
/// Only where it is forced.
const NEVER: Pays = Pays(0, 0);
/// What fits into so many frames goes by messages: those need no answer, so that many are under way
/// at a time.
const FEW_FRAMES: i64 = 5;
/// With more frames that go one by one, connections are quicker where they carry large messages,
/// because the system makes frames of 64 KiB at once.
const STREAM_FRAMES: i64 = 12;
/// Empty messages by which a new group is tried: some may get lost on any network.
const TRIALS: usize = 3;

/// Executes a call by multicast; `None` when it must be done otherwise.
///
/// # Safety
/// The memory that the operation names must be as the standard asks.
pub(crate) unsafe fn try_execute(comm: &Comm, operation: &Operation, selection: &Selection) -> Option<Result<()>> {
    let size = comm.group.peers.len();
    let is_wanted = |pays: Pays| cast::is_wanted(operation, selection, size, pays);
    // What no group could be for is known from the call alone, and most calls are that.
    if size <= FEWEST_RECEIVERS
        || !is_wanted(MAY_PAY)
        || !world::lane().is_ok_and(|lane| lane.hold().engine.wire().clic().is_some_and(Clic::reaches_all))
    {
        return None;
    }
    let mut place = comm.cast.lock().unwrap();
    if let Place::Unknown(calls) = &mut *place {
        *calls += 1;
        if *calls <= CALLS && !is_wanted(NEVER) {
            return None;
        }
        match establish(comm) {
            Ok(made) => *place = made,
            Err(error) => return Some(Err(error)),
        }
    }
    let Place::Made(group) = &mut *place else { return None };
    if !is_wanted(group.pays) {
        return None;
    }
    // SAFETY: promised by the caller.
    Some(unsafe { execute(comm, group, operation, selection) })
}

/// # Safety
/// As [`try_execute`].
unsafe fn execute(comm: &Comm, group: &mut Group, operation: &Operation, selection: &Selection) -> Result<()> {
    let team = comm.team(Plane::Collective);
    let mut bytes = match operation {
        Operation::Barrier => vec![0; team.size()],
        _ => Vec::new(),
    };
    let parts = cast::parts(operation, &Call { team: &team, selection }, &mut bytes).map_err(plan_failed)?;
    if let Some(before) = parts.before {
        // SAFETY: promised by the caller; `bytes` lives until the end.
        unsafe { run(before, comm.next_sequence(Form::Blocking)) }?;
    }
    // SAFETY: as above.
    unsafe { group.broadcast(comm, parts.root, &parts.data, selection) }
}

impl Group {
    /// # Safety
    /// The memory of the data must live and be left alone during the call.
    unsafe fn broadcast(&mut self, comm: &Comm, root: usize, data: &Buffer, selection: &Selection) -> Result<()> {
        let sequence = comm.next_sequence(Form::Blocking);
        // SAFETY: promised by the caller.
        let outcome = unsafe { self.between_hosts(comm, root, data) }?;
        let mates = &self.hosts[self.own];
        let is_near = mates.contains(&root);
        if mates.len() > 1 && outcome != Err(Failure::Lost) {
            let place = |rank: usize| mates.iter().position(|mate| *mate == rank).unwrap_or(0);
            let peers: Arc<[PeerIndex]> = mates.iter().map(|mate| comm.group.peers[*mate]).collect();
            let team = Team { rank: place(comm.rank), peers, ..comm.team(Plane::Collective) };
            let source = if is_near { root } else { mates[0] };
            let plan = cast::pass_on(&Call { team: &team, selection }, place(source), data).map_err(plan_failed)?;
            // SAFETY: promised by the caller.
            unsafe { run(plan, sequence) }?;
        }
        outcome.map_err(failed)
    }

    /// From the root to the first ranks of the other hosts.
    ///
    /// # Safety
    /// As [`Group::broadcast`].
    unsafe fn between_hosts(
        &mut self,
        comm: &Comm,
        root: usize,
        data: &Buffer,
    ) -> Result<std::result::Result<(), Failure>> {
        let mates = &self.hosts[self.own];
        let receives = comm.rank == mates[0] && !mates.contains(&root);
        let lane = world::lane()?;
        let mut link = Link { lane, number: self.number, chunk: self.chunk, root: comm.group.peers[root] };
        Ok(if comm.rank == root {
            if !self.sends {
                let receivers: Vec<PeerIndex> = self.others().map(|ranks| comm.group.peers[ranks[0]]).collect();
                lane.with(|state| wire(state).send_to_group(self.number, self.chunk, &receivers));
                self.sends = true;
            }
            // SAFETY: promised by the caller.
            unsafe { cast::send(data, &mut link) }
        } else if receives {
            lane.with(|state| wire(state).listen_to(link.root, self.number, self.chunk));
            lane.nudge();
            // SAFETY: promised by the caller.
            unsafe { cast::receive(data, &mut link) }
        } else {
            Ok(())
        })
    }

    /// The ranks of the other hosts.
    fn others(&self) -> impl Iterator<Item = &Vec<usize>> {
        self.hosts.iter().enumerate().filter(|(host, _)| *host != self.own).map(|(_, ranks)| ranks)
    }
}

/// The wire by which groups are reached.
///
/// # Panics
/// Where there is none: then there is no group.
fn wire(state: &mut State) -> &mut Clic {
    state.engine.wire_mut().clic_mut().expect("a group is reached by frames")
}

/// Messages of one root, waited for in the lane's loop.
struct Link {
    lane: &'static Lane,
    number: u32,
    chunk: u16,
    root: PeerIndex,
}

impl Cast for Link {
    fn longest(&self) -> usize {
        Clic::longest_broadcast(self.chunk)
    }

    fn send(&mut self, length: usize, fill: &mut dyn FnMut(*mut u8)) -> std::result::Result<(), Failure> {
        let number = self.number;
        self.lane
            .wait_for(|_| WaitTarget::Other, |state| wire(state).broadcast(number, length, &mut *fill).then_some(()));
        self.lane.nudge();
        Ok(())
    }

    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> std::result::Result<(), Failure> {
        let (root, number, chunk) = (self.root, self.number, self.chunk);
        let target = |_: &State| WaitTarget::Other;
        self.lane.wait_for(target, |state| {
            let wire = wire(state);
            match wire.take_broadcast(root, number, chunk, &mut *take) {
                Some(()) => Some(Ok(())),
                None => (!wire.hears(root)).then_some(Err(Failure::Lost)),
            }
        })
    }
}

/// What all members must know of each other: everything in one word.
fn said(reach: Option<Reach>, streams: bool, number: u32) -> u64 {
    let Some(Reach { raw, chunk, .. }) = reach else { return 0 };
    1 | u64::from(raw) << 1 | u64::from(streams) << 2 | u64::from(chunk) << 16 | u64::from(number) << 32
}

/// Whether somebody's large messages go by connections.
fn streams(said: &[u64]) -> bool {
    said.iter().any(|said| said >> 2 & 1 != 0)
}

/// For which lengths a group pays whose frames carry so much, and go by this carrier; large
/// messages go by connections, or not.
fn pays(chunk: u16, by: Carrier, streams: bool) -> Pays {
    let most = if streams && by == Carrier::Raw { STREAM_FRAMES * i64::from(chunk) } else { i64::MAX };
    Pays(MAY_PAY.0.max(FEW_FRAMES * i64::from(chunk)), MAY_PAY.1.min(most))
}

/// True when all members say so.
fn all_say(comm: &Comm, mine: bool) -> Result<bool> {
    let team = comm.team(Plane::Collective);
    let all = gather_everywhere(&team, comm.next_sequence(Form::Blocking), &[u64::from(mine)])?;
    Ok(all.iter().all(|said| *said != 0))
}

#[cold]
fn establish(comm: &Comm) -> Result<Place> {
    let world = world::world()?;
    let (peers, host_of) = (&comm.group.peers, &world.job.node_of_rank);
    let mut hosts: Vec<(u32, Vec<usize>)> = Vec::new();
    for (rank, peer) in peers.iter().enumerate() {
        let host = host_of[peer.slot()];
        match hosts.iter_mut().find(|(known, _)| *known == host) {
            Some((_, ranks)) => ranks.push(rank),
            None => hosts.push((host, vec![rank])),
        }
    }
    if hosts.len() <= FEWEST_RECEIVERS {
        return Ok(Place::Missing);
    }
    let hosts: Vec<Vec<usize>> = hosts.into_iter().map(|(_, ranks)| ranks).collect();
    let own = hosts.iter().position(|ranks| ranks.contains(&comm.rank)).unwrap_or(0);
    let Some((reach, streams, first)) = agree(comm, &world.lane, &hosts, own)? else { return Ok(Place::Missing) };
    let mut group = Group { number: first, chunk: reach.chunk, pays: NEVER, hosts, own, sends: false };
    for (number, by) in (first..).zip(reach.carriers()) {
        (group.number, group.sends) = (number, false);
        group.pays = pays(reach.chunk, *by, streams);
        let joined = world.lane.with(|state| wire(state).join(number, reach, *by));
        if all_say(comm, joined)? && all_hear(comm, &world.lane, &mut group)? {
            return Ok(Place::Made(Box::new(group)));
        }
        world.lane.with(|state| wire(state).leave_group(number));
    }
    Ok(Place::Missing)
}

/// Whether all hosts hear what the first one says to the group.
fn all_hear(comm: &Comm, lane: &Lane, group: &mut Group) -> Result<bool> {
    let before = lane.with(|state| wire(state).frames_of_groups());
    let nothing = Buffer { pointer: std::ptr::null_mut(), count: 0, element: towpath_collective::Element::dense(1) };
    // Only those that receive hear anything.
    let receives = comm.rank == group.hosts[group.own][0];
    for _ in 0..TRIALS {
        if comm.rank == 0 || receives {
            // SAFETY: no bytes are moved.
            unsafe { group.between_hosts(comm, 0, &nothing) }?.map_err(failed)?;
        }
    }
    let heard = lane.with(|state| wire(state).frames_of_groups()) > before;
    all_say(comm, heard || !receives || group.own == 0)
}

/// Agrees on how frames to the group go, on whether large messages go by connections, and on the
/// first of its numbers; `None` when there can be none.
fn agree(comm: &Comm, lane: &Lane, hosts: &[Vec<usize>], own: usize) -> Result<Option<(Reach, bool, u32)>> {
    let others = hosts.iter().enumerate().filter(|(host, _)| *host != own).flat_map(|(_, ranks)| ranks);
    let others: Vec<PeerIndex> = others.map(|rank| comm.group.peers[*rank]).collect();
    let reach = lane.with(|state| state.engine.wire().clic()?.reach(others.iter().copied()));
    let own_streams = lane.with(|state| others.iter().any(|peer| state.engine.wire().streams(*peer)));
    let own_number = comm.group.peers[comm.rank].0;
    let (mut number, mut possible) = (0, true);
    if comm.rank == 0 {
        let count = NUMBERS.fetch_add(NUMBERS_EACH, Ordering::Relaxed);
        possible = count <= u32::from(u16::MAX) - NUMBERS_EACH && own_number <= u32::from(u16::MAX);
        number = own_number << 16 | count & 0xffff;
    }
    let team = comm.team(Plane::Collective);
    let mine = said(reach.filter(|_| possible), own_streams, number);
    let all = gather_everywhere(&team, comm.next_sequence(Form::Blocking), &[mine])?;
    let alike = all.iter().all(|said| said & 3 == mine & 3);
    let chunk = all.iter().map(|said| (said >> 16) as u16).min();
    Ok(reach
        .zip(chunk)
        .filter(|_| alike && mine != 0)
        .map(|(reach, chunk)| (Reach { chunk, ..reach }, streams(&all), (all[0] >> 32) as u32)))
}

/// The communicator is freed: its group is left. What is under way in it still reaches everybody.
pub(crate) fn forget(comm: &Comm) -> Result<()> {
    if let Place::Made(group) = std::mem::take(&mut *comm.cast.lock().unwrap()) {
        world::lane()?.with(|state| wire(state).leave_group(group.number));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_pays_for_more_than_a_few_frames_and_not_where_connections_are_quicker() {
        for (chunk, by, streams, wanted) in [
            (1468, Carrier::Raw, false, Pays(7_340, 262_144)),
            (1468, Carrier::Raw, true, Pays(7_340, 17_616)),
            (1440, Carrier::Crafted, true, Pays(7_200, 262_144)),
            (8940, Carrier::Udp, true, Pays(44_700, 262_144)),
            (500, Carrier::Udp, false, Pays(4_096, 262_144)),
        ] {
            assert_eq!(pays(chunk, by, streams), wanted);
        }
    }

    #[test]
    fn what_one_says_concerns_all() {
        let reach = Reach { interface: 0, raw: true, chunk: 1468 };
        let of = |all: [bool; 3]| streams(&all.map(|streams| said(Some(reach), streams, 7)));
        assert_eq!([of([false; 3]), of([false, false, true]), of([true; 3])], [false, true, true]);
    }
}
