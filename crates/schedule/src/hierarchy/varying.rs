//! MPI_GATHERV, MPI_SCATTERV, MPI_ALLTOALLV and MPI_ALLTOALLW between hosts: the leaders exchange
//! [records](super::records), which say how long the blocks are, and pass on the blocks in them.
//! Longer blocks go straight from their owners to where they belong.

mod alltoall;

use std::rc::Rc;

use super::Hierarchy;
use super::records::{self, APART, PostedReceives, Records};
use crate::Team;
use crate::buffers::{Blocks, Piece};
use crate::builder::{Builder, Mark};
use crate::gather::Gather;
use crate::scatter::Scatter;
use crate::select::Size;

pub(crate) use alltoall::{alltoall, is_worth_it};

/// The longest block in a record.
const LONGEST: i64 = 4 << 10;
/// Most bytes of the records that a rank has in memory.
const MOST: i64 = 32 << 20;
/// Records for shorter blocks are not worth the exchange of lengths.
const LEAST: i64 = 64;

/// The records of a gather or scatter: the root holds those of all ranks.
fn rooted(team: &Team) -> Records {
    Records::up_to(LONGEST).within(MOST, team.size())
}

/// The size of a gather or scatter by which its algorithm is chosen: flat if the root cannot hold
/// records that are worth it. The same on all ranks.
pub(crate) fn size_of_rooted(team: &Team) -> Size {
    let size = Size::of_team(team, 0);
    if rooted(team).hold(LEAST) { size } else { size.flat() }
}

/// Ranks send their record to their leader, leaders those of their host to the root.
pub(crate) fn gather(builder: &mut Builder, arguments: &Gather) {
    let (hierarchy, records) =
        (Hierarchy::new(&builder.team, Some(arguments.root)), rooted(&builder.team));
    if let Some(receive) = &arguments.receive {
        return collect(builder, &hierarchy, records, arguments, receive);
    }
    let Some(send) = &arguments.send else { return };
    let root = arguments.root;
    let (record, packed) = records.pack(builder, std::iter::once(send.piece()));
    if !records.hold(send.bytes()) {
        builder.send(root, APART, send.piece());
    }
    if hierarchy.leads() && !hierarchy.is_alone() {
        return bundle(builder, &hierarchy, records, root, (record, packed));
    }
    let above = if hierarchy.leads() { root } else { hierarchy.leader() };
    records::send(builder, above, record, &packed);
}

/// The leader of another host than the root's sends it the records of all its ranks at once. Its
/// own one is there after these steps.
fn bundle(
    builder: &mut Builder,
    hierarchy: &Hierarchy,
    records: Records,
    root: usize,
    (record, packed): (Piece, Vec<Mark>),
) {
    let (members, own) = (hierarchy.own_members(), hierarchy.leader_on_host());
    let room = records.room(1);
    let memory = builder.bytes(records.room(members.len()));
    let slot = |index: usize, bytes| Piece::range(memory, room * index as i64, bytes);
    let length = record.bytes();
    let copied = builder.copy(record, slot(own, length));
    packed.into_iter().for_each(|mark| builder.after(copied, mark));
    let others = members.iter().enumerate().filter(|&(index, _)| index != own);
    let arrived: Vec<Mark> = others
        .map(|(index, &peer)| records::receive_in(builder, peer, slot(index, room)))
        .collect();
    let sent = builder.expand(&arrived, &[], move |builder, received| {
        let mut lengths: Vec<i64> = received.iter().map(|record| record.len() as i64).collect();
        lengths.insert(own, length);
        let ranges = lengths.into_iter().enumerate();
        let ranges: Vec<_> = ranges.map(|(index, bytes)| (room * index as i64, bytes)).collect();
        let all = records::joined(builder, memory, &ranges);
        records::send(builder, root, all, &[]);
    });
    builder.after(sent, copied);
}

/// The root stores the blocks of each message as it arrives.
fn collect(
    builder: &mut Builder,
    hierarchy: &Hierarchy,
    records: Records,
    arguments: &Gather,
    receive: &Blocks,
) {
    let blocks = Rc::new(receive.clone());
    for (peer, ranks) in partners(hierarchy) {
        let (memory, arrived) = records.receive(builder, peer, ranks.len());
        let destinations = ranks.iter().map(|&rank| (rank, blocks.piece(rank)));
        let posted = PostedReceives::new(builder, records, destinations);
        let (blocks, receives) = (blocks.clone(), posted.receives.clone());
        builder.expand(&[arrived], &receives, move |builder, received| {
            let read = records.read(received[0], ranks.len()).into_iter();
            for ((index, &rank), record) in ranks.iter().enumerate().zip(read) {
                posted.store(builder, index, (memory, record), (rank, blocks.piece(rank)));
            }
        });
    }
    if let Some(send) = &arguments.send {
        builder.copy(send.piece(), receive.piece(arguments.root));
    }
}

/// The ranks with which the root exchanges records, and the ranks whose blocks these contain: the
/// leaders of the other hosts, and the ranks of its own.
fn partners(hierarchy: &Hierarchy) -> Vec<(usize, Vec<usize>)> {
    let others = (0..hierarchy.hosts()).filter(|&host| host != hierarchy.host);
    let leaders = others.map(|host| (hierarchy.leaders[host], hierarchy.members(host).to_vec()));
    leaders.chain(hierarchy.followers().map(|rank| (rank, vec![rank]))).collect()
}

/// The mirror image of [`gather`].
pub(crate) fn scatter(builder: &mut Builder, arguments: &Scatter) {
    let hierarchy = Hierarchy::new(&builder.team, Some(arguments.root));
    let (root, own, records) = (arguments.root, builder.rank(), rooted(&builder.team));
    if let Some(send) = &arguments.send {
        for (peer, ranks) in partners(&hierarchy) {
            let blocks = ranks.iter().map(|&rank| send.piece(rank));
            let (message, packed) = records.pack(builder, blocks);
            records::send(builder, peer, message, &packed);
            for rank in ranks.into_iter().filter(|&rank| !records.hold(send.bytes(rank))) {
                builder.send(rank, APART, send.piece(rank));
            }
        }
        if let Some(receive) = &arguments.receive {
            builder.copy(send.piece(root), receive.piece());
        }
        return;
    }
    let Some(receive) = &arguments.receive else { return };
    let (source, ranks) = match hierarchy.leads() {
        true => (root, hierarchy.own_members().to_vec()),
        false => (hierarchy.leader(), vec![own]),
    };
    let (memory, arrived) = records.receive(builder, source, ranks.len());
    let block = receive.piece();
    let posted = PostedReceives::new(builder, records, std::iter::once((root, block.clone())));
    let receives = posted.receives.clone();
    builder.expand(&[arrived], &receives, move |builder, received| {
        for (record, &rank) in records.read(received[0], ranks.len()).into_iter().zip(&ranks) {
            if rank == own {
                posted.store(builder, 0, (memory, record), (root, block.clone()));
            } else {
                let range = Piece::range(memory, record.first, record.length());
                records::send(builder, rank, range, &[]);
            }
        }
    });
}
