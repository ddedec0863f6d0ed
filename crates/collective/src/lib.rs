//! Towpath: collective.
