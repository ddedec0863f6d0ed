//! The functions of this ABI by chapter.
//!
//! Written by `cargo run -p xtask -- codegen`; do not edit.

#[path = "../../../abi/generated/attributes.rs"]
mod attributes;
#[path = "../../../abi/generated/collectives.rs"]
mod collectives;
#[path = "../../../abi/generated/communicators.rs"]
mod communicators;
#[path = "../../../abi/generated/datatypes.rs"]
mod datatypes;
#[path = "../../../abi/generated/environment.rs"]
mod environment;
#[path = "../../../abi/generated/errors.rs"]
mod errors;
mod extensions;
#[path = "../../../abi/generated/files.rs"]
mod files;
#[path = "../../../abi/generated/fortran.rs"]
mod fortran;
#[path = "../../../abi/generated/groups.rs"]
mod groups;
#[path = "../../../abi/generated/info.rs"]
mod info;
#[path = "../../../abi/generated/intercommunicators.rs"]
mod intercommunicators;
#[path = "../../../abi/generated/one_sided.rs"]
mod one_sided;
#[path = "../../../abi/generated/operations.rs"]
mod operations;
mod partitioned;
#[path = "../../../abi/generated/point_to_point.rs"]
mod point_to_point;
#[path = "../../../abi/generated/processes.rs"]
mod processes;
#[path = "../../../abi/generated/requests.rs"]
mod requests;
#[path = "../../../abi/generated/sessions.rs"]
mod sessions;
#[path = "../../../abi/generated/status.rs"]
mod status;
pub mod tables;
#[path = "../../../abi/generated/tools.rs"]
mod tools;
#[path = "../../../abi/generated/topologies.rs"]
mod topologies;
