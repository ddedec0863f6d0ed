//! Hierarchical calls in phases: on each host, among the leaders, and on each host again. The
//! phases on a host are operations of its ranks alone, which may use a board there.

use super::Hierarchy;
use crate::buffers::{Buffer, Scratch};
use crate::builder::Builder;
use crate::gather::Gather;
use crate::operand::Operand;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::{Blocks, Call, Element, Operation, allreduce, barrier, broadcast, reduce};

/// A call in phases, each of which begins after the one before.
#[derive(Debug)]
pub struct HostPhases {
    /// From the ranks of this host to its leader, with ranks of this host.
    pub up: Option<Operation>,
    /// Among the leaders; `None` on other ranks.
    pub between: Option<Plan>,
    /// From the leader to the ranks of this host.
    pub down: Option<Operation>,
    /// Memory that the phases use.
    pub memory: Vec<Scratch>,
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
    let is_hierarchical =
        |collective, size| call.selection.choose(collective, size) == Algorithm::Hierarchical;
    let team = call.team;
    let of_reduction = |operand: &Operand| Size::of_reduction(team, operand);
    match operation {
        Operation::Barrier if is_hierarchical(Collective::Barrier, Size::of_team(team, 0)) => {
            barrier_phases(call).map(Some)
        }
        Operation::Bcast { root, data }
            if data.bytes() <= broadcast::CHUNK
                && is_hierarchical(Collective::Bcast, Size::of_team(team, data.bytes())) =>
        {
            bcast_phases(call, *root, data).map(Some)
        }
        Operation::Reduce { root, operand, receive }
            if operand.is_plain() && is_hierarchical(Collective::Reduce, of_reduction(operand)) =>
        {
            reduce_phases(call, *root, operand, *receive).map(Some)
        }
        Operation::Allreduce { operand, receive }
            if operand.is_plain()
                && is_hierarchical(Collective::Allreduce, of_reduction(operand)) =>
        {
            allreduce_phases(call, operand, *receive).map(Some)
        }
        _ => Ok(None),
    }
}

/// Signals are bytes, because a plan leaves out messages without any.
fn barrier_phases(call: &Call) -> Result<HostPhases, PlanError> {
    let hierarchy = Hierarchy::new(call.team, None);
    let members = hierarchy.own_members().len() as i64;
    let mut memory = scratch(members + 1)?;
    let (receive, own) = (memory.pointer(), memory.pointer().wrapping_add(members as usize));
    let byte = Element::dense(1);
    let signal = |pointer: *mut u8| Buffer { pointer, count: 1, element: byte.clone() };
    let root = hierarchy.leader_on_host();
    let blocks = Blocks::Equal { pointer: receive, count: 1, element: byte.clone() };
    let up = Gather { root, send: Some(signal(own)), receive: hierarchy.leads().then_some(blocks) };
    let down = Operation::Bcast { root, data: signal(own) };
    let phases = hierarchy.phases(call, Some(Operation::Gather(up)), Some(down), |builder| {
        barrier::dissemination(builder);
    })?;
    Ok(HostPhases { memory: vec![memory], ..phases })
}

fn scratch(bytes: i64) -> Result<Scratch, PlanError> {
    Scratch::new(bytes).ok_or(PlanError::Memory { bytes })
}

fn bcast_phases(call: &Call, root: usize, data: &Buffer) -> Result<HostPhases, PlanError> {
    let hierarchy = Hierarchy::new(call.team, Some(root));
    let down = Operation::Bcast { root: hierarchy.leader_on_host(), data: data.clone() };
    let first = call.team.placement.host_of(root);
    hierarchy.phases(call, None, Some(down), |builder| {
        broadcast::append(builder, call, first, data);
    })
}

fn reduce_phases(
    call: &Call,
    root: usize,
    operand: &Operand,
    receive: *mut u8,
) -> Result<HostPhases, PlanError> {
    let hierarchy = Hierarchy::new(call.team, Some(root));
    let first = call.team.placement.host_of(root);
    let is_root = call.team.rank == root;
    let needs_home = hierarchy.leads() && hierarchy.own_members().len() > 1 && !is_root;
    let mut memory = Vec::new();
    if needs_home {
        memory.push(scratch(operand.bytes())?);
    }
    let home = memory.first_mut().map_or(receive, Scratch::pointer);
    let up = (hierarchy.own_members().len() > 1).then(|| Operation::Reduce {
        root: hierarchy.leader_on_host(),
        operand: operand.clone(),
        receive: home,
    });
    let between = hierarchy.leader_team().map(|leaders| {
        let send = if up.is_none() { operand.send } else { None };
        let send = if is_root { send } else { send.or(Some(home)) };
        let host = Operand { send, ..operand.clone() };
        let mut builder = Builder::new(call.team);
        builder.within(&leaders, |builder| {
            reduce::append(builder, call, first, &host, is_root.then_some(receive));
        });
        builder.finish()
    });
    Ok(HostPhases { up, between: between.transpose()?, down: None, memory })
}

fn allreduce_phases(
    call: &Call,
    operand: &Operand,
    receive: *mut u8,
) -> Result<HostPhases, PlanError> {
    let hierarchy = Hierarchy::new(call.team, None);
    let root = hierarchy.leader_on_host();
    // Only at the root of a reduction a vector is in place.
    let vector = if hierarchy.leads() { operand.send } else { operand.send.or(Some(receive)) };
    let own = Operand { send: vector, ..operand.clone() };
    let up = Operation::Reduce { root, operand: own, receive };
    let alone = hierarchy.own_members().len() == 1;
    let host = Operand { send: if alone { operand.send } else { None }, ..operand.clone() };
    let result =
        Buffer { pointer: receive, count: operand.count, element: operand.element.clone() };
    let down = Operation::Bcast { root, data: result };
    hierarchy.phases(call, Some(up), Some(down), |builder| {
        allreduce::append(builder, call, &host, receive);
    })
}

impl Hierarchy {
    /// The leader of this process's host, as a rank of its host.
    fn leader_on_host(&self) -> usize {
        let members = self.own_members();
        members.binary_search(&self.leader()).expect("the leader is on its host")
    }

    /// Phases with these steps among the leaders. A rank that is alone on its host has no others.
    fn phases(
        &self,
        call: &Call,
        up: Option<Operation>,
        down: Option<Operation>,
        among_leaders: impl FnOnce(&mut Builder),
    ) -> Result<HostPhases, PlanError> {
        let is_alone = self.own_members().len() == 1;
        let between = self.leader_team().map(|leaders| {
            let mut builder = Builder::new(call.team);
            builder.within(&leaders, among_leaders);
            builder.finish()
        });
        let on_host = |operation: Option<Operation>| operation.filter(|_| !is_alone);
        let (up, down) = (on_host(up), on_host(down));
        Ok(HostPhases { up, between: between.transpose()?, down, memory: Vec::new() })
    }
}
