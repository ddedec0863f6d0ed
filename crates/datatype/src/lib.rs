//! Datatypes: what lies where in a program's memory (MPI 5.0, chapter 5), and the kernels that
//! reduce it.
//!
//! A pure library: no handles, no process-wide state, no system calls. A [`Datatype`] is made by a
//! constructor, which composes a plan (nests of strided loops, lists) from its children's;
//! [`source`], [`target`], [`pack`], [`unpack`] and [`copy`] move data by that plan, from any
//! position and in pieces of any size; [`copy_across`] does between processes.

mod across;
mod arrays;
pub mod basic;
mod body;
pub mod constants;
mod construct;
mod copies;
mod cursor;
mod datatype;
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
