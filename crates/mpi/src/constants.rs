//! Constants in the neutral numbering, which is that of the standard ABI (MPI 5.0, chapter 20 and appendix A).

/// Any source.
pub const ANY_SOURCE: i32 = -1;
/// Any tag.
pub const ANY_TAG: i32 = -2;
/// No process.
pub const PROC_NULL: i32 = -3;
/// The root of an intercommunicator's rooted collective, in the root's group.
pub const ROOT: i32 = -4;
/// No value.
pub const UNDEFINED: i32 = -32766;
