//! Launching jobs: the library's side ([`client`]) and the launcher `mpiexec` ([`mpiexec`]).
//!
//! `client` works under Towpath's own `mpiexec`, under any PMI-1 or PMI-2 server (the Hydra
//! launchers of MPICH and Intel MPI, gforker, Slurm), under PMIx, and without a launcher (a
//! singleton). `mpiexec` serves PMI-1, so programs linked with those libraries start under it too.
//! This crate does not depend on the engine.

#![deny(missing_docs)]

pub mod child;
pub mod client;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod hosts;
mod key;
pub mod mpiexec;
pub mod resources;
pub mod segment;
pub mod shown;
mod ticket;
pub mod topology;
pub mod wire;

pub use error::Error;
pub use key::JobKey;
