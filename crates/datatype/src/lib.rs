//! Datatypes: what lies where in a program's memory (MPI 5.0, chapter 5), and the kernels that reduce it.
//!
//! A pure library: no handles, no process-wide state, no system calls.

pub mod basic;
pub mod reduce;
