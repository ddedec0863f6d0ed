//! Runs: several concurrently, repeated, and with errors.

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_engine::messages::{Messages, Outcome, Ticket};

use super::fake::execute_runs;
use super::store::reducer;
use super::{Shape, Store, team};
use crate::Plan;
use crate::allreduce::allreduce;
use crate::broadcast::bcast;
use crate::buffers::Blocks;
use crate::failure::Failure;
use crate::gather::{Gather, gather};
use crate::numbers::tag;
use crate::reduce::Operand;
use crate::run::{Progress, Run};
use crate::select::Selection;
use crate::{Call, CallSignature, Operation};

#[test]
fn runs_side_by_side_do_not_mix() {
    let (size, calls, count) = (5, 6, 40);
    let mut data: Vec<Vec<Store<i64>>> = (0..size)
        .map(|rank| {
            let row = |call: usize| {
                if call % size == rank {
                    Store::filled(Shape::Dense, count, call)
                } else {
                    Store::new(Shape::Dense, count)
                }
            };
            (0..calls).map(row).collect()
        })
        .collect();
    let mut runs: Vec<Vec<Run>> = Vec::new();
    for (rank, rows) in data.iter_mut().enumerate() {
        let call = Call { team: &team(rank, size), selection: &Selection::default() };
        let mut own = Vec::new();
        for (number, row) in rows.iter_mut().enumerate() {
            let plan = bcast(&call, number % size, &row.buffer(count)).unwrap();
            // SAFETY: `data` lives until all runs are done.
            own.push(unsafe { Run::start(plan, number as u64) });
        }
        // Each rank progresses its calls in a different order.
        own.rotate_left(rank);
        runs.push(own);
    }
    execute_runs(runs, 5);
    for own in &data {
        own.iter().enumerate().for_each(|(call, row)| row.assert_values(0, count, call, 0, &call));
    }
}

#[test]
fn a_plan_runs_again_with_new_data() {
    let (size, count) = (6, 9);
    let mut send: Vec<Store<i64>> =
        (0..size).map(|rank| Store::filled(Shape::Dense, count, rank)).collect();
    let mut receive: Vec<Store<i64>> = (0..size).map(|_| Store::new(Shape::Dense, count)).collect();
    let mut runs = Vec::new();
    for rank in 0..size {
        let element = send[rank].element();
        let operand = Operand {
            send: Some(send[rank].pointer()),
            count,
            reducer: reducer::<i64>(&element),
            element,
        };
        let call = Call { team: &team(rank, size), selection: &Selection::default() };
        let plan = allreduce(&call, &operand, receive[rank].pointer()).unwrap();
        runs.push(vec![Run::hold(plan, 3)]);
    }
    for round in 0..4 {
        // SAFETY: the vectors live to the end of the test, and the run is over.
        runs.iter_mut().for_each(|own| unsafe { own[0].start_again() });
        send.iter_mut().enumerate().for_each(|(rank, row)| row.set(0, rank as i64 + round));
        runs = execute_runs(runs, round as u64 + 1);
        assert!(receive.iter().all(|row| row.get(0) == 15 + 6 * round), "round {round}");
    }
}

/// Messages of which all do the same.
pub(super) enum Scripted {
    /// None may be started.
    Refused,
    /// Each is complete at once, with this outcome.
    Complete(Outcome),
    /// None completes, and one with this tag and signature has arrived that no receive matches.
    Unmatched(i32, CallSignature),
}

impl Scripted {
    fn start(&self) -> Ticket {
        assert!(!matches!(self, Scripted::Refused), "a message is started");
        Ticket(0)
    }
}

impl Messages for Scripted {
    unsafe fn start_send(
        &mut self,
        _: PeerIndex,
        _: ContextId,
        _: i32,
        _: u32,
        _: Source,
    ) -> Ticket {
        self.start()
    }
    unsafe fn start_receive(&mut self, _: PeerIndex, _: ContextId, _: i32, _: Target) -> Ticket {
        self.start()
    }
    fn poll(&mut self, _: Ticket) -> Option<Outcome> {
        match self {
            Scripted::Complete(outcome) => Some(*outcome),
            _ => None,
        }
    }
    fn withdraw(&mut self, _: Ticket) -> bool {
        true
    }
    fn take_back(&mut self, _ticket: Ticket) {}

    fn find_unmatched(
        &self,
        _: ContextId,
        wanted: &dyn Fn(i32, u32) -> bool,
    ) -> Option<(PeerIndex, u32)> {
        match self {
            Scripted::Unmatched(tag, signature) => {
                wanted(*tag, signature.0).then_some((PeerIndex(0), signature.0))
            }
            _ => None,
        }
    }
}

/// The plan by which rank 1 of 4 receives a broadcast into `data` and passes it on.
fn plan_of_a_receiver(data: &mut Store<i64>) -> Plan {
    let call = Call { team: &team(1, 4), selection: &Selection::default() };
    Operation::Bcast { root: 0, data: data.buffer(4) }.plan(&call).unwrap()
}

fn outcome_of(outcome: Outcome) -> Progress {
    let mut data = Store::<i64>::new(Shape::Dense, 4);
    // SAFETY: `data` lives to the end of the function.
    let mut run = unsafe { Run::start(plan_of_a_receiver(&mut data), 0) };
    let progress = run.post(&mut Scripted::Complete(outcome));
    assert!(run.is_over());
    progress
}

#[test]
fn errors_end_a_run() {
    let good = Outcome { bytes: 32, truncated: false, lost: false, immediate: 0 };
    assert_eq!(outcome_of(good), Progress::Done);
    assert_eq!(
        outcome_of(Outcome { truncated: true, ..good }),
        Progress::Failed(Failure::Truncated)
    );
    assert_eq!(
        outcome_of(Outcome { lost: true, ..good }),
        Progress::Failed(Failure::Lost { peer: PeerIndex(0) })
    );
    let theirs = CallSignature::of(&Operation::Barrier);
    assert_eq!(
        outcome_of(Outcome { immediate: theirs.0, ..good }),
        Progress::Failed(mismatch(theirs))
    );
}

/// The failure of [`plan_of_a_receiver`] when its partner calls something else.
fn mismatch(theirs: CallSignature) -> Failure {
    let mut data = Store::<i64>::new(Shape::Dense, 4);
    let own = plan_of_a_receiver(&mut data).signature;
    Failure::Mismatch { peer: PeerIndex(0), own, theirs }
}

#[test]
fn a_run_that_waits_finds_a_message_of_another_call() {
    let mut data = Store::<i64>::new(Shape::Dense, 4);
    // SAFETY: `data` lives to the end of the test.
    let mut run = unsafe { Run::start(plan_of_a_receiver(&mut data), 9) };
    let (own, theirs) =
        (plan_of_a_receiver(&mut data).signature, CallSignature::of(&Operation::Barrier));
    for (sequence, signature) in
        [(8, theirs), (10, theirs), (9, own), (9, CallSignature::default())]
    {
        let mut messages = Scripted::Unmatched(tag(sequence, 5), signature);
        assert_eq!(run.post(&mut messages), Progress::Running);
        assert!(!run.find_mismatch(&mut messages), "{sequence} {signature}");
    }
    let mut messages = Scripted::Unmatched(tag(9, 5), theirs);
    assert!(run.find_mismatch(&mut messages) && run.is_over());
    assert_eq!(run.post(&mut messages), Progress::Failed(mismatch(theirs)));
}

#[test]
fn a_lost_run_stays_lost() {
    let mut data = Store::<i64>::new(Shape::Dense, 4);
    let mut run = Run::hold(plan_of_a_receiver(&mut data), 0);
    // SAFETY: `data` lives to the end of the test, and the run is over.
    unsafe { run.start_again() };
    let lost = Outcome { bytes: 0, truncated: false, lost: true, immediate: 0 };
    assert_eq!(
        run.post(&mut Scripted::Complete(lost)),
        Progress::Failed(Failure::Lost { peer: PeerIndex(0) })
    );
    for _ in 0..2 {
        // SAFETY: `data` lives to the end of the test, and the run is over.
        unsafe { run.start_again() };
        assert_eq!(
            run.post(&mut Scripted::Refused),
            Progress::Failed(Failure::Lost { peer: PeerIndex(0) })
        );
        assert!(run.is_over());
    }
}

/// A loss ends the access of a device to the caller's memory.
#[test]
fn a_lost_run_copies_no_more() {
    let mut data = Store::<i64>::new(Shape::Device, 8);
    let mut place = Store::<i64>::new(Shape::Device, 8);
    let call = Call { team: &team(0, 2), selection: &Selection::default() };
    let arguments = Gather {
        root: 0,
        send: Some(data.buffer(4)),
        receive: Some(Blocks::Equal {
            pointer: place.pointer(),
            count: 4,
            element: place.element(),
        }),
    };
    // SAFETY: both stores live to the end of the test.
    let mut run = unsafe { Run::start(gather(&call, &arguments).unwrap(), 0) };
    run.compute();
    assert_eq!(run.device_work(), 1);
    let lost = Outcome { bytes: 0, truncated: false, lost: true, immediate: 0 };
    assert_eq!(
        run.post(&mut Scripted::Complete(lost)),
        Progress::Failed(Failure::Lost { peer: PeerIndex(1) })
    );
    assert_eq!(run.device_work(), 0);
}

#[test]
fn counts_that_overflow_are_an_error() {
    let mut data = Store::<i64>::new(Shape::Dense, 1);
    let element = data.element();
    let operand =
        Operand { send: None, count: i64::MAX / 2, reducer: reducer::<i64>(&element), element };
    let call = Call { team: &team(0, 2), selection: &Selection::default() };
    let error = allreduce(&call, &operand, data.pointer()).unwrap_err();
    assert!(error.to_string().contains("exceeds 2^63"));
}

#[test]
fn data_in_place_is_not_copied_onto_itself() {
    let mut data = Store::<i64>::filled(Shape::Gaps, 5, 0);
    let element = data.element();
    let operand = Operand {
        send: Some(data.pointer()),
        count: 5,
        reducer: reducer::<i64>(&element),
        element,
    };
    let call = Call { team: &team(0, 1), selection: &Selection::default() };
    assert_eq!(allreduce(&call, &operand, data.pointer()).unwrap().length(), 0);
}

#[test]
fn a_rank_alone_needs_no_room_for_others() {
    let mut data = Store::<i64>::new(Shape::Dense, 1);
    let element = data.element();
    let operand =
        Operand { send: None, count: i64::MAX / 2, reducer: reducer::<i64>(&element), element };
    let call = Call { team: &team(0, 1), selection: &Selection::default() };
    assert!(allreduce(&call, &operand, data.pointer()).is_ok());
}
