//! Writes `crates/abi-*/src/generated/tables.rs`: the translation between the numbers of an ABI and
//! the neutral ones, and the limits of the ABI.

use std::fmt::Write;

use crate::api::Abi;
use crate::constants::Constants;
use crate::kinds;

const HEAD: &str = "//! Translation between the numbers of this interface and Towpath's own, and the\n\
     //! sizes of its strings.\n\
     //!\n\
     //! Written by `cargo run -p xtask -- codegen` from api/constants.toml; do not edit.\n\n\
     #![allow(dead_code, clippy::manual_range_patterns, clippy::too_many_lines)]\n\n";

/// The kinds of ints that are translated by a table of values.
const INTS: &[&str] = &[
    "rank",
    "tag",
    "comparison",
    "topology",
    "keyval",
    "split_type",
    "typeclass",
    "order",
    "lock_type",
    "whence",
    "combiner",
    "thread_level",
    "verbosity",
    "bind",
    "scope",
    "variable_class",
    "callback_safety",
    "source_order",
    "distribution",
    "distribution_argument",
    "window_flavor",
    "window_model",
    "error_class",
];

/// Kinds that are bit masks.
const FLAGS: &[&str] = &["access_mode", "assertion"];

/// The sizes of string buffers in an ABI.
fn limits(all: &Constants, abi: Abi) -> String {
    let mut text =
        String::from("/// Room that programs give to strings, in bytes.\npub mod limits {\n");
    for c in all.constants.iter().filter(|c| c.kind == "limit" && c.name.starts_with("MPI_MAX")) {
        if let Some(n) = c.number(abi) {
            let _ =
                writeln!(text, "    /// {}\n    pub const {}: usize = {n};", c.name, c.rust_name());
        }
    }
    text.push_str("}\n");
    text
}

/// The tables of the standard ABI, in which no number needs a translation.
pub fn standard(all: &Constants) -> String {
    format!("{HEAD}{}", limits(all, Abi::Standard))
}

/// The tables of the MPICH ABI.
pub fn mpich(all: &Constants) -> String {
    let mut text = String::from(HEAD);
    text.push_str(
        "use towpath_mpi::Handle;\n\n\
         /// Stands for a number that this interface does not know but that means something inside.\n\
         const UNKNOWN: i32 = i32::MIN;\n\n",
    );
    for kind in INTS {
        ints(all, kind, &mut text);
    }
    for kind in FLAGS {
        flags(all, kind, &mut text);
    }
    for (kind, _, _) in kinds::HANDLES {
        if *kind != "datatype" {
            handles(all, kind, &mut text);
        }
    }
    datatypes(all, &mut text);
    text.push_str(&limits(all, Abi::Mpich));
    text
}

fn ints(all: &Constants, kind: &str, text: &mut String) {
    let pairs = all.pairs(kind);
    // Only the classes: an error code contains more than its class, so handwritten code in the ABI
    // crate translates codes.
    let kind = if kind == "error_class" { "bare_class" } else { kind };
    let _ = write!(
        text,
        "/// {kind}: from the program.\n#[inline]\npub fn {kind}_in(value: i32) -> i32 {{\n    match value {{\n"
    );
    for (standard, mpich, c) in &pairs {
        let _ = writeln!(text, "        {mpich} => {standard}, // {}", c.name);
    }
    let hidden: Vec<String> = pairs
        .iter()
        .filter(|(standard, _, _)| !pairs.iter().any(|(_, mpich, _)| mpich == standard))
        .map(|(standard, _, _)| standard.to_string())
        .collect();
    if !hidden.is_empty() {
        let _ = writeln!(text, "        {} => UNKNOWN,", hidden.join(" | "));
    }
    text.push_str("        other => other,\n    }\n}\n\n");
    let _ = write!(
        text,
        "/// {kind}: to the program.\n#[inline]\npub fn {kind}_out(value: i32) -> i32 {{\n    match value {{\n"
    );
    for (standard, mpich, _) in &pairs {
        let _ = writeln!(text, "        {standard} => {mpich},");
    }
    text.push_str("        other => other,\n    }\n}\n\n");
}

fn flags(all: &Constants, kind: &str, text: &mut String) {
    let pairs = all.pairs(kind);
    for (word, turn) in [("in", false), ("out", true)] {
        let from = |p: &(i64, i64, _)| if turn { p.0 } else { p.1 };
        let to = |p: &(i64, i64, _)| if turn { p.1 } else { p.0 };
        let known: i64 = pairs.iter().map(|p| from(&(p.0, p.1, ()))).sum();
        let _ = write!(
            text,
            "/// {kind}: bits {} the program; unknown bits stay.\n#[inline]\npub fn {kind}_{word}(value: i32) -> i32 {{\n    let mut bits = value & !{known};\n",
            if turn { "to" } else { "from" }
        );
        for p in &pairs {
            let p = (p.0, p.1, ());
            let _ = writeln!(
                text,
                "    if value & {} != 0 {{\n        bits |= {};\n    }}",
                from(&p),
                to(&p)
            );
        }
        text.push_str("    bits\n}\n\n");
    }
}

fn handles(all: &Constants, kind: &str, text: &mut String) {
    let pairs = all.pairs(kind);
    let _ = write!(
        text,
        "/// Predefined {kind} handles: from the program; `None` for all others.\n#[inline]\npub fn predefined_{kind}_in(value: u32) -> Option<Handle> {{\n    Some(Handle(match value {{\n"
    );
    for (standard, mpich, c) in &pairs {
        let _ = writeln!(text, "        {:#x} => {standard:#x}, // {}", *mpich as u32, c.name);
    }
    text.push_str("        _ => return None,\n    }))\n}\n\n");
    let _ = write!(
        text,
        "/// Predefined {kind} handles: to the program; `None` for all others.\n#[inline]\npub fn predefined_{kind}_out(handle: Handle) -> Option<u32> {{\n    Some(match handle.0 {{\n"
    );
    for (standard, mpich, _) in &pairs {
        let _ = writeln!(text, "        {standard:#x} => {:#x},", *mpich as u32);
    }
    text.push_str("        _ => return None,\n    })\n}\n\n");
}

/// Datatypes are looked up by index: predefined MPICH types by the low byte of their handle,
/// neutral numbers by the number minus 0x200.
fn datatypes(all: &Constants, text: &mut String) {
    let pairs = all.pairs("datatype");
    let mut builtin = [(0u32, 0u32); 256];
    let mut direct = [0u32; 8];
    let mut neutral = [0u32; 256];
    for (standard, mpich, _) in &pairs {
        let (standard, mpich) = (*standard as u32, *mpich as u32);
        neutral[(standard - 0x200) as usize] = mpich;
        if mpich >> 24 == 0x4c {
            builtin[(mpich & 0xff) as usize] = (mpich, standard);
        } else if mpich >> 24 == 0x8c {
            direct[(mpich & 7) as usize] = standard;
        }
    }
    text.push_str("/// Builtin datatypes by their low byte: (handle of this interface, neutral number).\npub const BUILTIN_DATATYPES: [(u32, u32); 256] = [\n");
    for row in builtin.chunks(4) {
        let cells: Vec<String> = row.iter().map(|(m, s)| format!("({m:#x}, {s:#x})")).collect();
        let _ = writeln!(text, "    {},", cells.join(", "));
    }
    text.push_str("];\n\n/// Pair types 0x8c00000n by n: neutral numbers.\npub const DIRECT_DATATYPES: [u32; 8] = [");
    let cells: Vec<String> = direct.iter().map(|s| format!("{s:#x}")).collect();
    let _ = write!(text, "{}];\n\n", cells.join(", "));
    text.push_str(
        "/// Handles of this interface by neutral number less 0x200; 0: none.\npub const DATATYPES: [u32; 256] = [\n",
    );
    for row in neutral.chunks(8) {
        let cells: Vec<String> = row.iter().map(|m| format!("{m:#x}")).collect();
        let _ = writeln!(text, "    {},", cells.join(", "));
    }
    text.push_str("];\n\n");
}
