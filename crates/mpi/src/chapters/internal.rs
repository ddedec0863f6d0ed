//! Messages that the object layer itself sends: small broadcasts and gathers of contexts and
//! groups.

use towpath_base::ids::{ContextId, PeerIndex, Plane};
use towpath_base::transfer::{Source, Target};
use towpath_collective::allgather::{Allgather, allgather};
use towpath_collective::barrier::barrier;
use towpath_collective::broadcast::bcast;
use towpath_collective::numbers::CallForm;
use towpath_collective::{Blocks, Buffer, Call, CallSignature, Element, Failure, Plan, Run, Team};
use towpath_engine::Mode;
use towpath_neutral::error::Result;

use crate::objects::comm::Comm;
use crate::process;
use crate::progress;
use crate::progress::completion::failure_of;
pub(crate) use crate::progress::runs::plan_failed;
use crate::progress::runs::{CollectiveRun, failed};
use crate::progress::state::State;
use crate::progress::wait_target::WaitTarget;

/// Runs a plan to completion.
///
/// # Safety
/// The memory that the plan was built for must live during the call.
pub(crate) unsafe fn run(plan: Plan, sequence: u64) -> Result<()> {
    let context = plan.context;
    // SAFETY: the memory that the plan was built for lives during the call (this function's
    // contract), which waits for the run.
    let run = Box::new(unsafe { Run::start(plan, sequence) });
    complete(run.into(), context)
}

/// Waits until a run that has been started is complete. `context` is that of its members.
pub(crate) fn complete(run: CollectiveRun, context: ContextId) -> Result<()> {
    match recover(run, context)?.1 {
        None => Ok(()),
        Some(failure) => Err(failed(failure)),
    }
}

/// Waits until a run that has been started is complete, and returns it with the reason why it has
/// failed, if it has. `context` is that of its members.
pub(crate) fn recover(run: CollectiveRun, context: ContextId) -> Result<(Option<CollectiveRun>, Option<Failure>)> {
    let worker = progress::worker()?;
    let (id, is_poll_due) = worker.with(|state| {
        let id = state.runs.add(run, &mut state.engine);
        (id, state.runs.is_poll_due())
    });
    worker.nudge();
    if is_poll_due {
        worker.poll_in_passing();
    }
    let target = |_: &State| WaitTarget::Run(context, id);
    Ok(worker.wait_for(target, |state| state.runs.is_complete(id).then(|| state.runs.recover(id))))
}

/// Broadcasts `words` from `root` to the team.
pub(crate) fn broadcast(team: &Team, sequence: u64, root: usize, words: &mut [u64]) -> Result<()> {
    let plan = broadcast_plan(team, root, words)?;
    // SAFETY: the plan names only `words`, which is borrowed during the call.
    unsafe { run(plan, sequence) }
}

/// The plan of a broadcast of `words`.
pub(crate) fn broadcast_plan(team: &Team, root: usize, words: &mut [u64]) -> Result<Plan> {
    let call = Call { team, selection: process::selection()? };
    let data = Buffer { pointer: words.as_mut_ptr().cast(), count: words.len() as i64, element: Element::dense(8) };
    bcast(&call, root, &data).map_err(plan_failed)
}

/// A barrier: no member returns before all have called this.
pub(crate) fn synchronize(team: &Team, sequence: u64) -> Result<()> {
    let plan = barrier(&Call { team, selection: process::selection()? }).map_err(plan_failed)?;
    // SAFETY: the plan moves no data.
    unsafe { run(plan, sequence) }
}

/// Gathers `mine` from all members. Returns the words of all, by rank.
pub(crate) fn gather_everywhere(team: &Team, sequence: u64, mine: &[u64]) -> Result<Vec<u64>> {
    gather_in_call(team, sequence, CallSignature::default(), mine)
}

/// The same as a part of a collective call with this signature.
pub(crate) fn gather_in_call(team: &Team, sequence: u64, signature: CallSignature, mine: &[u64]) -> Result<Vec<u64>> {
    let mut all = vec![0u64; mine.len() * team.size()];
    let call = Call { team, selection: process::selection()? };
    let element = Element::dense(8);
    let count = mine.len() as i64;
    let arguments = Allgather {
        send: Some(Buffer { pointer: mine.as_ptr().cast_mut().cast(), count, element: element.clone() }),
        receive: Blocks::Equal { pointer: all.as_mut_ptr().cast(), count, element },
    };
    let plan = allgather(&call, &arguments).map_err(plan_failed)?;
    // SAFETY: the plan names only `mine` and `all`, which live during the call.
    unsafe { run(Plan { signature, ..plan }, sequence) }?;
    Ok(all)
}

/// Gathers lists of any length from all members. Returns the lists by rank.
pub(crate) fn gather_lists(comm: &Comm, mine: &[u64]) -> Result<Vec<Vec<u64>>> {
    let (team, sequence) = team_of(comm);
    let lengths = gather_everywhere(&team, sequence, &[mine.len() as u64])?;
    let mut total = 0;
    let displacements: Box<[i64]> = lengths
        .iter()
        .map(|&length| {
            let begin = total;
            total += length as i64;
            begin
        })
        .collect();
    let mut all = vec![0u64; total as usize];
    if total > 0 {
        let (team, sequence) = team_of(comm);
        let call = Call { team: &team, selection: process::selection()? };
        let element = Element::dense(8);
        let counts = lengths.iter().map(|&length| length as i64).collect();
        let send =
            Buffer { pointer: mine.as_ptr().cast_mut().cast(), count: mine.len() as i64, element: element.clone() };
        let receive = Blocks::Varying { pointer: all.as_mut_ptr().cast(), counts, displacements, element };
        let plan = allgather(&call, &Allgather { send: Some(send), receive }).map_err(plan_failed)?;
        // SAFETY: the plan names only `mine` and `all`, which live during the call.
        unsafe { run(plan, sequence) }?;
    }
    let mut rest = &all[..];
    let mut next = |length: u64| {
        let (list, behind) = rest.split_at(length as usize);
        rest = behind;
        list.to_vec()
    };
    Ok(lengths.into_iter().map(&mut next).collect())
}

/// Sends words to one process and receives those that it sends under the same context and tag.
///
/// # Errors
/// MPI_ERR_PROC_ABORTED if the process is lost.
pub(crate) fn exchange(peer: PeerIndex, context: ContextId, tag: i32, words: &[u64]) -> Result<Vec<u64>> {
    let worker = progress::worker()?;
    let mut theirs = 0u64;
    let count = words.len() as u64;
    let round = |mine: &[u64], yours: &mut [u64]| {
        let target = Target::Bytes { pointer: yours.as_mut_ptr().cast(), length: size_of_val(yours) };
        let source = Source::Bytes { pointer: mine.as_ptr().cast(), length: size_of_val(mine) };
        // SAFETY: `mine` and `yours` outlive both operations, which are waited for below.
        let (send, receive) = worker.with(|state| unsafe {
            let receive = state.engine.irecv(Some(peer), context, Some(tag), target);
            (state.engine.isend(peer, context, tag, 0, source, Mode::Standard), receive)
        });
        worker.nudge();
        // Wait for both before checking either: they use the slices.
        let [received, sent] = [receive, send]
            .map(|id| worker.wait_for(|_: &State| WaitTarget::Members(context), |state| state.engine.take(id)));
        failure_of(&received).or_else(|| failure_of(&sent)).map_or(Ok(()), Err)
    };
    round(&[count], std::slice::from_mut(&mut theirs))?;
    let mut received = vec![0u64; theirs as usize];
    round(words, &mut received)?;
    Ok(received)
}

/// The team of a communicator for its object management, and the sequence number of this call in
/// the order of blocking collective calls.
pub(crate) fn team_of(comm: &Comm) -> (Team, u64) {
    (comm.team(Plane::Collective), comm.next_sequence(CallForm::Blocking))
}
