//! Launching: what the library asks of the program that started it ([`client`]), that program
//! itself ([`mpiexec`]), and the command `towpath`, which answers people's questions ([`command`]).
//!
//! `client` speaks to Towpath's own `mpiexec`, to any PMI-1 or PMI-2 server (the Hydra launchers of
//! MPICH and Intel MPI, gforker, Slurm) and to nobody (a program started alone). `mpiexec` serves
//! PMI-1, so programs of those libraries start under it too. Nothing here knows the engine.

#![deny(missing_docs)]

pub mod client;
pub mod command;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod hosts;
mod key;
pub mod mpiexec;
pub mod segment;
mod ticket;
pub mod wire;

pub use error::Error;
pub use key::JobKey;
