//! Reduction operations of the program (MPI 5.0, section 6.9). The C functions are in
//! `chapters::operations`.

use towpath_neutral::abi::Callback;

/// A user-defined operation.
#[derive(Debug)]
pub(crate) struct Operation {
    /// The program's function.
    pub function: Callback,
    /// Whether the operation is commutative.
    pub commutes: bool,
    /// Whether the function takes a large count (`MPI_User_function_c`).
    pub large: bool,
}
