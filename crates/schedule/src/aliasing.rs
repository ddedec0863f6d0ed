//! Detects a send and a receive buffer that share bytes, which the standard forbids (MPI 5.0,
//! section 6.2). Called only if both start at the same address, the usual mistake.
//!
//! The check reports an overlap only if it is certain. For elements without gaps the bytes are
//! known exactly. For elements with gaps only the first and the last byte of data count, so that
//! interleaved types are never rejected.

use crate::buffers::{Blocks, Buffer, Element};

/// Half-open range of addresses.
type Range = (i64, i64);

impl Element {
    /// Adds bytes that `count` elements at `pointer` certainly occupy.
    fn certain(&self, pointer: *mut u8, count: i64, into: &mut Vec<Range>) {
        let Some((first, end)) = self.span(count).filter(|_| count > 0 && self.size > 0) else {
            return;
        };
        let address = pointer.addr() as i64;
        let (first, end) = (address.wrapping_add(first), address.wrapping_add(end));
        if self.is_dense() {
            into.push((first, end));
        } else {
            into.extend([(first, first.wrapping_add(1)), (end.wrapping_sub(1), end)]);
        }
    }
}

impl Buffer {
    /// The buffer as a single block.
    fn block(&self) -> Blocks {
        Blocks::Equal { pointer: self.pointer, count: self.count, element: self.element.clone() }
    }

    /// True if the buffer certainly shares bytes with `number` blocks.
    pub fn overlaps(&self, blocks: &Blocks, number: usize) -> bool {
        self.block().overlaps(1, blocks, number)
    }
}

impl Blocks {
    /// Address of displacement 0.
    pub fn pointer(&self) -> *mut u8 {
        match self {
            Blocks::Equal { pointer, .. }
            | Blocks::Varying { pointer, .. }
            | Blocks::Mixed { pointer, .. } => *pointer,
        }
    }

    /// Byte ranges that `number` blocks certainly occupy, in ascending order.
    fn certain(&self, number: usize) -> Vec<Range> {
        let mut ranges = Vec::new();
        match self {
            Blocks::Equal { pointer, count, element } => {
                element.certain(*pointer, count.saturating_mul(number as i64), &mut ranges);
            }
            Blocks::Varying { pointer, counts, displacements, element } => {
                for (&count, &displacement) in counts.iter().zip(displacements) {
                    element.certain(element.at(*pointer, displacement), count, &mut ranges);
                }
            }
            Blocks::Mixed { pointer, counts, displacements, elements } => {
                for ((&count, &displacement), element) in
                    counts.iter().zip(displacements).zip(elements)
                {
                    element.certain(
                        pointer.wrapping_offset(displacement as isize),
                        count,
                        &mut ranges,
                    );
                }
            }
        }
        ranges.sort_unstable();
        ranges
    }

    /// True if `own` of these blocks certainly share bytes with `number` of the others.
    pub fn overlaps(&self, own: usize, others: &Blocks, number: usize) -> bool {
        let (mine, theirs) = (self.certain(own), others.certain(number));
        let (mut i, mut j) = (0, 0);
        while let (Some(one), Some(other)) = (mine.get(i), theirs.get(j)) {
            if one.1 <= other.0 {
                i += 1;
            } else if other.1 <= one.0 {
                j += 1;
            } else {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_datatype::{Basic, Datatype, Form};

    fn equal(address: usize, count: i64, element: &Element) -> Blocks {
        Blocks::Equal {
            pointer: std::ptr::without_provenance_mut(address),
            count,
            element: element.clone(),
        }
    }

    fn varying(counts: &[i64], displacements: &[i64]) -> Blocks {
        let (counts, displacements) = (counts.into(), displacements.into());
        let pointer = std::ptr::without_provenance_mut(4096);
        Blocks::Varying { pointer, counts, displacements, element: Element::dense(4) }
    }

    /// Every second integer, starting with the first or with the second.
    fn every_second(first: i64) -> Element {
        let int = Datatype::named(Basic::Int);
        let one =
            Datatype::hindexed_block(1, &[4 * first], &int, Form::Small).expect("a valid type");
        Element::of(&Datatype::resized(0, 8, &one, Form::Small).expect("a valid type"))
    }

    #[test]
    fn rows_of_bytes_overlap_where_they_share_a_byte() {
        let int = Element::dense(4);
        assert!(equal(4096, 1, &int).overlaps(1, &equal(4096, 1, &int), 2));
        assert!(!equal(4096, 0, &int).overlaps(1, &equal(4096, 1, &int), 2));
        assert!(!equal(4096, 1, &int).overlaps(2, &equal(4104, 1, &int), 2));
        assert!(equal(4096, 1, &int).overlaps(3, &equal(4104, 1, &int), 2));
        assert!(!equal(4096, 5, &Element::dense(0)).overlaps(1, &equal(4096, 1, &int), 1));
    }

    #[test]
    fn displacements_decide() {
        assert!(!varying(&[1, 1], &[0, 1]).overlaps(2, &varying(&[1, 1], &[2, 3]), 2));
        assert!(!varying(&[1, 1], &[0, 2]).overlaps(2, &varying(&[1, 1], &[3, 1]), 2));
        assert!(varying(&[1, 1], &[0, 2]).overlaps(2, &varying(&[1, 2], &[3, 1]), 2));
        assert!(!varying(&[1, 0], &[0, 3]).overlaps(2, &varying(&[0, 1], &[0, 3]), 2));
    }

    #[test]
    fn types_that_interleave_are_no_overlap() {
        assert!(!equal(4096, 3, &every_second(0)).overlaps(
            1,
            &equal(4096, 3, &every_second(1)),
            1
        ));
        assert!(equal(4096, 3, &every_second(1)).overlaps(1, &equal(4096, 3, &every_second(1)), 1));
        assert!(equal(4096, 3, &every_second(1)).overlaps(
            1,
            &equal(4096, 2, &Element::dense(4)),
            1
        ));
        assert!(!equal(4096, 3, &every_second(1)).overlaps(
            1,
            &equal(4096, 1, &Element::dense(4)),
            1
        ));
    }
}
