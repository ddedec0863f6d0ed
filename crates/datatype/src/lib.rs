//! MPI datatypes (MPI 5.0, chapter 5), which describe the layout of data in memory, and the
//! reduction kernels.
//!
//! A pure library: no handles, no process-wide state, no system calls. The constructors of
//! [`Datatype`] compose a layout plan (nested strided loops, lists) from the plans of the component
//! types. [`source`], [`target`], [`pack`], [`unpack`] and [`copy`] move data along that plan, from
//! any position and in pieces of any size; [`copy_across`] does so between processes.

mod across;
mod arrays;
pub mod basic;
mod body;
pub mod constants;
mod construct;
mod copies;
mod cursor;
mod datatype;
pub mod device;
mod error;
mod external32;
mod fortran;
mod kernel;
mod plan;
mod recipe;
pub mod reduce;
mod signature;
mod walk;

pub use across::copy_across;
pub use basic::Basic;
pub use cursor::{Cursor, copy, pack, source, target, unpack};
pub use datatype::{Datatype, Form};
pub use error::{Error, Result};
pub use external32::{external32_size, pack_external32, unpack_external32};
pub use recipe::{Combiner, Contents, Darray};
