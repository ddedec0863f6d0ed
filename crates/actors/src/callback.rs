//! Callbacks: what happens to the result of a reduction or on quiescence.

use serde::{Deserialize, Serialize};

use crate::index::Index;

/// Who is told of a result. It is used once each time that something completes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChareCallback {
    /// Nobody.
    Ignore,
    /// The job ends with code 0.
    Exit,
    /// An entry method of one chare.
    Chare {
        /// Its collection.
        collection: u64,
        /// Its index.
        index: Index,
        /// The entry method.
        entry: u32,
        /// The reference number that the message has.
        reference: u32,
    },
    /// An entry method of all chares of a collection.
    All {
        /// The collection.
        collection: u64,
        /// The entry method.
        entry: u32,
        /// The reference number that the message has.
        reference: u32,
    },
    /// An entry method of all members of a section.
    Section {
        /// Its collection.
        collection: u64,
        /// The rank that has made it.
        root: u32,
        /// Which one of that rank it is.
        number: u32,
        /// The entry method.
        entry: u32,
        /// The reference number that the message has.
        reference: u32,
    },
    /// A function of the program on one rank ([`crate::Chares::call_back`]).
    Function {
        /// The rank.
        rank: u32,
        /// What the program calls the function.
        function: u64,
    },
}
