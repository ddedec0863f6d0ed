//! Constants of the standard ABI (MPI 5.0, chapter 20) that are arguments of datatype constructors.

/// `MPI_UNDEFINED`
pub const UNDEFINED: i64 = -32766;
/// `MPI_ORDER_C`: the last dimension is innermost.
pub const ORDER_C: i64 = 12;
/// `MPI_ORDER_FORTRAN`: the first dimension is innermost.
pub const ORDER_FORTRAN: i64 = 15;
/// `MPI_DISTRIBUTE_NONE`
pub const DISTRIBUTE_NONE: i64 = 16;
/// `MPI_DISTRIBUTE_BLOCK`
pub const DISTRIBUTE_BLOCK: i64 = 17;
/// `MPI_DISTRIBUTE_CYCLIC`
pub const DISTRIBUTE_CYCLIC: i64 = 18;
/// `MPI_DISTRIBUTE_DFLT_DARG`
pub const DISTRIBUTE_DFLT_DARG: i64 = 19;
