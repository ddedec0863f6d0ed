//! Writes `crates/neutral/src/constants/generated.rs` and `crates/base/src/calls.rs`.

use std::fmt::Write;

use crate::api::Api;
use crate::constants::{Constant, Constants};

/// Constants in the neutral numbering.
pub fn constants(all: &Constants) -> String {
    let mut text = String::from(
        "//! Constants in the neutral numbering, which is that of the standard ABI (MPI 5.0,\n\
         //! chapter 20 and appendix A).\n\
         //!\n\
         //! Written by `cargo run -p xtask -- codegen` from api/constants.toml and\n\
         //! api/errors.toml; do not edit.\n\n\
         use crate::abi::Handle;\n\n",
    );
    for c in &all.constants {
        let Some(value) = c.neutral() else { continue };
        let _ = writeln!(text, "/// {}\n{}", c.name, declaration(c, value));
    }
    text.push_str(
        "\n/// The sentence for an error of which only the class is known.\n\
         #[allow(clippy::too_many_lines)]\n\
         pub fn class_sentence(class: i32) -> &'static str {\n    match class {\n",
    );
    for class in &all.classes {
        let _ =
            writeln!(text, "        {} => \"{}: {}\",", class.standard, class.name, class.sentence);
    }
    text.push_str("        _ => \"an error class that this library does not know\",\n    }\n}\n");
    text.push_str(
        "\n/// Name of a predefined datatype by its number; empty for all others.\n\
         #[allow(clippy::too_many_lines)]\n\
         pub fn datatype_name(datatype: Handle) -> &'static str {\n    match datatype.0 {\n",
    );
    for c in all.constants.iter().filter(|c| c.kind == "datatype" && c.same_as.is_none()) {
        if let Some(value) = c.neutral() {
            let _ = writeln!(text, "        {value:#x} => \"{}\",", c.name);
        }
    }
    text.push_str("        _ => \"\",\n    }\n}\n");
    text
}

fn declaration(c: &Constant, value: i64) -> String {
    let name = c.rust_name();
    if c.is_handle() {
        return format!("pub const {name}: Handle = Handle({value:#x});");
    }
    let kind = match c.kind.as_str() {
        "MPI_Offset" => "i64",
        kind if kind.ends_with('*') || kind.starts_with("MPI") => "usize",
        _ => "i32",
    };
    format!("pub const {name}: {kind} = {value};")
}

/// Names of the MPI functions, indexed by their numbers.
pub fn calls(api: &Api) -> String {
    let mut text = String::from(
        "//! Names of the MPI functions by number: what `ControlPage::last_call` means.\n\
         //!\n\
         //! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.\n\n\
         /// Index: the number of the function; 0 is \"none\".\n\
         pub const NAMES: &[&str] = &[\n    \"\",\n",
    );
    for f in &api.functions {
        let _ = writeln!(text, "    \"{}\",", f.name);
    }
    text.push_str("];\n");
    text
}
