//! Info objects (MPI 5.0, chapter 10). The C functions are in `chapters::info`.

use std::sync::Mutex;

pub(crate) use towpath_neutral::info::Pairs;

/// An info object.
pub(crate) type Info = Mutex<Pairs>;
