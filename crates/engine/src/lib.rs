//! Towpath: engine (see ARCHITECTURE.md).
