//! Hierarchical reductions: the leader of each host folds the vectors of its ranks in rank order,
//! and the leaders fold their results in the order of the hosts ([`fold`]). So a result depends on
//! the communicator, the operation, the type and the count, and on nothing else.
//!
//! An operation that does not commute needs hosts whose ranks are consecutive, and so does a scan.

use super::Hierarchy;
use crate::buffers::Piece;
use crate::builder::{Builder, Mark};
use crate::fold::Ready;
use crate::operand::Operand;
use crate::{Call, allreduce, broadcast, fold, reduce, scan, segments};

/// Turn of the results inside a host.
const DOWN: usize = 1;

impl Hierarchy {
    /// True if a segment is folded on its host while earlier ones travel between the leaders. Where
    /// ranks share cores, more and shorter messages cost more turns on them than the wait does:
    /// processor time in ms of a call among 4 hosts of 4 ranks on two cores, one phase after the
    /// other / in 4 chunks (links of 1 Gbit/s, medians of four alternating runs, 2026-11-27):
    ///
    /// | | 8 MiB | 16 MiB |
    /// |---|---|---|
    /// | reduce | 206/231 | 385/492 |
    /// | allreduce | 312/346 | 602/703 |
    fn streams(&self) -> bool {
        self.team.placement.ranks_per_core() == 1
    }

    /// Folds the vectors of this process's host at its leader. Returns the operand of its host
    /// there: the sum in `into`, or the leader's own vector if it is alone on its host; and when
    /// that, or on other ranks their vector, may be used. Ends a phase if nothing streams. The
    /// vector of MPI_IN_PLACE is in `into`.
    fn fold_host(
        &self,
        builder: &mut Builder,
        operand: &Operand,
        into: *mut u8,
    ) -> (Option<Operand>, Ready) {
        let mut ready = Ready::in_segments();
        if !self.is_alone() {
            let (host, leader) = (self.team.on_my_host(), self.leader_on_host());
            builder.within(&host, |builder| {
                ready = fold::at(builder, operand, leader, into, &Ready::default());
            });
        }
        if !self.streams() {
            builder.phase();
            ready = Ready::default();
        }
        let send = if self.is_alone() { operand.send } else { None };
        (self.leads().then(|| Operand { send, ..operand.clone() }), ready)
    }
}

/// Folds all vectors at the root. `result` is their destination there.
pub(crate) fn reduce(
    builder: &mut Builder,
    call: &Call,
    root: usize,
    operand: &Operand,
    result: Option<*mut u8>,
) {
    let hierarchy = Hierarchy::new(&builder.team, Some(root));
    builder.reduce_with(&operand.reducer);
    let needs_home = hierarchy.leads() && !hierarchy.is_alone();
    let home = match result {
        Some(result) => result,
        None if needs_home => builder.scratch(operand.count, &operand.element),
        None => std::ptr::dangling_mut(),
    };
    let (host, ready) = hierarchy.fold_host(builder, operand, home);
    if let (Some(leaders), Some(mut host)) = (hierarchy.leader_team(), host) {
        if result.is_none() {
            host.send = host.send.or(Some(home));
        }
        let first = hierarchy.team.placement.host_of(root);
        builder.within(&leaders, |builder| {
            reduce::append(builder, call, first, &host, result, &ready);
        });
    }
}

/// Folds all vectors on every rank, into `receive`.
pub(crate) fn allreduce(builder: &mut Builder, call: &Call, operand: &Operand, receive: *mut u8) {
    let hierarchy = Hierarchy::new(&builder.team, None);
    let (host, mut ready) = hierarchy.fold_host(builder, operand, receive);
    if let (Some(leaders), Some(host)) = (hierarchy.leader_team(), host) {
        builder.within(&leaders, |builder| {
            ready = allreduce::append_after(builder, call, &host, receive, &ready);
        });
    }
    let (parent, children) = hierarchy.in_host_tree();
    let segment = segments::within_host(&hierarchy.team.placement, operand.bytes());
    let is_short = operand.bytes() <= segment;
    let most = if is_short { operand.count } else { segment / operand.element.size };
    let ranges = operand.ranges(most.max(operand.count / fold::SEGMENTS + 1));
    let pieces: Vec<(Piece, Mark)> =
        ranges.map(|range| (operand.piece(receive, &range), ready.of(builder, &range))).collect();
    broadcast::pass_on(builder, parent, &children, pieces);
}

/// Folds all vectors, and gives every rank its block of the result. `starts` are the first elements
/// of the blocks, followed by the number of all elements.
pub(crate) fn reduce_scatter(
    builder: &mut Builder,
    operand: &Operand,
    starts: &[i64],
    receive: *mut u8,
) {
    let hierarchy = Hierarchy::new(&builder.team, None);
    let (rank, element) = (builder.rank(), &operand.element);
    let count = |rank: usize| starts[rank + 1] - starts[rank];
    builder.reduce_with(&operand.reducer);
    let own_block = element.piece(receive, 0, count(rank));
    // Blocks ordered by host: the first element of each block, and of each host.
    let mut ordered = vec![0; starts.len() - 1];
    let mut of_hosts = vec![0];
    let mut filled = 0;
    for host in 0..hierarchy.hosts() {
        for &member in hierarchy.members(host) {
            ordered[member] = filled;
            filled += count(member);
        }
        of_hosts.push(filled);
    }
    let input = operand.send.unwrap_or(receive);
    let separate = Operand { send: Some(input), ..operand.clone() };
    let Some(leaders) = hierarchy.leader_team() else {
        hierarchy.fold_host(builder, &separate, input);
        builder.phase();
        builder.receive(hierarchy.leader(), DOWN, own_block);
        return;
    };
    let alone = hierarchy.own_members().len() == 1;
    let sum = if alone { input } else { builder.scratch(operand.count, element) };
    hierarchy.fold_host(builder, &separate, sum);
    builder.phase();
    let mut vector = sum;
    if !hierarchy.team.placement.is_consecutive() {
        vector = builder.scratch(operand.count, element);
        for (block, &first) in ordered.iter().enumerate() {
            let from = element.piece(sum, starts[block], count(block));
            builder.copy(from, element.piece(vector, first, count(block)));
        }
        builder.phase();
    }
    let first = of_hosts[hierarchy.host];
    let memory = builder.scratch(of_hosts[hierarchy.host + 1] - first, element);
    let result = element.at(memory, -first);
    let host = Operand { send: Some(vector), ..operand.clone() };
    builder.within(&leaders, |builder| {
        fold::fold_stripes(builder, &host, (vector, result), &of_hosts);
    });
    builder.phase();
    for follower in hierarchy.followers() {
        let block = element.piece(result, ordered[follower], count(follower));
        builder.send(follower, DOWN, block);
    }
    builder.copy(element.piece(result, ordered[rank], count(rank)), own_block);
}

/// Gives every rank the fold of the vectors up to its own, or of those below it if `exclusive`.
pub(crate) fn scan(
    builder: &mut Builder,
    call: &Call,
    operand: &Operand,
    receive: *mut u8,
    exclusive: bool,
) {
    let hierarchy = Hierarchy::new(&builder.team, None);
    builder.reduce_with(&operand.reducer);
    let vector = operand.send.unwrap_or(receive);
    let Some(leaders) = hierarchy.leader_team() else {
        builder.send(hierarchy.leader(), 0, operand.whole(vector));
        builder.phase();
        builder.receive(hierarchy.leader(), DOWN, operand.whole(receive));
        return;
    };
    let (all, element) = (0..operand.count, &operand.element);
    let members = hierarchy.own_members();
    let mut prefixes = Vec::new();
    for &member in members {
        let prefix = builder.scratch(operand.count, element);
        match member == builder.rank() {
            true => builder.copy(operand.whole(vector), operand.whole(prefix)),
            false => builder.receive(member, 0, operand.whole(prefix)),
        };
        prefixes.push(prefix);
    }
    builder.phase();
    for pair in prefixes.windows(2) {
        builder.reduce(pair[0], pair[1], all.clone(), element);
        builder.phase();
    }
    let (total, before) =
        (builder.scratch(operand.count, element), builder.scratch(operand.count, element));
    let last = prefixes[prefixes.len() - 1];
    builder.copy(operand.whole(last), operand.whole(total));
    builder.phase();
    let host = Operand { send: Some(total), ..operand.clone() };
    builder.within(&leaders, |builder| scan::append(builder, call, &host, before, true));
    if hierarchy.host > 0 {
        for &prefix in &prefixes {
            builder.reduce(before, prefix, all.clone(), element);
        }
        builder.phase();
    }
    let result = |index: usize| -> Option<Piece> {
        match index.checked_sub(usize::from(exclusive)) {
            Some(index) => Some(operand.whole(prefixes[index])),
            None => (hierarchy.host > 0).then(|| operand.whole(before)),
        }
    };
    for (index, &member) in members.iter().enumerate() {
        let Some(result) = result(index) else { continue };
        match member == builder.rank() {
            true => builder.copy(result, operand.whole(receive)),
            false => builder.send(member, DOWN, result),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use towpath_base::ids::{ContextId, PeerIndex};

    use super::*;
    use crate::buffers::Element;
    use crate::cost::{self, CostModel, Picoseconds};
    use crate::simulation::completion_time;
    use crate::{Placement, Reducer, Selection, Team};

    const COSTS: CostModel = CostModel {
        same_host: cost::SAME_HOST,
        between_hosts: cost::LogGp { gap_per_byte: 800, ..cost::BETWEEN_HOSTS },
        links: None,
        eager: Some(64 << 10),
        copy_per_byte: 100,
        reduce_per_element: 1_000,
        processors: Vec::new(),
    };

    /// The time of a reduction of 8 MiB among 4 hosts of 4 ranks.
    fn time(is_allreduce: bool, ranks_per_core: usize) -> Picoseconds {
        let placement = Placement::new((0..16).map(|rank| rank / 4));
        let placement = Arc::new(placement.with_ranks_per_core(ranks_per_core));
        let team = |rank| Team {
            context: ContextId::new(1, 1),
            rank,
            peers: (0..16).map(PeerIndex).collect(),
            placement: placement.clone(),
        };
        let reducer = Reducer::user(Arc::new(|_: *const u8, _: *mut u8, _: i64| {}), true);
        let operand = Operand {
            send: Some(std::ptr::without_provenance_mut(1 << 40)),
            count: 1 << 20,
            element: Element::dense(8),
            reducer,
        };
        let receive = std::ptr::without_provenance_mut(2 << 40);
        let plan = |rank| {
            let call = Call { team: &team(rank), selection: &Selection::default() };
            match is_allreduce {
                true => allreduce::allreduce(&call, &operand, receive),
                false => reduce::reduce(&call, 0, &operand, receive),
            }
        };
        let plans = (0..16).map(|rank| plan(rank).unwrap());
        completion_time(&team(0), &plans.collect::<Vec<_>>(), &COSTS).unwrap()
    }

    #[test]
    fn elements_without_bytes_take_one_step() {
        let team = |rank| Team {
            context: ContextId::new(1, 1),
            rank,
            peers: (0..4).map(PeerIndex).collect(),
            placement: Arc::new(Placement::new((0..4).map(|rank| rank / 2))),
        };
        let operand = Operand {
            send: Some(std::ptr::without_provenance_mut(1 << 40)),
            count: 1 << 20,
            element: Element::dense(0),
            reducer: Reducer::user(Arc::new(|_: *const u8, _: *mut u8, _: i64| {}), true),
        };
        for rank in 0..4 {
            let call = Call { team: &team(rank), selection: &Selection::default() };
            let receive = std::ptr::without_provenance_mut(2 << 40);
            let plan = allreduce::allreduce(&call, &operand, receive).unwrap();
            assert!(plan.bytes() < 1 << 16, "rank {rank}: {} bytes", plan.bytes());
        }
    }

    #[test]
    fn levels_overlap_where_ranks_have_cores() {
        for (is_allreduce, most) in [(true, 80), (false, 95)] {
            let (streamed, in_phases) = (time(is_allreduce, 1), time(is_allreduce, 2));
            assert!(streamed * 100 < in_phases * most, "{is_allreduce} {streamed} {in_phases}");
        }
    }
}
