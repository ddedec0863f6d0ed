//! The constants of MPI in the neutral numbering, which is that of the standard ABI
//! (docs/design/abi.md).

mod generated;

pub use generated::*;
