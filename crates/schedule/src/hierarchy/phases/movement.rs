//! Data movement in phases.

use super::{Hierarchy, HostPhases, scratch};
use crate::allgather::{self, Allgather};
use crate::buffers::{Blocks, Buffer, Element, Piece, Scratch};
use crate::builder::Builder;
use crate::gather::Gather;
use crate::hierarchy::movement::pieces_of;
use crate::plan::PlanError;
use crate::scatter::Scatter;
use crate::{Call, Operation, barrier, broadcast};

/// Every rank of a host has entered, then a rank of every host, then all. Signals are bytes,
/// because a plan leaves out messages without any.
pub(super) fn barrier(call: &Call) -> Result<HostPhases, PlanError> {
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
        barrier::append(builder, call);
    })?;
    Ok(HostPhases { memory: vec![memory], ..phases })
}

/// From the root to all leaders, and from each to its host.
pub(super) fn bcast(call: &Call, root: usize, data: &Buffer) -> Result<HostPhases, PlanError> {
    let hierarchy = Hierarchy::new(call.team, Some(root));
    let down = Operation::Bcast { root: hierarchy.leader_on_host(), data: data.clone() };
    let first = call.team.placement.host_of(root);
    // The root has the data already, so its host need not wait for others.
    let (before, after) =
        if call.team.rank == root { (Some(down), None) } else { (None, Some(down)) };
    hierarchy.phases(call, before, after, |builder| {
        broadcast::append(builder, call, first, data);
    })
}

/// The blocks of this process's host at its leader.
struct HostBlocks {
    /// In rank order.
    blocks: Blocks,
    /// The memory of blocks that do not lie in a row in the buffer of the call.
    memory: Option<Scratch>,
}

impl HostBlocks {
    /// Blocks of `bytes` bytes each: those of `whole`, the blocks of all ranks, if they lie in a
    /// row there. `None` if this process does not lead.
    fn at_leader(
        hierarchy: &Hierarchy,
        whole: Option<&Blocks>,
        bytes: i64,
    ) -> Result<Option<HostBlocks>, PlanError> {
        if !hierarchy.leads() {
            return Ok(None);
        }
        let members = hierarchy.own_members();
        let is_row = members.windows(2).all(|pair| pair[1] == pair[0] + 1);
        if let (true, Some(Blocks::Equal { pointer, count, element })) = (is_row, whole) {
            let pointer = element.at(*pointer, count.wrapping_mul(members[0] as i64));
            let blocks = Blocks::Equal { pointer, count: *count, element: element.clone() };
            return Ok(Some(HostBlocks { blocks, memory: None }));
        }
        let mut memory = scratch(bytes.saturating_mul(members.len() as i64))?;
        let blocks =
            Blocks::Equal { pointer: memory.pointer(), count: bytes, element: Element::dense(1) };
        Ok(Some(HostBlocks { blocks, memory: Some(memory) }))
    }

    /// All of them, or this rank's own buffer if it is alone on its host and has one.
    fn or_alone(&self, hierarchy: &Hierarchy, own: Option<&Buffer>) -> Piece {
        match own {
            Some(own) if hierarchy.is_alone() => own.piece(),
            _ => self.piece(hierarchy),
        }
    }

    /// All of them.
    fn piece(&self, hierarchy: &Hierarchy) -> Piece {
        self.blocks.pieces(0, hierarchy.own_members().len())
    }
}

/// From the ranks of a host to its leader, and from the leaders to where the blocks belong at the
/// root.
pub(super) fn gather(call: &Call, arguments: &Gather) -> Result<HostPhases, PlanError> {
    let hierarchy = Hierarchy::new(call.team, Some(arguments.root));
    let (root, rank) = (hierarchy.leader_on_host(), call.team.rank);
    let whole = arguments.receive.as_ref().filter(|_| rank == arguments.root);
    let host = HostBlocks::at_leader(&hierarchy, whole, arguments.bytes())?;
    let is_packed = host.as_ref().is_some_and(|host| host.memory.is_some());
    let in_place = whole.filter(|_| is_packed).map(|whole| whole.block(rank));
    let send = arguments.send.clone().or(in_place);
    let between = host.as_ref().map(|host| {
        let mut builder = Builder::new(call.team);
        let own = host.or_alone(&hierarchy, send.as_ref());
        let Some(whole) = whole else {
            builder.send(arguments.root, 0, own);
            return builder.finish();
        };
        for (index, &leader) in hierarchy.leaders.iter().enumerate() {
            if index != hierarchy.host {
                let blocks = pieces_of(&mut builder, whole, hierarchy.members(index));
                builder.receive(leader, 0, blocks);
            } else if is_packed || hierarchy.is_alone() {
                let blocks = pieces_of(&mut builder, whole, hierarchy.members(index));
                builder.copy(own.clone(), blocks);
            }
        }
        builder.finish()
    });
    let (blocks, memory) = host.map(|host| (host.blocks, host.memory)).unzip();
    let up = Operation::Gather(Gather { root, send, receive: blocks });
    Ok(HostPhases {
        before: Some(up).filter(|_| !hierarchy.is_alone()),
        between: between.transpose()?,
        memory: memory.flatten().into_iter().collect(),
        ..HostPhases::default()
    })
}

/// The mirror image of [`gather`].
pub(super) fn scatter(call: &Call, arguments: &Scatter) -> Result<HostPhases, PlanError> {
    let hierarchy = Hierarchy::new(call.team, Some(arguments.root));
    let (root, rank) = (hierarchy.leader_on_host(), call.team.rank);
    let whole = arguments.send.as_ref().filter(|_| rank == arguments.root);
    let host = HostBlocks::at_leader(&hierarchy, whole, arguments.bytes())?;
    let receive = arguments.receive.clone();
    let between = host.as_ref().map(|host| {
        let mut builder = Builder::new(call.team);
        let own = host.or_alone(&hierarchy, receive.as_ref());
        let Some(whole) = whole else {
            builder.receive(arguments.root, 0, own);
            return builder.finish();
        };
        for (index, &leader) in hierarchy.leaders.iter().enumerate() {
            if index != hierarchy.host {
                let blocks = pieces_of(&mut builder, whole, hierarchy.members(index));
                builder.send(leader, 0, blocks);
            } else if host.memory.is_some() || hierarchy.is_alone() {
                let blocks = pieces_of(&mut builder, whole, hierarchy.members(index));
                builder.copy(blocks, own.clone());
            }
        }
        builder.finish()
    });
    let (blocks, memory) = host.map(|host| (host.blocks, host.memory)).unzip();
    let memory = memory.flatten();
    let down = Operation::Scatter(Scatter { root, send: blocks, receive });
    let down = Some(down).filter(|_| !hierarchy.is_alone());
    let is_ready = whole.is_some() && memory.is_none();
    let (before, after) = if is_ready { (down, None) } else { (None, down) };
    Ok(HostPhases {
        before,
        between: between.transpose()?,
        after,
        memory: memory.into_iter().collect(),
        ..HostPhases::default()
    })
}

/// Leaders collect the blocks of their host, exchange those of whole hosts, and pass all on. The
/// blocks are of equal count.
pub(super) fn allgather(call: &Call, arguments: &Allgather) -> Result<HostPhases, PlanError> {
    let hierarchy = Hierarchy::new(call.team, None);
    let (root, rank) = (hierarchy.leader_on_host(), call.team.rank);
    let Allgather { send, receive } = arguments;
    let all = receive.row(call.team.size());
    let host = HostBlocks::at_leader(&hierarchy, Some(receive), receive.bytes(0))?;
    let packed = host.as_ref().filter(|host| host.memory.is_some());
    // Only at the leader a block may be in place.
    let in_place = (packed.is_some() || !hierarchy.leads()).then(|| receive.block(rank));
    let send = send.clone().or(in_place);
    let up =
        Gather { root, send: send.clone(), receive: host.as_ref().map(|host| host.blocks.clone()) };
    let phases = hierarchy.phases(
        call,
        Some(Operation::Gather(up)),
        Some(Operation::Bcast { root, data: all }),
        |builder| {
            let hosts = (0..hierarchy.hosts()).map(|host| hierarchy.members(host));
            let Some(blocks) = receive.grouped(hosts) else { return builder.overflow() };
            if let Some(packed) = packed {
                builder.copy(packed.piece(&hierarchy), blocks.piece(hierarchy.host));
                builder.phase();
            }
            let own = send.filter(|_| hierarchy.is_alone());
            allgather::append(builder, call, &Allgather { send: own, receive: blocks });
        },
    )?;
    let memory = host.and_then(|host| host.memory);
    Ok(HostPhases { memory: memory.into_iter().collect(), ..phases })
}
