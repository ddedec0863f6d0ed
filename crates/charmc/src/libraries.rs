//! Libraries that come with Charm++, and that programs name by their modules.

/// Those that do not exist here.
const MISSING: &[&str] = &[
    "CkCache",
    "CkIO",
    "CkLoop",
    "CkSparseContiguousReducer",
    "FuncCkLoop",
    "NDMeshStreamer",
    "ParFUM",
    "collide",
    "comlib",
    "completion",
    "liveViz",
    "liveVizPoll",
    "pythonCCS",
    "tcharm",
];

/// The sentence about a module, if it is of a library that does not exist here.
pub(crate) fn missing_library(module: &str) -> Option<String> {
    MISSING.contains(&module).then(|| {
        format!("The library {module} of Charm++ does not exist here: do without its module.")
    })
}
