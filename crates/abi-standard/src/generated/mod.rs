//! The functions of this interface by chapter.
//!
//! Written by `cargo run -p xtask -- codegen`; do not edit.

mod attributes;
mod collectives;
mod communicators;
mod datatypes;
mod environment;
mod errors;
mod extensions;
mod files;
mod fortran;
mod groups;
mod info;
mod intercommunicators;
mod one_sided;
mod operations;
mod partitioned;
mod point_to_point;
mod processes;
mod requests;
mod sessions;
mod status;
pub mod tables;
mod tools;
mod topologies;
