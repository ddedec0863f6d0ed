//! What each message of a collective call says of the call, so that ranks that call different
//! collectives learn it instead of waiting for ever.

use std::fmt;

use crate::Operation;

/// Which collective a rank has called, and the root: one word, which messages carry besides their
/// data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSignature(pub u32);

/// Names by number. Number 0 is an unknown call, which differs from no other.
const NAMES: [&str; 16] = [
    "another collective",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather or MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter or MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
    "a long collective over several hosts",
    "MPI_Alltoallv or MPI_Alltoallw",
];

/// The numbers of the collectives.
pub mod numbers {
    #![allow(missing_docs, reason = "the names are those of the functions")]
    pub const BARRIER: u32 = 1;
    pub const BCAST: u32 = 2;
    pub const GATHER: u32 = 3;
    pub const GATHERV: u32 = 4;
    pub const SCATTER: u32 = 5;
    pub const SCATTERV: u32 = 6;
    pub const ALLGATHER: u32 = 7;
    pub const ALLTOALL: u32 = 8;
    pub const REDUCE: u32 = 9;
    pub const ALLREDUCE: u32 = 10;
    pub const REDUCE_SCATTER: u32 = 11;
    pub const SCAN: u32 = 12;
    pub const EXSCAN: u32 = 13;
    pub const LINKS: u32 = 14;
    pub const ALLTOALLV: u32 = 15;
}

/// Bits of the number.
const NUMBER_BITS: u32 = 4;
/// The bits of the number, and the bit above it, which says that the message is about the board of
/// the call. The bits above that contain the root plus one, or 0 without a root.
const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
const ABOUT_BOARD: u32 = 1 << NUMBER_BITS;
const ROOT_SHIFT: u32 = NUMBER_BITS + 1;

impl CallSignature {
    /// Bits of a signature.
    pub const BITS: u32 = 25;

    /// The signature of messages that measure links before a long call moves data. No call matches
    /// them, so a rank that calls something else is found.
    pub const ABOUT_LINKS: CallSignature = CallSignature(numbers::LINKS);

    /// The signature of an operation.
    pub fn of(operation: &Operation) -> CallSignature {
        let (number, root) = match operation {
            Operation::Barrier => (numbers::BARRIER, None),
            Operation::Bcast { root, .. } => (numbers::BCAST, Some(*root)),
            Operation::Gather(gather) => (numbers::GATHER, Some(gather.root)),
            Operation::Gatherv(gather) => (numbers::GATHERV, Some(gather.root)),
            Operation::Scatter(scatter) => (numbers::SCATTER, Some(scatter.root)),
            Operation::Scatterv(scatter) => (numbers::SCATTERV, Some(scatter.root)),
            Operation::Allgather(_) => (numbers::ALLGATHER, None),
            Operation::Alltoall(alltoall) if alltoall.receive.is_equal() => {
                (numbers::ALLTOALL, None)
            }
            Operation::Alltoall(_) => (numbers::ALLTOALLV, None),
            Operation::Reduce { root, .. } => (numbers::REDUCE, Some(*root)),
            Operation::Allreduce { .. } => (numbers::ALLREDUCE, None),
            Operation::ReduceScatter { .. } => (numbers::REDUCE_SCATTER, None),
            Operation::Scan { exclusive: false, .. } => (numbers::SCAN, None),
            Operation::Scan { exclusive: true, .. } => (numbers::EXSCAN, None),
        };
        // A rank above a million is left out.
        let root = root.map_or(0, |root| root as u64 + 1);
        let root = if root >> (Self::BITS - ROOT_SHIFT) == 0 { root as u32 } else { 0 };
        CallSignature(root << ROOT_SHIFT | number)
    }

    /// The signature of messages that prepare the board of this call. Another rank that makes the
    /// call by messages is out of step.
    pub fn about_board(self) -> CallSignature {
        if self.0 == 0 { self } else { CallSignature(self.0 | ABOUT_BOARD) }
    }

    /// The mark of the call on the lines of a board: the signature with less room for the root. A
    /// rank above four thousand is left out.
    #[inline]
    pub fn mark(self) -> u16 {
        let root = self.0 >> ROOT_SHIFT;
        let root = if root >> (16 - NUMBER_BITS) == 0 { root } else { 0 };
        (root << NUMBER_BITS | self.0 & NUMBER) as u16
    }

    /// The mark of a call by its number and its root. For short calls, which have no time for the
    /// signature.
    #[inline(always)]
    pub fn mark_of(number: u32, root: Option<usize>) -> u16 {
        let root = root.map_or(0, |root| root + 1);
        let root = if root >> (16 - NUMBER_BITS) == 0 { root as u16 } else { 0 };
        root << NUMBER_BITS | number as u16
    }

    /// The signature of a call with this mark.
    pub fn of_mark(mark: u16) -> CallSignature {
        let mark = u32::from(mark);
        CallSignature((mark >> NUMBER_BITS) << ROOT_SHIFT | mark & NUMBER)
    }

    /// True if both name the same collective and the same root.
    pub fn names_same(self, other: CallSignature) -> bool {
        self.0 & !ABOUT_BOARD == other.0 & !ABOUT_BOARD
    }

    /// True if calls with these signatures cannot be parts of one collective operation.
    #[inline]
    pub fn differs(self, other: CallSignature) -> bool {
        self != other && self.0 != 0 && other.0 != 0
    }
}

impl fmt::Display for CallSignature {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0 & NUMBER;
        to.write_str(NAMES.get(number as usize).unwrap_or(&NAMES[0]))?;
        match self.0 >> ROOT_SHIFT {
            0 => Ok(()),
            root => write!(to, " with root {}", root - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Element};

    fn bcast(root: usize) -> Operation {
        let element = Element::dense(1);
        Operation::Bcast { root, data: Buffer { pointer: std::ptr::null_mut(), count: 0, element } }
    }

    #[test]
    fn a_signature_names_call_and_root() {
        let words = |operation: &Operation| CallSignature::of(operation).to_string();
        assert_eq!(words(&Operation::Barrier), "MPI_Barrier");
        assert_eq!(words(&bcast(0)), "MPI_Bcast with root 0");
        assert_eq!(words(&bcast(1_000_000)), "MPI_Bcast with root 1000000");
        assert_eq!(words(&bcast(1 << 20)), "MPI_Bcast");
        assert_eq!(CallSignature::default().to_string(), "another collective");
    }

    #[test]
    fn a_mark_names_call_and_root() {
        for root in [None, Some(0), Some(4094)] {
            let number = if root.is_some() { numbers::BCAST } else { numbers::BARRIER };
            let signature = CallSignature::of(&root.map_or(Operation::Barrier, bcast));
            assert_eq!(CallSignature::of_mark(signature.mark()), signature);
            assert_eq!(signature.about_board().mark(), signature.mark());
            assert_eq!(CallSignature::mark_of(number, root), signature.mark());
        }
        let far = CallSignature::of_mark(CallSignature::of(&bcast(4095)).mark());
        assert_eq!(far.to_string(), "MPI_Bcast");
    }

    #[test]
    fn a_message_about_a_board_is_not_part_of_a_call_by_messages() {
        let (signature, unknown) = (CallSignature::of(&bcast(3)), CallSignature::default());
        let about = signature.about_board();
        assert!(about.differs(signature) && about.names_same(signature));
        assert_eq!(about.to_string(), "MPI_Bcast with root 3");
        assert_eq!(unknown.about_board(), unknown);
    }

    #[test]
    fn calls_differ_in_function_or_root() {
        let [first, second] = [0, 1].map(|root| CallSignature::of(&bcast(root)));
        let barrier = CallSignature::of(&Operation::Barrier);
        assert!(first.differs(second) && first.differs(barrier) && !first.differs(first));
        let unknown = CallSignature::default();
        assert!(!first.differs(unknown) && !unknown.differs(first));
    }
}
