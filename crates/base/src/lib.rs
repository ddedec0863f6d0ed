//! Definitions shared by all crates of Towpath: identifiers, the traits through which payload
//! leaves and enters user memory, the settings, events and counters, the layout of the control
//! page, the slab, and the re-exported atomics and cells.
//!
//! Every other crate may depend on this one. It knows no MPI objects and makes no system calls.

#![deny(missing_docs)]

pub mod calls;
pub mod config;
pub mod contexts;
pub mod control;
pub mod copy;
pub mod events;
pub mod ids;
pub mod json;
#[cfg(loom)]
pub mod model;
pub mod slab;
pub mod sync;
pub mod transfer;
