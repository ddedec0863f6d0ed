//! Translation between the numbers of this interface and Towpath's own, and the
//! sizes of its strings.
//!
//! Written by `cargo run -p xtask -- codegen` from api/constants.toml; do not edit.

#![allow(dead_code, clippy::manual_range_patterns, clippy::too_many_lines)]

/// Room that programs give to strings, in bytes.
pub mod limits {
    /// MPI_MAX_DATAREP_STRING
    pub const MAX_DATAREP_STRING: usize = 128;
    /// MPI_MAX_ERROR_STRING
    pub const MAX_ERROR_STRING: usize = 512;
    /// MPI_MAX_INFO_KEY
    pub const MAX_INFO_KEY: usize = 256;
    /// MPI_MAX_INFO_VAL
    pub const MAX_INFO_VAL: usize = 1024;
    /// MPI_MAX_LIBRARY_VERSION_STRING
    pub const MAX_LIBRARY_VERSION_STRING: usize = 8192;
    /// MPI_MAX_OBJECT_NAME
    pub const MAX_OBJECT_NAME: usize = 128;
    /// MPI_MAX_PORT_NAME
    pub const MAX_PORT_NAME: usize = 1024;
    /// MPI_MAX_PROCESSOR_NAME
    pub const MAX_PROCESSOR_NAME: usize = 256;
    /// MPI_MAX_STRINGTAG_LEN
    pub const MAX_STRINGTAG_LEN: usize = 1024;
    /// MPI_MAX_PSET_NAME_LEN
    pub const MAX_PSET_NAME_LEN: usize = 1024;
}
