//! Memory allocation kinds (MPI 5.0, section 11.4.3, and the side document "Memory Allocation
//! Kinds"): what was requested when the program was started, and what is supported.

use std::sync::OnceLock;

use towpath_base::config;
use towpath_device::{cuda_is_supported, memory_kinds};

/// The kinds that were requested, by `mpiexec -memory-alloc-kinds` or a setting.
pub(crate) fn requested() -> String {
    config::setting("TOWPATH_MEMORY_ALLOC_KINDS").unwrap_or_else(|| memory_kinds::DEFAULT.to_owned())
}

/// The kinds that are supported. Determined once, since the answer must not change while MPI runs.
pub(crate) fn supported() -> &'static str {
    static SUPPORTED: OnceLock<String> = OnceLock::new();
    SUPPORTED.get_or_init(|| memory_kinds::supported_of(&requested(), cuda_is_supported()))
}

/// True if each kind in a list is supported.
pub(crate) fn are_supported(list: &str) -> bool {
    memory_kinds::are_among(list, supported())
}
