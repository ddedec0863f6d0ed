//! Group functions (MPI 5.0, section 7.3).

use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_neutral::abi::{Handle, Integers, IntegersMut};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Error, Result, fail};

use crate::objects::group::{Group, Relation};
use crate::objects::registry::OBJECTS;
use crate::process;

/// Looks up a group.
pub(crate) fn lookup(handle: Handle, argument: &str) -> Result<Arc<Group>> {
    match handle {
        GROUP_EMPTY => Ok(OBJECTS.empty_group.clone()),
        GROUP_NULL => fail!(ERR_GROUP, "argument {argument} is MPI_GROUP_NULL; pass a group"),
        _ => match OBJECTS.groups.share(handle) {
            Some(found) => Ok(found),
            None => fail!(ERR_GROUP, "argument {argument} ({}) is not a group", handle),
        },
    }
}

/// Creates a handle for a group; an empty one is MPI_GROUP_EMPTY.
pub(crate) fn insert(group: Arc<Group>) -> Result<Handle> {
    if group.size() == 0 {
        return Ok(GROUP_EMPTY);
    }
    OBJECTS.groups.insert(group).ok_or_else(|| Error::new(ERR_NO_MEM, "too many groups exist; free some"))
}

fn of(peers: Vec<PeerIndex>) -> Result<Handle> {
    insert(Arc::new(Group::new(peers, process::me())))
}

/// MPI_Group_size.
pub fn group_size(group: Handle) -> Result<i32> {
    Ok(lookup(group, "group")?.size() as i32)
}

/// MPI_Group_rank: MPI_UNDEFINED if this process is not a member.
pub fn group_rank(group: Handle) -> Result<i32> {
    Ok(lookup(group, "group")?.rank.map_or(UNDEFINED, |rank| rank as i32))
}

/// MPI_Group_translate_ranks.
pub fn group_translate_ranks(
    group1: Handle,
    n: i32,
    ranks1: Integers,
    group2: Handle,
    ranks2: IntegersMut,
) -> Result<()> {
    let (first, second) = (lookup(group1, "group1")?, lookup(group2, "group2")?);
    let n = count_of(n, "n")?;
    if n > 0 && (ranks1.is_null() || ranks2.is_null()) {
        fail!(ERR_ARG, "arguments ranks1 and ranks2 must not be NULL when n is {n}");
    }
    for i in 0..n {
        let rank = ranks1.get(i);
        if rank != i64::from(PROC_NULL) && !(0..first.size() as i64).contains(&rank) {
            fail!(ERR_RANK, "ranks1[{i}] is {rank}, but group1 has ranks 0 to {}", first.size() as i64 - 1);
        }
    }
    for i in 0..n {
        let rank = ranks1.get(i);
        let translated = match rank {
            _ if rank == i64::from(PROC_NULL) => PROC_NULL,
            _ => second.rank_of(first.peers[rank as usize]).map_or(UNDEFINED, |rank| rank as i32),
        };
        ranks2.set(i, i64::from(translated));
    }
    Ok(())
}

/// Checks that a count argument is not negative.
pub(crate) fn count_of(value: i32, argument: &str) -> Result<usize> {
    match usize::try_from(value) {
        Ok(count) => Ok(count),
        Err(_) => fail!(ERR_ARG, "argument {argument} is {value}; it must not be negative"),
    }
}

/// The MPI constant of a relation.
pub(crate) fn comparison(relation: Relation) -> i32 {
    match relation {
        Relation::Identical => IDENT,
        Relation::Similar => SIMILAR,
        Relation::Unequal => UNEQUAL,
    }
}

/// MPI_Group_compare.
pub fn group_compare(group1: Handle, group2: Handle) -> Result<i32> {
    Ok(comparison(lookup(group1, "group1")?.compare(&*lookup(group2, "group2")?)))
}

/// MPI_Group_union.
pub fn group_union(group1: Handle, group2: Handle) -> Result<Handle> {
    of(lookup(group1, "group1")?.union(&*lookup(group2, "group2")?))
}

/// MPI_Group_intersection.
pub fn group_intersection(group1: Handle, group2: Handle) -> Result<Handle> {
    of(lookup(group1, "group1")?.intersection(&*lookup(group2, "group2")?))
}

/// MPI_Group_difference.
pub fn group_difference(group1: Handle, group2: Handle) -> Result<Handle> {
    of(lookup(group1, "group1")?.difference(&*lookup(group2, "group2")?))
}

/// Checks the ranks that the elements of an array argument name, which must be distinct.
fn distinct(group: &Group, argument: &str, ranks: impl Iterator<Item = (usize, i64)>) -> Result<Vec<usize>> {
    let mut seen = vec![false; group.size()];
    let mut chosen = Vec::new();
    for (i, rank) in ranks {
        match usize::try_from(rank).ok().filter(|&rank| rank < group.size()) {
            None => fail!(
                ERR_RANK,
                "{argument}[{i}] names rank {rank}, but the group has ranks 0 to {}",
                group.size() as i64 - 1
            ),
            Some(rank) if seen[rank] => {
                fail!(ERR_RANK, "rank {rank} appears twice in argument {argument}")
            }
            Some(rank) => {
                seen[rank] = true;
                chosen.push(rank);
            }
        }
    }
    Ok(chosen)
}

/// Reads and checks the ranks in an array, which must be distinct.
fn selected(group: &Group, n: i32, ranks: Integers) -> Result<Vec<usize>> {
    let n = count_of(n, "n")?;
    if n > 0 && ranks.is_null() {
        fail!(ERR_ARG, "argument ranks is NULL, but n is {n}");
    }
    distinct(group, "ranks", (0..n).map(|i| (i, ranks.get(i))))
}

fn included(group: &Group, ranks: &[usize]) -> Result<Handle> {
    of(ranks.iter().map(|&rank| group.peers[rank]).collect())
}

fn excluded(group: &Group, ranks: &[usize]) -> Result<Handle> {
    let mut keep = vec![true; group.size()];
    ranks.iter().for_each(|&rank| keep[rank] = false);
    of(group.peers.iter().zip(keep).filter(|(_, keep)| *keep).map(|(&peer, _)| peer).collect())
}

/// MPI_Group_incl.
pub fn group_incl(group: Handle, n: i32, ranks: Integers) -> Result<Handle> {
    let group = lookup(group, "group")?;
    included(&group, &selected(&group, n, ranks)?)
}

/// MPI_Group_excl.
pub fn group_excl(group: Handle, n: i32, ranks: Integers) -> Result<Handle> {
    let group = lookup(group, "group")?;
    excluded(&group, &selected(&group, n, ranks)?)
}

/// Reads and checks the ranks in `n` triplets (first, last, stride), which must be distinct.
fn ranged(group: &Group, n: i32, ranges: Integers) -> Result<Vec<usize>> {
    let n = count_of(n, "n")?;
    if n > 0 && ranges.is_null() {
        fail!(ERR_ARG, "argument ranges is NULL, but n is {n}");
    }
    if let Some(i) = (0..n).find(|i| ranges.get(3 * i + 2) == 0) {
        fail!(ERR_ARG, "ranges[{i}] has stride 0");
    }
    let all = (0..n).flat_map(|i| {
        let [first, last, stride] = [0, 1, 2].map(|k| ranges.get(3 * i + k));
        let steps = if (last - first) * stride.signum() < 0 { 0 } else { (last - first) / stride + 1 };
        (0..steps).map(move |step| (i, first + step * stride))
    });
    distinct(group, "ranges", all)
}

/// MPI_Group_range_incl.
pub fn group_range_incl(group: Handle, n: i32, ranges: Integers) -> Result<Handle> {
    let group = lookup(group, "group")?;
    included(&group, &ranged(&group, n, ranges)?)
}

/// MPI_Group_range_excl.
pub fn group_range_excl(group: Handle, n: i32, ranges: Integers) -> Result<Handle> {
    let group = lookup(group, "group")?;
    excluded(&group, &ranged(&group, n, ranges)?)
}

/// MPI_Group_free.
pub fn group_free(group: &mut Handle) -> Result<()> {
    lookup(*group, "group")?;
    OBJECTS.groups.remove(*group);
    *group = GROUP_NULL;
    Ok(())
}
