//! Reductions in phases.

use super::{Hierarchy, HostPhases, scratch};
use crate::buffers::{Buffer, Scratch};
use crate::builder::Builder;
use crate::fold::Ready;
use crate::operand::Operand;
use crate::plan::PlanError;
use crate::{Call, Operation, allreduce, reduce};

/// See [`reduce`](crate::hierarchy::reductions::reduce).
pub(super) fn reduce(
    call: &Call,
    root: usize,
    operand: &Operand,
    receive: *mut u8,
) -> Result<HostPhases, PlanError> {
    let hierarchy = Hierarchy::new(call.team, Some(root));
    let first = call.team.placement.host_of(root);
    let is_root = call.team.rank == root;
    let needs_home = hierarchy.leads() && !hierarchy.is_alone() && !is_root;
    let mut memory = Vec::new();
    if needs_home {
        memory.push(scratch(operand.bytes())?);
    }
    let home = memory.first_mut().map_or(receive, Scratch::pointer);
    let up = (!hierarchy.is_alone()).then(|| Operation::Reduce {
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
            let result = is_root.then_some(receive);
            reduce::append(builder, call, first, &host, result, &Ready::default());
        });
        builder.finish()
    });
    let between = between.transpose()?;
    Ok(HostPhases { before: up, between, memory, ..HostPhases::default() })
}

/// See [`allreduce`](crate::hierarchy::reductions::allreduce).
pub(super) fn allreduce(
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
    let send = if hierarchy.is_alone() { operand.send } else { None };
    let host = Operand { send, ..operand.clone() };
    let result =
        Buffer { pointer: receive, count: operand.count, element: operand.element.clone() };
    let down = Operation::Bcast { root, data: result };
    hierarchy.phases(call, Some(up), Some(down), |builder| {
        allreduce::append(builder, call, &host, receive);
    })
}
