//! Constants in the neutral numbering: the numbers of the standard's own ABI (ARCHITECTURE.md, "The neutral vocabulary").

mod generated;

pub use generated::*;
