//! Hierarchical data movement: barrier, broadcast, gather, scatter, allgather, alltoall.

use super::Hierarchy;
use crate::allgather::{self, Allgather};
use crate::broadcast;
use crate::buffers::{Blocks, Buffer, Element, Piece};
use crate::builder::Builder;
use crate::gather::Gather;
use crate::placement_costs::HostTreeShape;
use crate::scatter::Scatter;
use crate::segments::Pipeline;
use crate::{Call, Team, barrier};

/// A leader sends the blocks of its host as soon as it has this many bytes, so that the link
/// between the hosts does not wait for the last rank.
const STREAMED: i64 = 64 << 10;
/// An allgather of up to this many bytes reaches the ranks of a host in one message each; a longer
/// one in a message for each host, which its leader passes on as it arrives.
const WHOLE: i64 = 64 << 10;

/// Most bytes that a leader collects in an alltoall, and again distributes.
const LARGEST_ALLTOALL: i64 = 32 << 20;

/// Turns of the messages inside a host, towards its leader and back.
const UP: usize = 0;
const DOWN: usize = 1;

/// Every leader waits for the ranks of its host, then for all other leaders. The hosts may be
/// groups of hosts.
pub(crate) fn barrier(builder: &mut Builder, call: &Call) {
    let hierarchy = Hierarchy::new(&builder.team, None);
    let (parent, children) = hierarchy.in_host_tree();
    for &child in &children {
        builder.await_signal(hierarchy.team.peers[child], UP);
    }
    builder.phase();
    if let Some(parent) = parent {
        builder.signal(hierarchy.team.peers[parent], UP);
        builder.await_signal(hierarchy.team.peers[parent], DOWN);
    }
    if let Some(leaders) = hierarchy.leader_team() {
        builder.within(&leaders, |builder| barrier::append(builder, call));
    }
    builder.phase();
    for child in children {
        builder.signal(hierarchy.team.peers[child], DOWN);
    }
}

/// A tree or chain of the leaders, and a tree in each host. Ranks pass on each chunk as it arrives.
pub(crate) fn bcast(builder: &mut Builder, call: &Call, root: usize, data: &Buffer) {
    let hierarchy = Hierarchy::new(&builder.team, Some(root));
    let (mut parent, mut children) = (None, Vec::new());
    let placement = &hierarchy.team.placement;
    let Pipeline { mut shape, segment } = broadcast::between_hosts(call, placement, data.bytes());
    if hierarchy.leads() {
        // Behind a slow link at the root, the others have time to send several copies.
        if placement.has_slow_link(placement.host_of(root)) && !placement.has_groups() {
            shape = HostTreeShape::Binomial;
        }
        (parent, children) = hierarchy.between_hosts(root, shape);
    }
    let (above, below) = hierarchy.in_host_tree();
    children.extend(below);
    let parent = parent.or(above);
    broadcast::in_segments(builder, data, segment, parent, &children);
}

/// The ranks of a host in groups whose blocks of `bytes` bytes are sent together.
fn groups(ranks: &[usize], bytes: i64) -> impl Iterator<Item = &[usize]> {
    ranks.chunks((STREAMED / bytes.max(1)).max(1) as usize)
}

/// The blocks `ranks` of `blocks`, or none if that fails.
pub(crate) fn pieces_of(builder: &mut Builder, blocks: &Blocks, ranks: &[usize]) -> Piece {
    blocks.pieces_of(ranks).unwrap_or_else(|| {
        builder.overflow();
        Piece::raw(std::ptr::dangling_mut(), 0)
    })
}

/// Memory of the plan for `number` blocks of `bytes` bytes.
fn memory(builder: &mut Builder, number: usize, bytes: i64) -> Blocks {
    let pointer = builder.bytes(bytes.saturating_mul(number as i64));
    Blocks::Equal { pointer, count: bytes, element: Element::dense(1) }
}

/// Ranks send their block to their leader, leaders those of their host to the root, which stores
/// them where they belong.
pub(crate) fn gather(builder: &mut Builder, arguments: &Gather) {
    let hierarchy = Hierarchy::new(&builder.team, Some(arguments.root));
    let rank = builder.rank();
    if let Some(receive) = &arguments.receive {
        for host in (0..hierarchy.hosts()).filter(|&host| host != hierarchy.host) {
            for (turn, ranks) in groups(hierarchy.members(host), receive.bytes(0)).enumerate() {
                let piece = pieces_of(builder, receive, ranks);
                builder.receive(hierarchy.leaders[host], turn, piece);
            }
        }
        for peer in hierarchy.followers() {
            builder.receive(peer, UP, receive.piece(peer));
        }
        if let Some(send) = &arguments.send {
            builder.copy(send.piece(), receive.piece(rank));
        }
        return;
    }
    let Some(send) = &arguments.send else { return };
    if !hierarchy.leads() {
        builder.send(hierarchy.leader(), UP, send.piece());
        return;
    }
    let members = hierarchy.own_members();
    if members.len() == 1 {
        builder.send(arguments.root, 0, send.piece());
        return;
    }
    let packed = memory(builder, members.len(), send.bytes());
    let mut index = 0;
    for (turn, ranks) in groups(members, send.bytes()).enumerate() {
        let first = index;
        let mut ready = Vec::new();
        for &peer in ranks {
            ready.push(match peer == rank {
                true => builder.copy(send.piece(), packed.piece(index)),
                false => builder.receive(peer, UP, packed.piece(index)),
            });
            index += 1;
        }
        let sent = builder.send(arguments.root, turn, packed.pieces(first, ranks.len()));
        ready.into_iter().for_each(|mark| builder.after(sent, mark));
    }
}

/// The mirror image of [`gather`].
pub(crate) fn scatter(builder: &mut Builder, arguments: &Scatter) {
    let hierarchy = Hierarchy::new(&builder.team, Some(arguments.root));
    let rank = builder.rank();
    if let Some(send) = &arguments.send {
        for host in (0..hierarchy.hosts()).filter(|&host| host != hierarchy.host) {
            for (turn, ranks) in groups(hierarchy.members(host), send.bytes(0)).enumerate() {
                let piece = pieces_of(builder, send, ranks);
                builder.send(hierarchy.leaders[host], turn, piece);
            }
        }
        for peer in hierarchy.followers() {
            builder.send(peer, DOWN, send.piece(peer));
        }
        if let Some(receive) = &arguments.receive {
            builder.copy(send.piece(rank), receive.piece());
        }
        return;
    }
    let Some(receive) = &arguments.receive else { return };
    if !hierarchy.leads() {
        builder.receive(hierarchy.leader(), DOWN, receive.piece());
        return;
    }
    let members = hierarchy.own_members();
    if members.len() == 1 {
        builder.receive(arguments.root, 0, receive.piece());
        return;
    }
    let packed = memory(builder, members.len(), receive.bytes());
    let mut index = 0;
    for (turn, ranks) in groups(members, receive.bytes()).enumerate() {
        let piece = packed.pieces(index, ranks.len());
        let arrived = builder.receive(arguments.root, turn, piece);
        for &peer in ranks {
            let passed = match peer == rank {
                true => builder.copy(packed.piece(index), receive.piece()),
                false => builder.send(peer, DOWN, packed.piece(index)),
            };
            builder.after(passed, arrived);
            index += 1;
        }
    }
}

/// Leaders collect the blocks of their host in place, exchange those of whole hosts, and pass all
/// on. The blocks have `total` bytes together, and this rank's own one is in `receive`.
pub(crate) fn allgather(builder: &mut Builder, call: &Call, receive: &Blocks, total: i64) {
    let hierarchy = Hierarchy::new(&builder.team, None);
    let (rank, size) = (builder.rank(), builder.size());
    let hosts = (0..hierarchy.hosts()).map(|host| hierarchy.members(host));
    let Some(blocks) = receive.grouped(hosts) else { return builder.overflow() };
    let whole = (total <= WHOLE).then(|| {
        let ranks: Vec<usize> = (0..size).collect();
        pieces_of(builder, receive, &ranks)
    });
    let all = || match &whole {
        Some(whole) => vec![whole.clone()],
        None => (0..hierarchy.hosts()).map(|host| blocks.piece(host)).collect(),
    };
    let Some(leaders) = hierarchy.leader_team() else {
        builder.send(hierarchy.leader(), UP, receive.piece(rank));
        builder.phase();
        for (host, piece) in all().into_iter().enumerate() {
            builder.receive(hierarchy.leader(), DOWN + host, piece);
        }
        return;
    };
    for peer in hierarchy.followers() {
        builder.receive(peer, UP, receive.piece(peer));
    }
    builder.phase();
    let pass = |builder: &mut Builder, host: usize, piece: Piece, arrived| {
        for peer in hierarchy.followers() {
            let passed = builder.send(peer, DOWN + host, piece.clone());
            builder.after(passed, arrived);
        }
    };
    if let Some(whole) = whole {
        let arguments = Allgather { send: None, receive: blocks.clone() };
        builder.within(&leaders, |builder| allgather::append(builder, call, &arguments));
        pass(builder, 0, whole, None);
        return;
    }
    pass(builder, hierarchy.host, blocks.piece(hierarchy.host), None);
    let mut arrived = Vec::new();
    builder.within(&leaders, |builder| arrived = allgather::ring(builder, &blocks));
    for (host, mark) in arrived {
        pass(builder, host, blocks.piece(host), mark);
    }
}

/// True if the leaders can hold the blocks of their hosts, of `bytes` bytes each. The same on all
/// ranks.
pub(crate) fn holds_alltoall(team: &Team, bytes: i64) -> bool {
    let blocks = (team.placement.most_members() * team.size()) as i64;
    blocks.saturating_mul(bytes) <= LARGEST_ALLTOALL
}

/// Leaders collect all blocks of their host, exchange one message with each other leader, and
/// distribute what came. The blocks are of equal count.
pub(crate) fn alltoall(builder: &mut Builder, send: &Blocks, receive: &Blocks) {
    let hierarchy = Hierarchy::new(&builder.team, None);
    let (rank, size) = (builder.rank(), builder.size());
    if !hierarchy.leads() {
        builder.send(hierarchy.leader(), UP, send.pieces(0, size));
        builder.receive(hierarchy.leader(), DOWN, receive.pieces(0, size));
        return;
    }
    let members = hierarchy.own_members();
    let number = members.len();
    // What the ranks of this host send: `size` blocks of each.
    let outgoing = memory(builder, number * size, send.bytes(0));
    for (index, &peer) in members.iter().enumerate() {
        let piece = outgoing.pieces(index * size, size);
        match peer == rank {
            true => builder.copy(send.pieces(0, size), piece),
            false => builder.receive(peer, UP, piece),
        };
    }
    builder.phase();
    // What they receive: blocks by sender, host by host, and then by receiver.
    let incoming = memory(builder, size * number, send.bytes(0));
    let mut first = 0;
    for host in 0..hierarchy.hosts() {
        let others = hierarchy.members(host);
        let blocks: Vec<usize> = (0..number)
            .flat_map(|sender| others.iter().map(move |to| sender * size + to))
            .collect();
        let (leader, bundle) = (hierarchy.leaders[host], pieces_of(builder, &outgoing, &blocks));
        let arriving = incoming.pieces(first * number, others.len() * number);
        if host == hierarchy.host {
            builder.copy(bundle, arriving);
        } else {
            builder.receive(leader, 0, arriving);
            builder.send(leader, 0, bundle);
        }
        first += others.len();
    }
    builder.phase();
    let positions = hierarchy.positions();
    for (index, &peer) in members.iter().enumerate() {
        let blocks: Vec<usize> = positions.iter().map(|from| from * number + index).collect();
        let piece = pieces_of(builder, &incoming, &blocks);
        match peer == rank {
            true => builder.copy(piece, receive.pieces(0, size)),
            false => builder.send(peer, DOWN, piece),
        };
    }
}
