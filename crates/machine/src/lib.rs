//! Towpath: machine.
