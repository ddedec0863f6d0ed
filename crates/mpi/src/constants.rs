//! Constants in the neutral numbering: the numbers of the standard's own ABI (docs/design/abi.md).

mod generated;

pub use generated::*;
