//! Towpath: abi-mpich.
