//! What the hardware and the kernel offer: cores, memory, futexes, barriers between processes, and
//! the policy of waiting.
//!
//! Everything here is about *this* host and knows no wire and no MPI object. Nothing blocks except
//! the functions that say so in their name or first line.

#![deny(missing_docs)]

pub mod cgroup;
pub mod clock;
pub mod cores;
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
pub mod wait;
