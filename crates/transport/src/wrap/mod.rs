//! Wires around wires: the same contract, with something added.

pub mod fault;

pub use fault::{Faults, Faulty};
