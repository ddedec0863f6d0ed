//! Schedules that are wrong, each in one way: the checker must find all of them.

use crate::Placement;
use crate::Selection;
use crate::buffers::Piece;
use crate::plan::{NONE, Plan, StepAction, StepEdge, StepId};
use crate::select::{Algorithm, Collective};

use super::cases::{ALL, Mapping, case, long_reductions};
use super::definition::{Case, Op, What};
use super::execution::check;
use crate::testing::Random;

/// What the checker says of a case if `alter` changes the plan of each rank.
fn fault(case: &Case, mut alter: impl FnMut(usize, &mut Plan)) -> String {
    assert_eq!(check(case, &mut |_, _| ()), Ok(()), "the schedule is right");
    check(case, &mut alter).expect_err("the schedule is wrong")
}

fn forced(what: What, collective: Collective, algorithm: Algorithm, count: i64) -> Case {
    let selection = Selection::forcing(collective, algorithm);
    Case { selection, ..case(what, Placement::on_one_host(4), 4, count) }
}

/// Removes the edges to a step.
fn free(plan: &mut Plan, step: StepId) {
    let mut edges: Vec<(usize, StepId)> = Vec::new();
    for (earlier, own) in plan.steps.iter().enumerate() {
        let mut edge = own.first_edge;
        while edge != NONE {
            let StepEdge { to, next } = plan.edges[edge as usize];
            edges.extend((to != step).then_some((earlier, to)));
            edge = next;
        }
    }
    plan.edges.clear();
    plan.steps.iter_mut().for_each(|step| (step.first_edge, step.last_edge) = (NONE, NONE));
    plan.steps[step as usize].dependencies = 0;
    for (earlier, to) in edges {
        let (number, own) = (plan.edges.len() as u32, &mut plan.steps[earlier]);
        plan.edges.push(StepEdge { to, next: NONE });
        match own.last_edge {
            NONE => own.first_edge = number,
            last => plan.edges[last as usize].next = number,
        }
        own.last_edge = number;
    }
}

/// The numbers of the steps for which `wanted` is true.
fn steps(plan: &Plan, wanted: impl Fn(&StepAction) -> bool) -> Vec<usize> {
    (0..plan.steps.len()).filter(|&step| wanted(&plan.steps[step].action)).collect()
}

fn receives(plan: &Plan) -> Vec<usize> {
    steps(plan, |action| matches!(action, StepAction::Receive { .. }))
}

fn sends(plan: &Plan) -> Vec<usize> {
    steps(plan, |action| matches!(action, StepAction::Send { .. }))
}

/// Moves what a step writes, or sends, by a word. False if it has no bytes.
fn move_by_a_word(action: &mut StepAction) -> bool {
    let word = |piece: &mut Piece| {
        piece.pointer = piece.pointer.wrapping_add(8);
        piece.bytes() > 0
    };
    match action {
        StepAction::Send { piece, .. } | StepAction::Receive { piece, .. } => word(piece),
        StepAction::Copy { to, .. } => word(to),
        StepAction::Reduce { inout, .. } => {
            *inout = inout.wrapping_add(8);
            true
        }
        StepAction::Expand { .. } | StepAction::Join => false,
    }
}

/// Calls of most operations, whose schedules are right.
fn calls() -> Vec<Case> {
    let mut random = Random::new(11);
    let [one_host, consecutive, cyclic, _, apart] = Mapping::all(7, 3);
    let mappings = [consecutive, cyclic, one_host, apart];
    // In the others, ranks get vectors that they need only in part.
    let is_whole = |what: &What| !matches!(what, What::ReduceScatter | What::Scan | What::Exscan);
    let calls =
        ALL.into_iter().filter(is_whole).flat_map(|what| mappings.map(|mapping| (what, mapping)));
    calls
        .map(|(what, mapping)| Case {
            root: 1,
            op: [Op::Predefined, Op::NonCommutative][random.below(2)],
            ..case(what, mapping.placement(&mut random, 7), 7, 3)
        })
        .collect()
}

#[test]
fn no_step_can_be_left_out_or_moved() {
    let mut altered = 0;
    for case in calls() {
        assert_eq!(check(&case, &mut |_, _| ()), Ok(()));
        // A record without a block can be anywhere, and looks like the zeros behind it.
        let has_records =
            matches!(case.what, What::Gatherv | What::Scatterv | What::Alltoallv | What::Alltoallw);
        for rank in [0, 1, 4] {
            let operation = case.duty(rank).operation;
            for step in 0..case.plan(rank, &operation).steps.len() {
                for leaves_out in [false, true] {
                    let mut is_altered = false;
                    let outcome = check(&case, &mut |other, plan| {
                        if other != rank {
                            return;
                        }
                        let folds = plan.reducer.is_some();
                        let action = &mut plan.steps[step].action;
                        // The sum of a host may be where it is copied to.
                        if leaves_out && folds && matches!(action, StepAction::Copy { .. }) {
                            return;
                        }
                        // Nothing follows from a record without a block.
                        if matches!(action, StepAction::Join | StepAction::Expand { .. }) {
                            return;
                        }
                        is_altered = if leaves_out {
                            *action = StepAction::Join;
                            true
                        } else {
                            !has_records && move_by_a_word(action)
                        };
                    });
                    altered += usize::from(is_altered);
                    let what = (case.what, rank, step, leaves_out);
                    assert!(!is_altered || outcome.is_err(), "{what:?}: {:?}", case.placement);
                }
            }
        }
    }
    assert!(altered > 1_000, "{altered} schedules were wrong");
}

#[test]
fn operands_in_another_order_are_found() {
    for (op, complaint) in
        [(Op::NonCommutative, "has the fold of"), (Op::Predefined, "than documented")]
    {
        let swapped = fault(
            &Case { op, ..case(What::Reduce, Placement::on_one_host(4), 4, 2) },
            |rank, plan| {
                if rank == 0 {
                    let receives = receives(plan);
                    let peer =
                        |plan: &mut Plan, at: usize| match &mut plan.steps[receives[at]].action {
                            StepAction::Receive { peer, .. } => *peer,
                            _ => unreachable!("it receives"),
                        };
                    let peers = [peer(plan, 1), peer(plan, 0)];
                    for (at, other) in peers.into_iter().enumerate() {
                        if let StepAction::Receive { peer, .. } =
                            &mut plan.steps[receives[at]].action
                        {
                            *peer = other;
                        }
                    }
                }
            },
        );
        assert!(swapped.contains(complaint), "{swapped}");
    }
}

#[test]
fn ranks_that_associate_in_another_way_are_found() {
    let call = forced(What::Allreduce, Collective::Allreduce, Algorithm::AllgatherFold, 2);
    let differs = fault(&call, |rank, plan| {
        if rank == 2 {
            let reduces = steps(plan, |action| matches!(action, StepAction::Reduce { .. }));
            let [first, second] = [reduces[0], reduces[1]];
            let input = |plan: &Plan, step: usize| match plan.steps[step].action {
                StepAction::Reduce { input, .. } => input,
                _ => unreachable!("it reduces"),
            };
            let inputs = [input(plan, second), input(plan, first)];
            for (step, other) in [first, second].into_iter().zip(inputs) {
                if let StepAction::Reduce { input, .. } = &mut plan.steps[step].action {
                    *input = other;
                }
            }
        }
    });
    assert!(differs.contains("otherwise than another rank"), "{differs}");
}

#[test]
fn a_missing_dependency_is_found() {
    let call = forced(What::Bcast, Collective::Bcast, Algorithm::Chain, 40_000);
    let races = fault(&call, |rank, plan| {
        if rank == 1 {
            let send = sends(plan)[2];
            free(plan, send as StepId);
        }
    });
    assert!(races.contains("at the same time"), "{races}");
    // The vector is folded in place before it has been sent.
    let call = forced(What::Allreduce, Collective::Allreduce, Algorithm::Stripes, 40);
    let races = fault(&Case { in_place: true, ..call }, |rank, plan| {
        if rank == 3 {
            let copies = steps(plan, |action| matches!(action, StepAction::Copy { .. }));
            free(plan, copies[1] as StepId);
        }
    });
    assert!(races.contains("at the same time"), "{races}");
}

/// The receives of a plan from other hosts, with a turn: where they store what.
fn stripes(plan: &Plan, turn: u16, is_elsewhere: impl Fn(usize) -> bool) -> Vec<(usize, *mut u8)> {
    let store = |step: usize| match &plan.steps[step].action {
        StepAction::Receive { peer, turn: own, piece } => {
            (*own == turn && is_elsewhere(peer.slot())).then_some((step, piece.pointer))
        }
        _ => None,
    };
    (0..plan.steps.len()).filter_map(store).collect()
}

#[test]
fn memory_of_a_stripe_that_is_used_again_too_early_is_found() {
    for case in long_reductions() {
        let mut altered = 0;
        let races = fault(&case, |rank, plan| {
            let host = |rank| case.placement.host_of(rank);
            // A chunk has a turn towards the folds and one back, and there is memory for four.
            let [first, fifth] =
                [0, 8].map(|turn| stripes(plan, turn, |peer| host(peer) != host(rank)));
            for ((_, memory), (step, again)) in first.into_iter().zip(fifth) {
                assert_eq!(memory, again, "the fifth chunk has the memory of the first");
                free(plan, step as StepId);
                altered += 1;
            }
        });
        assert!(altered > 0 && races.contains("at the same time"), "{altered}: {races}");
    }
}

#[test]
fn messages_in_no_fixed_order_are_found() {
    let call = forced(What::Allgather, Collective::Allgather, Algorithm::Ring, 3);
    let mixed = fault(&call, |_, plan| {
        for step in &mut plan.steps {
            if let StepAction::Send { turn, .. } | StepAction::Receive { turn, .. } =
                &mut step.action
            {
                *turn = 0;
            }
        }
    });
    assert!(mixed.contains("in no fixed order"), "{mixed}");
}

#[test]
fn a_barrier_without_a_round_is_found() {
    let call = case(What::Barrier, Placement::on_one_host(4), 4, 0);
    let early = fault(&call, |_, plan| {
        for step in &mut plan.steps {
            if let StepAction::Send { turn: 1, .. } | StepAction::Receive { turn: 1, .. } =
                step.action
            {
                step.action = StepAction::Join;
            }
        }
    });
    assert!(early.contains("leaves before"), "{early}");
}

#[test]
fn ranks_that_wait_for_each_other_are_found() {
    let call = case(What::Alltoall, Placement::on_one_host(2), 2, 3);
    let stuck = fault(&call, |_, plan| {
        let (send, receive) = (sends(plan)[0], receives(plan)[0]);
        free(plan, send as StepId);
        free(plan, receive as StepId);
        let [low, high] = [send.min(receive), send.max(receive)];
        if !matches!(plan.steps[low].action, StepAction::Receive { .. }) {
            let (before, after) = plan.steps.split_at_mut(high);
            std::mem::swap(&mut before[low].action, &mut after[0].action);
        }
        let edge = plan.edges.len() as u32;
        plan.edges.push(StepEdge { to: high as StepId, next: NONE });
        (plan.steps[low].first_edge, plan.steps[low].last_edge) = (edge, edge);
        plan.steps[high].dependencies = 1;
    });
    assert!(stuck.contains("deadlock"), "{stuck}");
}

#[test]
fn writes_beyond_a_buffer_are_found() {
    let call = case(What::Gather, Placement::on_one_host(3), 3, 2);
    let beyond = fault(&call, |rank, plan| {
        if rank == 0 {
            let receive = receives(plan)[1];
            if let StepAction::Receive { piece, .. } = &mut plan.steps[receive].action {
                piece.pointer = piece.pointer.wrapping_add(1 << 20);
            }
        }
    });
    assert!(beyond.contains("beyond its memory"), "{beyond}");
}
