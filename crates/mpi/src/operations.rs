//! Reduction operations (MPI 5.0, section 6.9).

use crate::face::Callback;

/// An operation of the program.
#[derive(Debug)]
pub struct Operation {
    /// The program's function.
    pub function: Callback,
    /// Whether the order of operands does not matter.
    pub commutes: bool,
    /// Whether the function takes a large count.
    pub large: bool,
}
