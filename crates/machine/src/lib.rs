//! Hardware and kernel services: cores, caches, memory, futexes, memory barriers between processes,
//! and the wait policy.
//!
//! Everything here concerns the local host and knows nothing of wires or MPI objects. Only
//! functions that say so in their name or first line block.

#![deny(missing_docs)]

pub mod cgroup;
pub mod chares;
pub mod clock;
pub mod cores;
pub mod fault;
pub mod filesystem;
pub mod fork;
pub mod futex;
pub mod levels;
pub mod library;
pub mod limits;
pub mod malloc;
pub mod membarrier;
pub mod memory;
pub mod network;
pub mod pages;
pub mod process;
pub mod resources;
pub mod thread;
pub mod view;
pub mod wait;
