//! The vocabulary that every storey of Towpath shares: identifiers, the fill/drain contract by
//! which bytes leave and enter user memory, the table of settings, the layout of the control page,
//! and the only names of atomics and cells.
//!
//! Every other crate may depend on this one. It knows no MPI object and makes no system call.

#![deny(missing_docs)]

pub mod calls;
pub mod config;
pub mod control;
pub mod copy;
pub mod ids;
#[cfg(loom)]
pub mod model;
pub mod sync;
pub mod transfer;
