//! Wires that wrap another wire and add behaviour under the same contract.

pub mod fault;

pub use fault::{Faults, Faulty};
