//! Whether a long reduction stays on devices. A board is host memory, and only a rank itself knows
//! where its vectors are. So on a host that has devices the ranks find the least and the most of
//! the numbers of their devices before each long reduction, and all go the same way: by messages if
//! any has its vectors on a device, and all of them can follow. Those with vectors in host memory
//! reduce there.

use towpath_datatype::Basic;
use towpath_datatype::reduce::Operation as Predefined;
use towpath_schedule::buffers::DeviceSpread;
use towpath_schedule::reduce::Operand;
use towpath_schedule::{Call, DeviceVectors, Element, Operation, Plan, Reducer};

use crate::work::CollectiveWork;

/// Bytes from which ranks tell each other where their vectors are, which takes them a microsecond.
/// To copy and reduce these takes the host a hundred.
const LONG: i64 = 1 << 20;

/// Numbers of the words that the ranks find the least of: the number of a device, where 0 is host
/// memory, its complement, and 0 if a rank cannot reduce where its vectors are.
const NUMBER: usize = 0;
const COMPLEMENT: usize = 1;
const FOLLOWS: usize = 2;

/// What the ranks tell each other about a call.
#[derive(Debug)]
pub struct DeviceAgreement {
    /// The vectors of this rank, if they are on a device that can reduce them.
    vectors: Option<DeviceVectors>,
    words: [u64; 3],
}

impl DeviceAgreement {
    /// True if devices may compute the operation, as far as all ranks know.
    #[inline]
    pub fn is_needed(operation: &Operation) -> bool {
        operation.folded_bytes() >= LONG
    }

    /// What `rank` tells at first.
    pub fn new(work: &CollectiveWork, rank: usize) -> DeviceAgreement {
        let vectors = work.device_vectors(rank);
        let number = vectors.as_ref().map_or(0, DeviceVectors::device);
        let follows = vectors.is_some() || matches!(work, CollectiveWork::Operation(_));
        DeviceAgreement { vectors, words: [number, !number, u64::from(follows)] }
    }

    /// The operation by which the ranks tell each other. It names memory of the agreement, which
    /// must not move before it is over.
    ///
    /// # Panics
    /// Never: integers have a minimum.
    pub fn exchange(&mut self) -> Operation {
        let reducer = Reducer::of(Predefined::Min, Basic::Uint64).expect("integers have a minimum");
        let count = self.words.len() as i64;
        let operand = Operand { send: None, count, element: Element::dense(8), reducer };
        Operation::Allreduce { operand, receive: self.words.as_mut_ptr().cast() }
    }

    /// True if the call stays on devices, as far as the ranks have told each other.
    pub fn holds(&self) -> bool {
        self.words[COMPLEMENT] != u64::MAX && self.words[FOLLOWS] != 0
    }

    /// The plan of this rank. The ranks must tell each other again whether all have one: a device
    /// may lack the memory.
    pub fn plan(&mut self, operation: &Operation, call: &Call) -> Option<Plan> {
        let [least, most] = [self.words[NUMBER], !self.words[COMPLEMENT]];
        let spread = match least {
            0 => DeviceSpread::Mixed,
            _ if least == most => DeviceSpread::One,
            _ => DeviceSpread::Several,
        };
        let built = match &self.vectors {
            Some(vectors) => vectors.operation(operation, spread).plan(call),
            None => operation.plan(call),
        };
        self.words[FOLLOWS] = u64::from(built.is_ok());
        built.ok()
    }
}
