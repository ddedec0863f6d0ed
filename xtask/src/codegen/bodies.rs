//! Writes `target/bodies.txt`, the signature that the bindings expect of each body.

use std::fmt::Write;

use crate::api::{Abi, Api, Function};
use crate::kinds;

/// The signature of a body.
pub fn signature(f: &Function) -> String {
    let (arguments, returned) = kinds::signature(f);
    let arguments: Vec<String> =
        arguments.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    let result = match returned.len() {
        0 => "()".to_string(),
        1 => returned[0].to_string(),
        _ => format!("({})", returned.join(", ")),
    };
    let result = match f.form {
        Some(_) if f.body.starts_with("neighbor_") => "NeighborCall",
        Some(_) => "Prepared",
        None => result.as_str(),
    };
    format!("pub unsafe fn {}({}) -> Result<{result}>", f.body, arguments.join(", "))
}

/// The contents of `target/bodies.txt`.
pub fn listing(api: &Api) -> String {
    let mut text = String::from(
        "Expected bodies, by module of crates/mpi (`pub fn` or `pub unsafe fn`). Written by `cargo run -p xtask -- codegen`.\n\
         The binding has checked that out-pointers are not NULL and that MPI is initialized (not \
         for those marked `any time`).\n\
         When `flag` comes back false the binding writes no status, message, string or attribute (give Status::EMPTY, Handle(0), String::new(), null).\n\
         Strings out: return the whole text; the binding cuts it and writes the length. `length` parameters stay in the binding.\n",
    );
    for (chapter, title) in &api.chapters {
        let mut seen: Vec<&str> = Vec::new();
        let _ = write!(text, "\n== {chapter}: {title}\n");
        for f in api.functions.iter().filter(|f| &f.chapter == chapter) {
            if seen.contains(&f.body.as_str()) {
                continue;
            }
            seen.push(&f.body);
            let mut notes = Vec::new();
            for g in api.functions.iter().filter(|g| g.body == f.body) {
                notes.push(g.name.clone());
                if g.has_large(Abi::Standard) {
                    notes.push(format!("{}_c", g.name));
                }
            }
            if f.any_time {
                notes.push("any time".into());
            }
            if f.special {
                notes.push("written in the ABI crates, needs no body".into());
            }
            let _ = writeln!(text, "{}    // {}", signature(f), notes.join(", "));
        }
    }
    text
}
