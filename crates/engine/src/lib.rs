//! Towpath: engine (see ARCHITECTURE.md).

pub mod messages;
