//! The operand of a reduction, and how it is cut into stripes.

use std::ops::Range;

use crate::buffers::{DeviceSpread, Element, Piece};
use crate::reducer::Reducer;

/// Arguments common to all reductions.
#[derive(Clone, Debug)]
pub struct Operand {
    /// This rank's vector; `None` if it is in the receive buffer (MPI_IN_PLACE).
    pub send: Option<*mut u8>,
    /// Elements in the vector (for reduce-scatter, in the blocks of all ranks together).
    pub count: i64,
    /// The type of the elements. They are in host memory unless a device
    /// [reduces](Element::reduced_on) them.
    pub element: Element,
    /// The operation.
    pub reducer: Reducer,
}

impl Operand {
    /// True if the vectors of all ranks are in the memory of one device. The same on all ranks.
    pub(crate) fn is_on_one_device(&self) -> bool {
        self.spread() == Some(DeviceSpread::One)
    }

    /// Where the vectors of all ranks are, if all are known to be on devices. The same on all
    /// ranks.
    pub(crate) fn spread(&self) -> Option<DeviceSpread> {
        self.element.spread()
    }

    /// True if the vector is contiguous, in host memory, and the operation predefined.
    pub fn is_plain(&self) -> bool {
        self.element.is_dense() && self.reducer.is_predefined()
    }

    /// The elements `range` of `vector`.
    pub(crate) fn piece(&self, vector: *mut u8, range: &Range<i64>) -> Piece {
        self.element.piece(vector, range.start, range.end - range.start)
    }

    /// All elements of `vector`.
    pub(crate) fn whole(&self, vector: *mut u8) -> Piece {
        self.element.piece(vector, 0, self.count)
    }

    /// All elements, in ranges of at most `most`.
    pub(crate) fn ranges(&self, most: i64) -> impl Iterator<Item = Range<i64>> + use<> {
        let count = self.count;
        let starts = (0..count).step_by(most as usize);
        starts.map(move |first| first..count.min(first.saturating_add(most)))
    }

    /// Bytes of the vector.
    pub fn bytes(&self) -> i64 {
        self.count.saturating_mul(self.element.size)
    }
}

/// Cuts a vector into even parts: `starts[p]` is the first element of part p.
pub fn even_parts(count: i64, parts: usize) -> Vec<i64> {
    let (base, rest) = (count / parts as i64, count % parts as i64);
    (0..=parts as i64).map(|part| base * part + part.min(rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_vector() {
        for (count, parts) in [(0, 1), (0, 4), (3, 8), (10, 4), (17, 16)] {
            let starts = even_parts(count, parts);
            assert_eq!((starts[0], starts[parts]), (0, count));
            assert!(
                starts.windows(2).all(|w| w[1] - w[0] == count / parts as i64
                    || w[1] - w[0] == count / parts as i64 + 1)
            );
        }
    }
}
