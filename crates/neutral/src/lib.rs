//! The neutral form of the ABI, in which the ABI crates and `mpi` communicate: constants and
//! handles in the numbering of the standard ABI (MPI 5.0, chapter 20), errors, the pairs of
//! info objects, and the function table of an ABI ([`abi::AbiTable`]).

#![deny(missing_docs)]

pub mod abi;
pub mod constants;
pub mod error;
pub mod handle;
pub mod info;
