//! Calls in phases that end before their last phase.

use std::sync::{Arc, Mutex};

use towpath_engine::messages::Outcome;
use towpath_schedule::hierarchy::phases::phases;
use towpath_schedule::{Call, HostCopies, Operation, Placement, Selection, Team};

use super::running::Scripted;
use super::{Shape, Store, team};
use crate::PhasedCall;
use crate::board::{BoardOffer, BoardQueue, Member, QueueOwner, TeamBoard};
use crate::failure::Failure;
use crate::run::Progress;

/// Rank 0 of two hosts of two ranks, as a member of its host.
#[derive(Clone)]
struct Leader(Arc<Selection>);

fn whole() -> Team {
    Team { placement: Placement::new([0, 0, 1, 1]).into(), ..team(0, 4) }
}

impl Member for Leader {
    fn out_of_step(&mut self, _: usize) -> ! {
        unreachable!("there is no board")
    }

    fn progress(&mut self) {}
}

impl QueueOwner for Leader {
    type Engine = Scripted;

    fn team(&self) -> Team {
        whole().on_my_host()
    }

    fn selection(&self) -> &Selection {
        &self.0
    }

    fn offer(&self, _: &mut Scripted, _: Option<usize>) -> BoardOffer {
        BoardOffer::NOTHING
    }

    fn look_again(&self, offer: BoardOffer) -> BoardOffer {
        offer
    }

    fn join(&self, _: &Scripted, _: BoardOffer) -> TeamBoard {
        unreachable!("there is no board")
    }
}

/// The leader gets a broadcast from the other host, and passes it on.
fn hold(data: &mut Store<i64>, queue: Option<&Arc<Mutex<BoardQueue>>>) -> PhasedCall<Leader> {
    let leader = Leader(Arc::default());
    let operation = Operation::Bcast { root: 2, data: data.buffer(4) };
    let call = Call { team: &whole(), selection: &leader.0 };
    let phases = phases(&call, &operation).unwrap().expect("there are levels");
    assert!(phases.before.is_none() && phases.between.is_some() && phases.after.is_some());
    PhasedCall::hold(&leader, phases, HostCopies::default(), queue, 0).unwrap()
}

const LOST: Outcome = Outcome { bytes: 0, truncated: false, lost: true, immediate: 0 };

#[test]
fn a_loss_between_hosts_gives_up_the_turn_at_once() {
    let (queue, mut data) = (Arc::default(), Store::<i64>::new(Shape::Dense, 4));
    let enter = |queue: &Arc<Mutex<BoardQueue>>| {
        queue.lock().unwrap().enter(&Operation::Barrier, &Selection::default(), 2)
    };
    let mut call = hold(&mut data, Some(&queue));
    assert_eq!(enter(&queue), Some(1), "the phase that follows has the first turn");
    // SAFETY: `data` lives to the end of the test.
    unsafe { call.start_again() };
    let posted = call.post(&mut Scripted::Complete(LOST));
    assert!(matches!(posted, (Progress::Failed(Failure::Lost { .. }), true)));
    // The others go on counting calls on the board, so this member must leave it, while the program
    // still has the request of the failed call.
    assert_eq!(enter(&queue), None);
}

#[test]
fn a_persistent_call_that_has_lost_a_process_starts_no_message_again() {
    let mut data = Store::<i64>::new(Shape::Dense, 4);
    let mut call = hold(&mut data, None);
    for mut messages in [Scripted::Complete(LOST), Scripted::Refused, Scripted::Refused] {
        // SAFETY: `data` lives to the end of the test, and the call is over.
        unsafe { call.start_again() };
        let progress = call.post(&mut messages).0;
        assert!(matches!(progress, Progress::Failed(Failure::Lost { .. })));
    }
}
