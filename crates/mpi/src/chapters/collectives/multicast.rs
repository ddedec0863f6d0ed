//! The multicast group by which the blocking collectives of a communicator reach all its hosts at
//! once. It is made after several calls that could have used it, and left when the communicator is
//! freed.
//!
//! The first rank of the communicator on each host receives, and passes the data on inside its
//! host. Any rank may send. All members take these steps in the same calls, because all make the
//! same decisions: they exchange how frames reach the others, join the group, and test it with a
//! few empty messages. If a host receives none of these, there is no group.

use towpath_base::ids::{PeerIndex, Plane};
use towpath_base::sync::{AtomicU32, Ordering};
use towpath_clic::multicast::FEWEST_RECEIVERS;
use towpath_clic_wire::{Clic, Reach};
use towpath_collective::multicast::{self as cast, Cast, MAY_PAY, NEVER};
use towpath_collective::numbers::CallForm;
use towpath_collective::{Buffer, Call, Failure, Operation, Pays, Selection};
use towpath_neutral::error::Result;

use crate::chapters::internal::{gather_everywhere, plan_failed, run};
use crate::objects::coll_state::{JoinedGroup, MulticastState};
use crate::objects::comm::Comm;
use crate::process;
use crate::progress;
use crate::progress::runs::failed;
use crate::progress::state::State;
use crate::progress::wait_target::WaitTarget;
use crate::progress::worker::Worker;

/// Counter of the group numbers that this process has allocated. The upper 16 bits of a group
/// number are the rank of the process in its job, the lower 16 a value of this counter.
static NUMBERS: AtomicU32 = AtomicU32::new(0);
/// Group numbers per communicator: one for each carrier, so that frames of one attempt are not
/// taken for frames of the next.
const NUMBERS_EACH: u32 = 2;
/// Calls that run by messages before a group is made, which takes as long as several of them.
const CALLS: u32 = 8;
/// Empty messages that test a new group. Any network may drop some.
const TRIALS: usize = 3;

/// Executes a call by multicast; false if it must run otherwise.
///
/// # Safety
/// The memory that the operation names must be as the standard requires for the buffers of the
/// call.
pub(crate) unsafe fn try_execute(comm: &Comm, operation: &Operation, selection: &Selection) -> Result<bool> {
    let size = comm.group.peers.len();
    let is_wanted = |pays: Pays| cast::is_wanted(operation, selection, size, pays);
    // Most calls can be rejected from their arguments alone: no group would be of use.
    if size <= FEWEST_RECEIVERS
        || !is_wanted(MAY_PAY)
        || !progress::worker().is_ok_and(|worker| worker.hold().engine.wire().clic().is_some_and(Clic::reaches_all))
    {
        return Ok(false);
    }
    let mut place = comm.cast.lock().unwrap();
    if let MulticastState::Unknown(calls) = &mut *place {
        *calls += 1;
        if *calls <= CALLS && !is_wanted(NEVER) {
            return Ok(false);
        }
        *place = establish(comm)?;
    }
    let MulticastState::Made(group) = &mut *place else { return Ok(false) };
    if !is_wanted(group.pays) {
        return Ok(false);
    }
    // SAFETY: the memory that the operation names is as the standard requires for the buffers of
    // the call (this function's contract).
    unsafe { execute(comm, group, operation, selection) }.map(|()| true)
}

/// Executes a call through the group.
///
/// # Safety
/// Same as for [`try_execute`].
unsafe fn execute(comm: &Comm, group: &mut JoinedGroup, operation: &Operation, selection: &Selection) -> Result<()> {
    let team = comm.team(Plane::Collective);
    let mut bytes = match operation {
        Operation::Barrier => vec![0; team.size()],
        _ => Vec::new(),
    };
    let parts = cast::parts(operation, &Call { team: &team, selection }, &mut bytes).map_err(plan_failed)?;
    if let Some(before) = parts.before {
        // SAFETY: the memory that the operation names lives during the call (this function's
        // contract), and so does `bytes`.
        unsafe { run(before, comm.next_sequence(CallForm::Blocking)) }?;
    }
    // SAFETY: the memory behind `parts.data` is part of the operation's, which lives during the
    // call (this function's contract), or of `bytes`.
    unsafe { group.broadcast(comm, parts.root, &parts.data, selection) }
}

impl JoinedGroup {
    /// Broadcasts `data` from `root`, between the hosts and then inside each.
    ///
    /// # Safety
    /// The memory of the data must live during the call, and nothing else may access it.
    unsafe fn broadcast(&mut self, comm: &Comm, root: usize, data: &Buffer, selection: &Selection) -> Result<()> {
        let sequence = comm.next_sequence(CallForm::Blocking);
        // SAFETY: the memory of `data` lives during the call, and nothing else accesses it (this
        // function's contract).
        let outcome = unsafe { self.between_hosts(comm, root, data) }?;
        let mates = &self.hosts[self.own];
        let is_near = mates.contains(&root);
        if mates.len() > 1 && !matches!(outcome, Err(Failure::Lost { .. })) {
            let place = |rank: usize| mates.iter().position(|mate| *mate == rank).unwrap_or(0);
            let team = comm.team(Plane::Collective).on_my_host();
            let source = if is_near { root } else { mates[0] };
            let plan = cast::pass_on(&Call { team: &team, selection }, place(source), data).map_err(plan_failed)?;
            // SAFETY: the plan names only the memory of `data`, which lives during the call (this
            // function's contract).
            unsafe { run(plan, sequence) }?;
        }
        outcome.map_err(failed)
    }

    /// Sends the data from the root to the first rank of each other host.
    ///
    /// # Safety
    /// Same as for [`JoinedGroup::broadcast`].
    unsafe fn between_hosts(
        &mut self,
        comm: &Comm,
        root: usize,
        data: &Buffer,
    ) -> Result<std::result::Result<(), Failure>> {
        let mates = &self.hosts[self.own];
        let receives = comm.rank == mates[0] && !mates.contains(&root);
        let worker = progress::worker()?;
        let mut link = RootMessages { worker, number: self.number, chunk: self.chunk, root: comm.group.peers[root] };
        Ok(if comm.rank == root {
            if !self.sends {
                let receivers: Vec<PeerIndex> = self.others().map(|ranks| comm.group.peers[ranks[0]]).collect();
                worker.with(|state| wire(state).send_to_group(self.number, self.chunk, &receivers));
                self.sends = true;
            }
            // SAFETY: the memory of `data` lives and does not change during the call (this
            // function's contract).
            unsafe { cast::send(data, &mut link) }
        } else if receives {
            worker.with(|state| wire(state).listen_to(link.root, self.number, self.chunk));
            worker.nudge();
            // SAFETY: the memory of `data` lives during the call, and nothing else accesses it
            // (this function's contract).
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

/// The CLIC wire, which carries the messages of groups.
///
/// # Panics
/// If there is no CLIC wire; then there is no group.
fn wire(state: &mut State) -> &mut Clic {
    state.engine.wire_mut().clic_mut().expect("a group is reached by frames")
}

/// Sends and receives the group messages of one root. Waits in the worker's loop.
struct RootMessages {
    worker: &'static Worker,
    number: u32,
    chunk: u16,
    root: PeerIndex,
}

impl Cast for RootMessages {
    fn longest(&self) -> usize {
        Clic::longest_broadcast(self.chunk)
    }

    fn send(&mut self, length: usize, fill: &mut dyn FnMut(*mut u8)) -> std::result::Result<(), Failure> {
        let number = self.number;
        self.worker
            .wait_for(|_| WaitTarget::Other, |state| wire(state).broadcast(number, length, &mut *fill).then_some(()));
        self.worker.nudge();
        Ok(())
    }

    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> std::result::Result<(), Failure> {
        let (root, number, chunk) = (self.root, self.number, self.chunk);
        let target = |_: &State| WaitTarget::Other;
        self.worker.wait_for(target, |state| {
            let wire = wire(state);
            match wire.take_broadcast(root, number, chunk, &mut *take) {
                Some(()) => Some(Ok(())),
                None => (!wire.hears(root)).then_some(Err(Failure::Lost { peer: root })),
            }
        })
    }

    fn progress(&mut self) {
        self.worker.poll_for_test();
    }
}

/// Packs the facts that the members exchange about themselves into one word.
fn said(reach: Option<Reach>, streams: bool, number: u32) -> u64 {
    let Some(Reach { raw, chunk, .. }) = reach else { return 0 };
    1 | u64::from(raw) << 1 | u64::from(streams) << 2 | u64::from(chunk) << 16 | u64::from(number) << 32
}

/// True if any member sends large messages over connections.
fn streams(said: &[u64]) -> bool {
    said.iter().any(|said| said >> 2 & 1 != 0)
}

/// True if `mine` is true for all members.
fn all_say(comm: &Comm, mine: bool) -> Result<bool> {
    let team = comm.team(Plane::Collective);
    let all = gather_everywhere(&team, comm.next_sequence(CallForm::Blocking), &[u64::from(mine)])?;
    Ok(all.iter().all(|said| *said != 0))
}

#[cold]
fn establish(comm: &Comm) -> Result<MulticastState> {
    let worker = progress::worker()?;
    let placement = comm.group.placement();
    if placement.hosts() <= FEWEST_RECEIVERS {
        return Ok(MulticastState::Missing);
    }
    let hosts: Vec<Vec<usize>> = (0..placement.hosts()).map(|host| placement.members(host).to_vec()).collect();
    let own = placement.host_of(comm.rank);
    let Some((reach, streams, first)) = agree(comm, worker, &hosts, own)? else {
        return Ok(MulticastState::Missing);
    };
    let mut group = JoinedGroup { number: first, chunk: reach.chunk, pays: NEVER, hosts, own, sends: false };
    for (number, by) in (first..).zip(reach.carriers()) {
        (group.number, group.sends) = (number, false);
        group.pays = cast::pays(reach.chunk, streams && by.sends_frame_by_frame());
        let joined = worker.with(|state| wire(state).join(number, reach, *by));
        if all_say(comm, joined)? && all_hear(comm, worker, &mut group)? {
            return Ok(MulticastState::Made(Box::new(group)));
        }
        worker.with(|state| wire(state).leave_group(number));
    }
    Ok(MulticastState::Missing)
}

/// True if every host receives messages that the first one sends to the group.
fn all_hear(comm: &Comm, worker: &Worker, group: &mut JoinedGroup) -> Result<bool> {
    let before = worker.with(|state| wire(state).frames_of_groups());
    let nothing = Buffer { pointer: std::ptr::null_mut(), count: 0, element: towpath_collective::Element::dense(1) };
    // Only the receiving rank of a host can have received frames.
    let receives = comm.rank == group.hosts[group.own][0];
    for _ in 0..TRIALS {
        if comm.rank == 0 || receives {
            // SAFETY: `nothing` has no elements, so no memory is accessed.
            unsafe { group.between_hosts(comm, 0, &nothing) }?.map_err(failed)?;
        }
    }
    let heard = worker.with(|state| wire(state).frames_of_groups()) > before;
    all_say(comm, heard || !receives || group.own == 0)
}

/// Agrees on the carriers of the group, on whether large messages go over connections, and on the
/// first group number. `None` if there can be no group.
fn agree(comm: &Comm, worker: &Worker, hosts: &[Vec<usize>], own: usize) -> Result<Option<(Reach, bool, u32)>> {
    let others = hosts.iter().enumerate().filter(|(host, _)| *host != own).flat_map(|(_, ranks)| ranks);
    let others: Vec<PeerIndex> = others.map(|rank| comm.group.peers[*rank]).collect();
    let reach = worker.with(|state| state.engine.wire().clic()?.reach(others.iter().copied()));
    let own_streams = worker.with(|state| others.iter().any(|peer| state.engine.wire().streams(*peer)));
    let (mut number, mut possible) = (0, true);
    if comm.rank == 0 {
        let (rank, count) = (process::this()?.job.rank, NUMBERS.fetch_add(NUMBERS_EACH, Ordering::Relaxed));
        possible = count <= u32::from(u16::MAX) - NUMBERS_EACH && rank <= u32::from(u16::MAX);
        number = rank << 16 | count & 0xffff;
    }
    let team = comm.team(Plane::Collective);
    let mine = said(reach.filter(|_| possible), own_streams, number);
    let all = gather_everywhere(&team, comm.next_sequence(CallForm::Blocking), &[mine])?;
    let alike = all.iter().all(|said| said & 3 == mine & 3);
    let chunk = all.iter().map(|said| (said >> 16) as u16).min();
    Ok(reach
        .zip(chunk)
        .filter(|_| alike && mine != 0)
        .map(|(reach, chunk)| (Reach { chunk, ..reach }, streams(&all), (all[0] >> 32) as u32)))
}

/// Leaves the group of a communicator that is freed. Messages in flight still reach all members.
pub(crate) fn forget(comm: &Comm) -> Result<()> {
    if let MulticastState::Made(group) = std::mem::take(&mut *comm.cast.lock().unwrap()) {
        progress::worker()?.with(|state| wire(state).leave_group(group.number));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_says_concerns_all() {
        let reach = Reach { interface: 0, raw: true, chunk: 1468 };
        let of = |all: [bool; 3]| streams(&all.map(|streams| said(Some(reach), streams, 7)));
        assert_eq!([of([false; 3]), of([false, false, true]), of([true; 3])], [false, true, true]);
    }
}
