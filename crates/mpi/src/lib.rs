//! The MPI objects and functions, one module per chapter of the standard, and the only process-wide
//! state of Towpath.
//!
//! Modules with bodies of the C functions: `environment`, `errors`, `info`, `groups`,
//! `communicators`, `intercommunicators`, `attributes`, `topologies`, `point_to_point`, `requests`,
//! `status`, `datatypes`, `operations`, `collectives`, `processes`. The other modules implement the
//! objects behind them.

pub mod attributes;
mod boards;
mod buffered;
pub mod collectives;
mod comm;
pub mod communicators;
pub mod constants;
mod contexts;
pub mod datatypes;
pub mod entry;
pub mod environment;
pub mod error;
pub mod errors;
mod fabric;
pub mod face;
pub mod fortran;
mod generalized;
mod group;
pub mod groups;
mod handle;
mod hardware;
mod heap;
mod held_up;
pub mod info;
mod intercomm;
pub mod intercommunicators;
mod internal;
mod lane;
mod mapping;
mod messages;
mod multicast;
mod network;
pub mod operations;
mod persistent;
pub mod point_to_point;
pub mod processes;
mod proposals;
mod request_table;
pub mod requests;
mod runs;
mod start;
pub mod status;
mod strings;
pub mod topologies;
mod topology;
mod wait_target;
mod waiting;
pub mod world;

pub use network::survey as survey_of_networks;

pub use face::{Callback, Face, Handle, HandleArray, Integers, IntegersMut, Kind, Status, StatusArray};
