//! Lists of values: the number of bytes and a tag, 32 bits each, then the bytes, filled up to a
//! multiple of 8. The tag is the reducer of a part of a tuple, and 0 in a set.

use super::{CONCAT, Combine, SET, TUPLE, combine};

/// Bytes in front of a value, and what its bytes are filled up to.
const FRONT: usize = 8;

/// Appends a value to a list.
pub(super) fn push(list: &mut Vec<u8>, tag: u32, value: &[u8]) -> Result<(), String> {
    list.extend(length(value.len())?);
    list.extend(tag.to_ne_bytes());
    list.extend_from_slice(value);
    list.resize(list.len().next_multiple_of(FRONT), 0);
    Ok(())
}

/// How a list says that a value has so many bytes.
fn length(bytes: usize) -> Result<[u8; 4], String> {
    let bytes = u32::try_from(bytes);
    let bytes = bytes.map_err(|_| "one value of a set or tuple has 4 GiB or more".to_owned())?;
    Ok(bytes.to_ne_bytes())
}

/// What elements contribute with [`super::TUPLE`]: each reducer with its value.
///
/// # Errors
/// A value is longer than a list can say.
pub fn tuple(parts: &[(u32, &[u8])]) -> Result<Vec<u8>, String> {
    let mut list = Vec::new();
    for (reducer, value) in parts {
        push(&mut list, *reducer, value)?;
    }
    Ok(list)
}

/// The values in the result of a set or tuple, each with its reducer (0 in a set); `None` if this
/// is no such result.
#[must_use]
pub fn parts(mut list: &[u8]) -> Option<Vec<(u32, &[u8])>> {
    let mut parts = Vec::new();
    while !list.is_empty() {
        let (bytes, rest) = list.split_first_chunk()?;
        let (tag, rest) = rest.split_first_chunk()?;
        let bytes = u32::from_ne_bytes(*bytes) as usize;
        parts.push((u32::from_ne_bytes(*tag), rest.get(..bytes)?));
        list = rest.get(bytes.next_multiple_of(FRONT)..)?;
    }
    Some(parts)
}

fn parts_of_tuple(list: &[u8]) -> Result<Vec<(u32, &[u8])>, String> {
    let parts = parts(list);
    let parts = parts.ok_or("an element contributes something that is no tuple to tuple")?;
    if parts.iter().any(|(reducer, _)| *reducer == TUPLE) {
        return Err("a tuple is part of a tuple; name all reducers in one".into());
    }
    Ok(parts)
}

/// A tuple with something else in place of each value.
pub(super) fn changed(
    list: &[u8],
    change: impl Fn(u32, &[u8]) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let mut all = Vec::with_capacity(list.len());
    for (reducer, value) in parts_of_tuple(list)? {
        push(&mut all, reducer, &change(reducer, value)?)?;
    }
    Ok(all)
}

/// Combines two tuples part by part: the second into the first.
pub(super) fn combine_tuples(
    into: &mut Vec<u8>,
    value: &[u8],
    program: Combine,
) -> Result<(), String> {
    let (one, other) = (parts_of_tuple(into)?, parts_of_tuple(value)?);
    if !one.iter().map(|part| part.0).eq(other.iter().map(|part| part.0)) {
        return Err("elements contribute tuples of different reducers".into());
    }
    let mut at = 0;
    for (reducer, value) in other {
        at = combine_part(into, at, reducer, value, program)?;
    }
    Ok(())
}

/// Combines a value into the part of a tuple that begins there: where the next part begins.
fn combine_part(
    list: &mut Vec<u8>,
    at: usize,
    reducer: u32,
    value: &[u8],
    program: Combine,
) -> Result<usize, String> {
    let begin = at + FRONT;
    let before = list[at..].first_chunk().copied().map_or(0, u32::from_ne_bytes) as usize;
    let (end, filled) = (begin + before, begin + before.next_multiple_of(FRONT));
    let after = if matches!(reducer, CONCAT | SET) {
        // Such a part grows with each contribution, so it is not copied.
        let after = before + value.len();
        let fill = after.next_multiple_of(FRONT) - after;
        list.splice(end..filled, value.iter().copied().chain(std::iter::repeat_n(0, fill)));
        after
    } else {
        let mut part = list[begin..end].to_vec();
        combine(reducer, &mut part, value, program)?;
        let after = part.len();
        part.resize(after.next_multiple_of(FRONT), 0);
        list.splice(begin..filled, part);
        after
    };
    let said = length(after)?;
    list[at..][..said.len()].copy_from_slice(&said);
    Ok(begin + after.next_multiple_of(FRONT))
}
