//! Where a long reduction is computed. A board is host memory, and only a rank itself knows where
//! its vectors are. So on a host that has devices the ranks find the least and the most of the
//! numbers of their devices before each long reduction that could use a board, and all go the same
//! way: by messages if any has its vectors on a device, which then stay there, else on the board.

use towpath_datatype::Basic;
use towpath_datatype::reduce::Operation as Predefined;
use towpath_schedule::buffers::DeviceSpread;
use towpath_schedule::reduce::Operand;
use towpath_schedule::{DeviceVectors, Element, HostCopies, Operation, Reducer};

/// What a rank tells the others: the number of the device of its vectors, where 0 is host memory,
/// and the complement of that.
pub(crate) type DeviceWords = [u64; 2];

/// Where a long reduction is computed, as all ranks know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionSite {
    /// On the board, as all vectors are in host memory, or must be copied there.
    Board,
    /// By messages, where the vectors are. If all are on devices, the ranks know on how many.
    Vectors(Option<DeviceSpread>),
}

/// What the ranks tell each other about a call.
#[derive(Debug)]
pub struct DeviceAgreement {
    words: Box<DeviceWords>,
    is_over: bool,
}

impl Drop for DeviceAgreement {
    /// Messages of an exchange that has failed may still access the words.
    fn drop(&mut self) {
        if !self.is_over {
            Box::leak(std::mem::take(&mut self.words));
        }
    }
}

impl DeviceAgreement {
    /// What `rank` tells of an operation on these copies.
    pub fn new(operation: &Operation, copies: &HostCopies, rank: usize) -> DeviceAgreement {
        let vectors = DeviceVectors::of(operation, rank, copies);
        DeviceAgreement::on(vectors.as_ref().map_or(0, DeviceVectors::device))
    }

    /// The same of a device by its number.
    pub fn on(number: u64) -> DeviceAgreement {
        DeviceAgreement { words: Box::new([number, !number]), is_over: false }
    }

    /// The operation by which the ranks tell each other. It names memory of the agreement.
    ///
    /// # Panics
    /// Never: integers have a minimum.
    pub fn exchange(&mut self) -> Operation {
        let reducer = Reducer::of(Predefined::Min, Basic::Uint64).expect("integers have a minimum");
        let count = self.words.len() as i64;
        let operand = Operand { send: None, count, element: Element::dense(8), reducer };
        Operation::Allreduce { operand, receive: self.words.as_mut_ptr().cast() }
    }

    /// What follows from what the ranks have told each other.
    pub fn site(mut self) -> ReductionSite {
        self.is_over = true;
        site(*self.words)
    }

    /// The words, which must live until the exchange is over.
    pub(crate) fn into_words(mut self) -> Box<DeviceWords> {
        self.is_over = true;
        std::mem::take(&mut self.words)
    }
}

/// What follows from what the ranks have told each other.
pub(crate) fn site([least, complement]: DeviceWords) -> ReductionSite {
    match (least, !complement) {
        (0, 0) => ReductionSite::Board,
        (0, _) => ReductionSite::Vectors(None),
        (least, most) if least == most => ReductionSite::Vectors(Some(DeviceSpread::One)),
        _ => ReductionSite::Vectors(Some(DeviceSpread::Several)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_on_any_device_keep_a_reduction_off_the_board() {
        let agreed = |numbers: &[u64]| {
            let words = numbers.iter().map(|&number| [number, !number]);
            site(words.reduce(|[a, b], [c, d]| [a.min(c), b.min(d)]).unwrap())
        };
        assert_eq!(agreed(&[0, 0]), ReductionSite::Board);
        assert_eq!(agreed(&[7, 0, 7]), ReductionSite::Vectors(None));
        assert_eq!(agreed(&[7, 7]), ReductionSite::Vectors(Some(DeviceSpread::One)));
        assert_eq!(agreed(&[7, 8, 7]), ReductionSite::Vectors(Some(DeviceSpread::Several)));
    }
}
