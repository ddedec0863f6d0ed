//! Launching jobs: the library's side ([`client`]), the launcher `mpiexec` ([`mpiexec`]), and the
//! command `towpath`, which reports on the installation and the machine ([`command`]).
//!
//! `client` works under Towpath's own `mpiexec`, under any PMI-1 or PMI-2 server (the Hydra
//! launchers of MPICH and Intel MPI, gforker, Slurm), under PMIx, and without a launcher (a
//! singleton). `mpiexec` serves PMI-1, so programs linked with those libraries start under it too.
//! This crate does not depend on the engine.

#![deny(missing_docs)]

mod child;
pub mod client;
pub mod command;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod hosts;
mod key;
pub mod mpiexec;
pub mod resources;
pub mod segment;
mod shown;
mod ticket;
mod topology;
pub mod wire;

pub use error::Error;
pub use key::JobKey;
pub use shown::ShownJob;
pub use topology::JobTopology;
