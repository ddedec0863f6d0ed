//! MPI_BCAST (6.4): a binomial tree for small data; a scatter of parts followed by a ring for large
//! data (van de Geijn); a chain of chunks for very large data on few ranks, in which every rank
//! sends and receives concurrently.
//!
//! Count and type may differ between ranks as long as the number of bytes is the same, so the
//! choice depends on bytes only.

use crate::buffers::{Buffer, Piece};
use crate::builder::{Builder, Mark};
use crate::plan::{Plan, PlanError};
use crate::segments::{self, Pipeline};
use crate::select::{Algorithm, Collective, Size};
use crate::tree::{Binomial, absolute, relative};
use crate::{Call, Placement, Team, hierarchy};

/// Bytes of a chunk in a chain on one host.
const CHUNK: i64 = 64 << 10;
/// Maximum number of chunks in flight to one rank.
const WINDOW: usize = 4;

/// Builds a plan that sends the data of `root` to all ranks.
pub fn bcast(call: &Call, root: usize, data: &Buffer) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    append(&mut builder, call, root, data);
    builder.finish()
}

/// Appends the broadcast to a plan.
pub(crate) fn append(builder: &mut Builder, call: &Call, root: usize, data: &Buffer) {
    if builder.size() == 1 {
        return;
    }
    match choose(call, &builder.team, data.bytes()) {
        Algorithm::Hierarchical => hierarchy::movement::bcast(builder, call, root, data),
        Algorithm::Chain => chain(builder, root, data),
        Algorithm::Linear => linear(builder, root, &data.piece()),
        Algorithm::ScatterAllgather => scatter_allgather_packed(builder, root, data),
        _ => binomial(builder, root, &data.piece()),
    }
    builder.phase();
}

/// Appends the broadcast of a result that all other ranks wait for. Where few hosts share cores,
/// the root sends it to all: a rank that passes data on first needs a turn on a core. A broadcast
/// alone overlaps with the next one if others pass it on, and the root is done sooner.
pub(crate) fn of_result(builder: &mut Builder, call: &Call, root: usize, data: &Buffer) {
    let (placement, size) = (&builder.team.placement, Size::of_team(&builder.team, data.bytes()));
    let is_by_tree = placement.has_leaves() || placement.has_levels();
    let forced = call.selection.forced(Collective::Bcast, size);
    if is_by_tree || forced.is_some() || !size.goes_through_one() {
        return append(builder, call, root, data);
    }
    linear(builder, root, &data.piece());
    builder.phase();
}

/// The algorithm for a broadcast of `bytes` bytes in a team. Long data among ranks that have a host
/// each goes as costs say, and where hosts are leaves or form groups, all data goes by a tree of
/// the hosts (unless a scatter and an allgather are forced on groups).
fn choose(call: &Call, team: &Team, bytes: i64) -> Algorithm {
    let (placement, size) = (&team.placement, Size::of_team(team, bytes));
    let forced = call.selection.forced(Collective::Bcast, size);
    let by_groups = placement.has_groups() && forced != Some(Algorithm::ScatterAllgather);
    if placement.has_leaves() || by_groups {
        return Algorithm::Hierarchical;
    }
    let is_by_cost = placement.hosts() > 1 && !placement.has_levels() && bytes > segments::LEAST;
    match forced {
        None if is_by_cost && segments::scatters(placement, bytes) => Algorithm::ScatterAllgather,
        None | Some(Algorithm::Chain | Algorithm::Binomial) if is_by_cost => {
            Algorithm::Hierarchical
        }
        _ => call.selection.choose(Collective::Bcast, size),
    }
}

/// The tree of the hosts for a broadcast of `bytes` bytes, and the bytes of its segments: as
/// forced, or as costs say.
pub(crate) fn between_hosts(call: &Call, placement: &Placement, bytes: i64) -> Pipeline {
    let forced = call.selection.forced(Collective::Bcast, Size::of(placement.hosts(), bytes));
    let tree = forced.filter(|tree| matches!(tree, Algorithm::Chain | Algorithm::Binomial));
    segments::pipeline(placement, bytes, tree)
}

/// The root sends the piece to every other rank.
pub(crate) fn linear(builder: &mut Builder, root: usize, data: &Piece) {
    let (rank, size) = (builder.rank(), builder.size());
    let children: Vec<usize> = (0..size).filter(|&other| rank == root && other != root).collect();
    pass_on(builder, (rank != root).then_some(root), &children, [(data.clone(), None)]);
}

/// Sends the piece down a binomial tree, the largest subtree first.
pub(crate) fn binomial(builder: &mut Builder, root: usize, data: &Piece) {
    let size = builder.size();
    let tree = Binomial::new(relative(builder.rank(), root, size), size);
    if let Some(parent) = tree.parent {
        builder.receive(absolute(parent, root, size), 0, data.clone());
        builder.phase();
    }
    for (child, _) in tree.children.iter().rev() {
        builder.send(absolute(*child, root, size), 0, data.clone());
    }
}

/// Receives data from the parent, if there is one, and passes it on to the children, in segments of
/// `segment` bytes. Data with gaps is packed where there is no parent and unpacked elsewhere, while
/// other segments travel.
///
/// Count and type may differ between ranks, so the segments that they send end at bytes; those that
/// they pack end with an element.
pub(crate) fn in_segments(
    builder: &mut Builder,
    data: &Buffer,
    segment: i64,
    parent: Option<usize>,
    children: &[usize],
) {
    let bytes = data.bytes();
    if bytes <= segment {
        pass_on(builder, parent, children, [(data.piece(), None)]);
        return;
    }
    let starts = (0..bytes).step_by(segment as usize);
    let ranges = starts.map(|first| first..bytes.min(first.saturating_add(segment)));
    let pieces = |base: *mut u8| {
        let ranges = ranges.clone();
        ranges.map(move |range| Piece::range(base, range.start, range.end - range.start))
    };
    if data.element.is_dense() {
        pass_on(builder, parent, children, pieces(data.pointer).map(|piece| (piece, None)));
        return;
    }
    let size = data.element.size;
    let packed = builder.bytes(bytes);
    // Some elements, where they belong and packed.
    let elements = |first: i64, end: i64| {
        let place = data.element.piece(data.pointer, first, end - first);
        (place, Piece::range(packed, first * size, (end - first) * size))
    };
    let mut done = 0;
    if parent.is_none() {
        let mut last = None;
        let packing = ranges.clone().map(|range| {
            let end = (range.end - 1) / size + 1;
            let (from, to) = elements(std::mem::replace(&mut done, end), end);
            let copied = builder.copy(from, to);
            builder.after(copied, last);
            last = copied.or(last);
            last
        });
        let packing: Vec<Mark> = packing.collect();
        pass_on(builder, parent, children, pieces(packed).zip(packing));
        return;
    }
    let received = pass_on(builder, parent, children, pieces(packed).map(|piece| (piece, None)));
    for (number, range) in ranges.enumerate() {
        let (first, end) = (done, range.end / size);
        let (to, from) = elements(first, end);
        let copied = builder.copy(from, to);
        // An element may have begun in an earlier segment.
        for &arrived in &received[(first * size / segment) as usize..=number] {
            builder.after(copied, arrived);
        }
        done = end;
    }
}

fn chain(builder: &mut Builder, root: usize, data: &Buffer) {
    let size = builder.size();
    let node = relative(builder.rank(), root, size);
    let (above, below) = (absolute(node + size - 1, root, size), absolute(node + 1, root, size));
    let parent = (node > 0).then_some(above);
    let children = if node + 1 < size { vec![below] } else { Vec::new() };
    in_segments(builder, data, CHUNK, parent, &children);
}

/// Receives each chunk from the parent, if there is one, and sends it to the children; both after
/// the step given with it.
pub(crate) fn pass_on(
    builder: &mut Builder,
    parent: Option<usize>,
    children: &[usize],
    chunks: impl IntoIterator<Item = (Piece, Mark)>,
) -> Vec<Mark> {
    let mut received = Vec::new();
    for (turn, (chunk, ready)) in chunks.into_iter().enumerate() {
        if let Some(parent) = parent {
            let mark = builder.receive(parent, turn, chunk.clone());
            builder.after(mark, ready);
            if turn >= WINDOW {
                builder.after(mark, received[turn - WINDOW]);
            }
            received.push(mark);
        }
        for &child in children {
            let mark = builder.send(child, turn, chunk.clone());
            builder.after(mark, received.last().copied().flatten().or(ready));
        }
    }
    received
}

/// The data may be cut at any byte: with gaps, it is packed at the root and unpacked at the other
/// ranks.
fn scatter_allgather_packed(builder: &mut Builder, root: usize, data: &Buffer) {
    let bytes = data.bytes();
    if data.element.is_dense() {
        return scatter_allgather(builder, root, data.pointer, bytes);
    }
    let packed = builder.bytes(bytes);
    if builder.rank() == root {
        builder.copy(data.piece(), Piece::raw(packed, bytes));
        builder.phase();
    }
    scatter_allgather(builder, root, packed, bytes);
    if builder.rank() != root {
        builder.copy(Piece::raw(packed, bytes), data.piece());
    }
}

fn scatter_allgather(builder: &mut Builder, root: usize, data: *mut u8, bytes: i64) {
    let size = builder.size();
    let part = bytes / size as i64 + i64::from(bytes % size as i64 != 0);
    let node = relative(builder.rank(), root, size);
    let range = |first: usize, number: usize| {
        let start = (part * first as i64).min(bytes);
        let end = (part * (first + number) as i64).min(bytes);
        Piece::range(data, start, end - start)
    };
    let tree = Binomial::new(node, size);
    if let Some(parent) = tree.parent {
        let covered = Binomial::covered(node, size);
        builder.receive(absolute(parent, root, size), 0, range(node, covered));
        builder.phase();
    }
    for (child, covered) in tree.children.iter().rev() {
        builder.send(absolute(*child, root, size), 0, range(*child, *covered));
    }
    builder.phase();
    let (above, below) = (absolute(node + size - 1, root, size), absolute(node + 1, root, size));
    for step in 0..size - 1 {
        // The root has all parts, and others may read its buffer meanwhile.
        if node + 1 < size {
            builder.send(below, step + 1, range((node + size - step) % size, 1));
        }
        if node > 0 {
            builder.receive(above, step + 1, range((node + size - step - 1) % size, 1));
        }
        builder.phase();
    }
}
