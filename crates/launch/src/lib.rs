//! Towpath: launch.
