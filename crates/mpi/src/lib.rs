//! The objects of the standard, one module per chapter, and the only process-wide state of Towpath.

pub mod constants;
pub mod entry;
pub mod environment;
pub mod error;
pub mod errors;
pub mod face;
pub mod world;

pub use face::{Callback, Face, Handle, HandleArray, Integers, IntegersMut, Kind, Status, StatusArray};
