//! Hierarchical calls in phases: on each host, among the leaders, and on each host again. The
//! phases on a host are operations of its ranks alone, which may use a board there.

mod movement;
mod reductions;

use super::Hierarchy;
use crate::buffers::Scratch;
use crate::builder::Builder;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::signature::CallSignature;
use crate::{Call, Operation, segments};

/// Most bytes of the blocks of a host that are gathered or scattered in phases. More are streamed
/// through the levels by a plan of messages.
const LARGEST: i64 = 512 << 10;
/// Most bytes of a reduction in phases. More are streamed through the levels.
const LARGEST_REDUCTION: i64 = 4 << 20;
/// Most bytes of an allgather in phases.
const LARGEST_ALLGATHER: i64 = 64 << 10;

/// A call in phases, each of which begins after the one before.
#[derive(Debug, Default)]
pub struct HostPhases {
    /// Among the ranks of this host, and named by their ranks there: in general towards the leader.
    pub before: Option<Operation>,
    /// Among the leaders; `None` on other ranks.
    pub between: Option<Plan>,
    /// Among the ranks of this host again.
    pub after: Option<Operation>,
    /// Memory that the phases use.
    pub memory: Vec<Scratch>,
    /// The whole call, for the messages of all phases.
    pub signature: CallSignature,
}

/// The phases of a call; `None` if it should run by a plan of messages. All ranks get the same
/// answer.
///
/// # Errors
/// If there is no memory for intermediate results.
pub fn phases(call: &Call, operation: &Operation) -> Result<Option<HostPhases>, PlanError> {
    if !call.team.placement.has_levels() {
        return Ok(None);
    }
    let team = call.team;
    let is_hierarchical =
        |collective, size| call.selection.choose(collective, size) == Algorithm::Hierarchical;
    let moves = |collective, bytes: i64| is_hierarchical(collective, Size::of_team(team, bytes));
    let fit = |bytes: i64| bytes.saturating_mul(team.placement.most_members() as i64) <= LARGEST;
    let phases = match operation {
        Operation::Barrier if moves(Collective::Barrier, 0) => movement::barrier(call),
        Operation::Bcast { root, data }
            if data.bytes() <= segments::LEAST && moves(Collective::Bcast, data.bytes()) =>
        {
            movement::bcast(call, *root, data)
        }
        Operation::Gather(arguments)
            if fit(arguments.bytes()) && moves(Collective::Gather, arguments.bytes()) =>
        {
            movement::gather(call, arguments)
        }
        Operation::Scatter(arguments)
            if fit(arguments.bytes()) && moves(Collective::Scatter, arguments.bytes()) =>
        {
            movement::scatter(call, arguments)
        }
        Operation::Allgather(arguments) if arguments.receive.is_equal() => {
            let total = arguments.receive.total_bytes(team.size());
            if total > LARGEST_ALLGATHER || !moves(Collective::Allgather, total) {
                return Ok(None);
            }
            movement::allgather(call, arguments)
        }
        Operation::Reduce { root, operand, receive } if reduces(call, operation) => {
            reductions::reduce(call, *root, operand, *receive)
        }
        Operation::Allreduce { operand, receive } if reduces(call, operation) => {
            reductions::allreduce(call, operand, *receive)
        }
        _ => return Ok(None),
    };
    let mut phases = phases?;
    phases.signature = CallSignature::of(operation);
    if let Some(between) = &mut phases.between {
        between.signature = phases.signature;
    }
    Ok(Some(phases))
}

/// True for a reduction in phases. All ranks get the same answer.
pub fn reduces(call: &Call, operation: &Operation) -> bool {
    let (collective, operand) = match operation {
        Operation::Reduce { operand, .. } => (Collective::Reduce, operand),
        Operation::Allreduce { operand, .. } => (Collective::Allreduce, operand),
        _ => return false,
    };
    let size = Size::of_reduction(call.team, operand);
    call.team.placement.has_levels()
        && operand.is_plain()
        && operand.bytes() <= LARGEST_REDUCTION
        && call.selection.choose(collective, size) == Algorithm::Hierarchical
}

/// The plan of messages by which a call runs where no host has a board: of its phases, or of the
/// whole.
///
/// # Errors
/// If there is no memory for intermediate results, or sizes overflow.
pub fn plan_of(call: &Call, operation: &Operation) -> Result<Plan, PlanError> {
    let Some(phases) = phases(call, operation)? else { return operation.plan(call) };
    let host = call.team.on_my_host();
    let on_host =
        |operation: Operation| operation.plan(&Call { team: &host, selection: call.selection });
    let (before, after) = (phases.before.map(on_host), phases.after.map(on_host));
    let plans = [before.transpose()?, phases.between, after.transpose()?];
    let mut builder = Builder::new(call.team);
    for plan in plans.into_iter().flatten() {
        builder.graft(plan);
        builder.phase();
    }
    builder.keep(phases.memory);
    let mut plan = builder.finish()?;
    plan.signature = phases.signature;
    Ok(plan)
}

fn scratch(bytes: i64) -> Result<Scratch, PlanError> {
    Scratch::new(bytes).ok_or(PlanError::Memory { bytes })
}

impl Hierarchy {
    /// Phases with these steps among the leaders. A rank that is alone on its host has no others.
    fn phases(
        &self,
        call: &Call,
        before: Option<Operation>,
        after: Option<Operation>,
        among_leaders: impl FnOnce(&mut Builder),
    ) -> Result<HostPhases, PlanError> {
        let between = self.leader_team().map(|leaders| {
            let mut builder = Builder::new(call.team);
            builder.within(&leaders, among_leaders);
            builder.finish()
        });
        let on_host = |operation: Option<Operation>| operation.filter(|_| !self.is_alone());
        let (before, after) = (on_host(before), on_host(after));
        let between = between.transpose()?;
        Ok(HostPhases { before, between, after, ..HostPhases::default() })
    }
}
