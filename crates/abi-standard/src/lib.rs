//! Towpath: abi-standard.
