//! Writes `docs/standard.md`: the chapter of each function, and which functions are built.

use std::fmt::Write;

use crate::api::{Abi, Api, Function};

/// The section about differences from the standard and extensions.
const DIFFERENCES: &str = include_str!("differences.md");

/// The contents of `docs/standard.md`.
pub fn page(api: &Api) -> String {
    let done = |f: &&Function| f.special || f.built;
    let standard: Vec<&Function> =
        api.functions.iter().filter(|f| f.in_abi(Abi::Standard) && !excluded(f)).collect();
    let forms = |f: &Function| 1 + usize::from(f.has_large(Abi::Standard));
    let names: usize = standard.iter().map(|f| forms(f)).sum();
    let names_done: usize = standard.iter().filter(|f| done(f)).map(|f| forms(f)).sum();
    let mut text = String::from(
        "# The standard, function by function\n\n\
         Written by `cargo run -p xtask -- codegen` from `api/functions.toml`; do not edit. A\n\
         function that is not built exists in both libraries and answers\n\
         `MPI_ERR_UNSUPPORTED_OPERATION` through the error handler.\n\n",
    );
    let _ = write!(
        text,
        "**{names_done} of the {names} functions in the standard ABI of MPI 5.0 are built**; the\n\
         `_c` form of a function counts as another. The table counts both as one. It also has\n\
         functions that the standard has removed or never had, and the conversions for Fortran\n\
         (`MPI_Comm_c2f`, ...) that only the MPICH ABI has.\n\n\
         | chapter | built | of |\n|---|---|---|\n"
    );
    for (chapter, title) in &api.chapters {
        let all: Vec<&Function> = api.functions.iter().filter(|f| &f.chapter == chapter).collect();
        let _ = writeln!(
            text,
            "| {title} | {} | {} |",
            all.iter().filter(|f| done(f)).count(),
            all.len()
        );
    }
    text.push_str(DIFFERENCES);
    for (chapter, title) in &api.chapters {
        let _ = write!(text, "\n## {title}\n\n| function | body | |\n|---|---|---|\n");
        for f in api.functions.iter().filter(|f| &f.chapter == chapter) {
            let large = if f.has_large(Abi::Standard) { ", `_c`" } else { "" };
            let place = match f.built {
                true => format!("`mpi::{chapter}::{}`", f.body),
                false if f.special => "in the ABI crates".into(),
                false => "not built".into(),
            };
            let _ = writeln!(
                text,
                "| `{}`{large} | {place} | {} |",
                f.name,
                f.status.as_deref().unwrap_or("")
            );
        }
    }
    text
}

/// True for functions that the standard has removed or never had.
fn excluded(f: &Function) -> bool {
    f.status.as_deref() == Some("removed") || f.chapter == "extensions"
}
