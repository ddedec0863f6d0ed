//! Writes `include/standard/mpi.h` and `include/mpich/mpi.h`.
//!
//! The text is Towpath's own; names, values and layouts are those of the two ABIs.

use std::fmt::Write;

use super::header_text as fixed;
use crate::api::{Abi, Api, Direction, Function, Parameter};
use crate::constants::{Constant, Constants, Value};
use crate::kinds;

/// The header of an ABI.
pub fn header(api: &Api, all: &Constants, abi: Abi) -> String {
    let mut text = String::from(match abi {
        Abi::Standard => fixed::STANDARD_HEAD,
        Abi::Mpich => fixed::MPICH_HEAD,
    });
    values(all, abi, &mut text);
    text.push_str(match abi {
        Abi::Standard => fixed::STANDARD_TYPES,
        Abi::Mpich => fixed::MPICH_TYPES,
    });
    text.push_str(fixed::CALLBACKS);
    text.push_str(match abi {
        Abi::Standard => fixed::STANDARD_FUNCTIONS,
        Abi::Mpich => fixed::MPICH_FUNCTIONS,
    });
    for prefix in ["", "P"] {
        let about = if prefix.is_empty() {
            "The functions"
        } else {
            "The same functions for tools that replace the MPI_ names"
        };
        let _ = write!(text, "\n/* {about}. */\n");
        for f in api.functions.iter().filter(|f| f.in_abi(abi)) {
            if abi == Abi::Standard
                && (f.status.as_deref() == Some("removed") || f.chapter == "extensions")
            {
                continue;
            }
            prototype(f, abi, prefix, false, &mut text);
            if f.has_large(abi) {
                prototype(f, abi, prefix, true, &mut text);
            }
        }
    }
    if abi == Abi::Mpich {
        fortran_macros(&mut text);
    }
    text.push_str(match abi {
        Abi::Standard => fixed::STANDARD_TAIL,
        Abi::Mpich => fixed::MPICH_TAIL,
    });
    text
}

fn values(all: &Constants, abi: Abi, text: &mut String) {
    let mut kind = "";
    for c in &all.constants {
        let Some(value) = c.value(abi) else { continue };
        if matches!(c.kind.as_str(), "version" | "callback_safety" | "source_order") {
            continue;
        }
        if c.kind != kind {
            kind = &c.kind;
            let _ = write!(text, "\n/* {} */\n", title(kind));
        }
        match value {
            Value::Word(_) => {
                let _ = match c.kind.as_str() {
                    "int*" => writeln!(text, "extern int *const {};", c.name),
                    _ => writeln!(text, "extern struct MPIR_T_pvar_handle_s *const {};", c.name),
                };
            }
            Value::Number(number) => {
                let _ = writeln!(text, "#define {} {}", c.name, expression(c, *number));
            }
        }
    }
    text.push('\n');
}

fn title(kind: &str) -> String {
    match kind {
        "limit" => "Sizes".into(),
        "int" => "Further numbers".into(),
        kind if kinds::handle(kind).is_some() => format!("Predefined handles: {kind}"),
        kind => kind.trim_end_matches('*').replace('_', " "),
    }
}

fn expression(c: &Constant, number: i64) -> String {
    if let Some(other) = &c.same_as {
        return other.clone();
    }
    if let Some((c_name, _)) = kinds::handle(&c.kind) {
        return format!("(({c_name})0x{:08x})", number as u32);
    }
    match c.kind.as_str() {
        "MPIX_Stream" => format!("((MPIX_Stream)0x{:08x})", number as u32),
        kind if kind.ends_with('*') || kind.starts_with("MPI_") => {
            format!(
                "(({}){number})",
                kind.replace('*', " *").replace("* *", "**").replace("* *", "**")
            )
        }
        _ if number < 0 => format!("({number})"),
        "keyval" if number > 1000 => format!("0x{number:08x}"),
        _ => number.to_string(),
    }
}

fn prototype(f: &Function, abi: Abi, prefix: &str, large: bool, text: &mut String) {
    let suffix = if large { "_c" } else { "" };
    let mut parameters: Vec<String> =
        f.parameters.iter().filter(|p| large || !p.large_only).map(|p| declare(p, large)).collect();
    if abi == Abi::Mpich && matches!(f.name.as_str(), "MPI_Psend_init" | "MPI_Precv_init") {
        // MPICH declares the count of these functions as the standard did before a correction. The
        // library reads its low 32 bits.
        parameters[2] = "MPI_Count count".into();
    }
    if f.variadic {
        parameters.push("...".into());
    }
    if parameters.is_empty() {
        parameters.push("void".into());
    }
    let result = match f.returns.as_str() {
        "code" | "int" => "int ",
        "double" => "double ",
        "aint" => "MPI_Aint ",
        "fint" => "MPI_Fint ",
        "pointer" => "void *",
        kind => &format!("{} ", kinds::handle(kind).map_or(kind, |h| h.0)),
    };
    let _ = writeln!(text, "{result}{prefix}{}{suffix}({});", f.name, parameters.join(", "));
}

/// The C declaration of a parameter.
fn declare(p: &Parameter, large: bool) -> String {
    let name = &p.name;
    let input = p.direction == Direction::In;
    let scalar = |t: &str| if input { format!("{t} {name}") } else { format!("{t} *{name}") };
    let array =
        |t: &str| if input { format!("const {t} {name}[]") } else { format!("{t} {name}[]") };
    let width = |(small, wide): (&'static str, &'static str)| if large { wide } else { small };
    let kind = p.kind.as_str();
    if let Some((c, _)) = kinds::handle(kind) {
        return scalar(c);
    }
    if let Some((c, _)) = kinds::handle_array(kind) {
        return array(c);
    }
    if let Some(widths) = kinds::number(kind) {
        return scalar(width(widths));
    }
    if kind == "weights" {
        // Not declared as an array, because compilers would warn that the address MPI_UNWEIGHTED
        // has no elements.
        return if input { format!("const int *{name}") } else { format!("int *{name}") };
    }
    if kind == "ranges" {
        return format!("int {name}[][3]");
    }
    if let Some(widths) = kinds::array(kind) {
        return array(width(widths));
    }
    if kinds::is_callback(kind) {
        let has_large = matches!(kind, "MPI_User_function" | "MPI_Datarep_conversion_function");
        return format!("{kind}{} *{name}", if large && has_large { "_c" } else { "" });
    }
    match kind {
        "fint" => scalar("MPI_Fint"),
        "fints" => array("MPI_Fint"),
        "callback_safety" => scalar("MPI_T_cb_safety"),
        "source_order" => scalar("MPI_T_source_order"),
        "MPIX_Stream" | "MPIX_Grequest_class" => scalar(kind),
        "logical" | "length" => scalar("int"),
        "status" if input => format!("const MPI_Status *{name}"),
        "status" => format!("MPI_Status *{name}"),
        "statuses" => format!("MPI_Status *{name}"),
        "f08_status" if input => format!("const MPI_F08_status *{name}"),
        "f08_status" => format!("MPI_F08_status *{name}"),
        "buffer" | "address" if input => format!("const void *{name}"),
        "buffer" | "address" | "pointer" | "attribute" => format!("void *{name}"),
        "string" if input => format!("const char *{name}"),
        "string" => format!("char *{name}"),
        "strings" => format!("char *{name}[]"),
        "string_arrays" => format!("char **{name}[]"),
        "argc" => format!("int *{name}"),
        "argv" => format!("char ***{name}"),
        "double" => format!("double {name}"),
        "MPIX_Streams" => format!("MPIX_Stream {name}[]"),
        _ if kinds::is_int(kind) => scalar("int"),
        other => scalar(other),
    }
}

/// Macros for the handle conversions. Handles are ints in C and in Fortran, so no call is needed.
fn fortran_macros(text: &mut String) {
    text.push_str(
        "\n/* The handle conversions as macros: the value is the same in C and Fortran. */\n",
    );
    for prefix in ["", "P"] {
        for (kind, c, _) in kinds::HANDLES.iter().filter(|h| h.0 != "file") {
            let name = if *kind == "datatype" { "Type" } else { &c[4..] };
            let _ = writeln!(text, "#define {prefix}MPI_{name}_c2f(handle) ((MPI_Fint)(handle))");
            let _ = writeln!(text, "#define {prefix}MPI_{name}_f2c(number) (({c})(number))");
        }
    }
}
