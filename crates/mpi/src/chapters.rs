//! The bodies of the C functions, by chapter of the standard: they check the arguments, and start
//! and await operations of the objects and the progress engine.

pub mod attributes;
pub mod collectives;
pub mod communicators;
pub mod datatypes;
pub mod environment;
pub mod errors;
pub mod extensions;
pub mod fortran;
pub mod groups;
mod hardware;
mod hints;
mod host_copies;
pub mod info;
mod intercomm;
pub mod intercommunicators;
mod internal;
pub mod operations;
mod persistent;
pub mod point_to_point;
pub mod processes;
mod proposals;
pub mod requests;
mod splits;
pub mod status;
pub mod topologies;
