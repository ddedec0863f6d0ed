//! The type of each kind of parameter: in C, for each ABI, and in a body of `crates/mpi`.

use crate::api::{Direction, Function, Parameter};

/// For each kind of handle: the kind, its C type, and its variant of `Kind`.
pub const HANDLES: &[(&str, &str, &str)] = &[
    ("comm", "MPI_Comm", "Comm"),
    ("group", "MPI_Group", "Group"),
    ("datatype", "MPI_Datatype", "Datatype"),
    ("file", "MPI_File", "File"),
    ("errhandler", "MPI_Errhandler", "Errhandler"),
    ("op", "MPI_Op", "Op"),
    ("info", "MPI_Info", "Info"),
    ("win", "MPI_Win", "Win"),
    ("request", "MPI_Request", "Request"),
    ("message", "MPI_Message", "Message"),
    ("session", "MPI_Session", "Session"),
];

/// The C type of a kind of handle, and its variant of `Kind`.
pub fn handle(kind: &str) -> Option<(&'static str, &'static str)> {
    HANDLES.iter().find(|h| h.0 == kind).map(|h| (h.1, h.2))
}

/// The same for an array of handles.
pub fn handle_array(kind: &str) -> Option<(&'static str, &'static str)> {
    handle(kind.strip_suffix('s')?)
}

/// The C types of a number in the small and the large form; `None` if the kind is not a number.
pub fn number(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "count" => ("int", "MPI_Count"),
        "aint" => ("MPI_Aint", "MPI_Aint"),
        "aint_or_count" => ("MPI_Aint", "MPI_Count"),
        "int_or_aint" => ("int", "MPI_Aint"),
        "offset" | "view_displacement" => ("MPI_Offset", "MPI_Offset"),
        "wide" => ("MPI_Count", "MPI_Count"),
        _ => return None,
    })
}

/// The C types of the elements of an array of numbers, in the small and the large form.
pub fn array(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "counts" => ("int", "MPI_Count"),
        "displacements" => ("int", "MPI_Aint"),
        "aints" => ("MPI_Aint", "MPI_Aint"),
        "aints_or_counts" => ("MPI_Aint", "MPI_Count"),
        "wides" => ("MPI_Count", "MPI_Count"),
        "integers"
        | "ranks"
        | "weights"
        | "logicals"
        | "ranges"
        | "distributions"
        | "distribution_arguments"
        | "error_codes" => ("int", "int"),
        _ => return None,
    })
}

/// True for arrays of ints whose values differ between the ABIs.
pub fn is_translated_array(kind: &str) -> bool {
    matches!(kind, "ranks" | "distributions" | "distribution_arguments")
}

/// True for kinds that are an `int` in C and an `i32` in a body.
pub fn is_int(kind: &str) -> bool {
    matches!(kind, "int" | "fint" | "MPIX_Stream" | "MPIX_Grequest_class")
        || is_translated_int(kind)
}

/// True for ints whose values differ between the ABIs.
pub fn is_translated_int(kind: &str) -> bool {
    matches!(
        kind,
        "rank"
            | "root"
            | "tag"
            | "error_code"
            | "error_class"
            | "comparison"
            | "topology"
            | "keyval"
            | "split_type"
            | "typeclass"
            | "order"
            | "lock_type"
            | "access_mode"
            | "whence"
            | "assertion"
            | "combiner"
            | "thread_level"
            | "verbosity"
            | "bind"
            | "scope"
            | "variable_class"
            | "callback_safety"
            | "source_order"
    )
}

/// True if the kind is a C function type.
pub fn is_callback(kind: &str) -> bool {
    kind.starts_with("MPI") && (kind.contains("function"))
}

/// True for other C types (MPI_T and MPIX objects), which a body gets as an address.
pub fn is_opaque(kind: &str) -> bool {
    kind.starts_with("MPI") && !is_callback(kind) && !is_int(kind)
}

/// True if the body returns this parameter.
pub fn is_returned(p: &Parameter) -> bool {
    p.direction == Direction::Out
        && (handle(&p.kind).is_some()
            || number(&p.kind).is_some()
            || is_int(&p.kind)
            || is_opaque(&p.kind)
            || matches!(p.kind.as_str(), "logical" | "status" | "string" | "pointer" | "attribute"))
}

/// Type of the parameter in a body; `None` if the binding does not pass it on.
pub fn neutral(p: &Parameter) -> Option<&'static str> {
    let scalar = |plain: &'static str, changed: &'static str| {
        if p.direction == Direction::InOut { changed } else { plain }
    };
    let kind = p.kind.as_str();
    Some(if handle(kind).is_some() {
        scalar("Handle", "&mut Handle")
    } else if handle_array(kind).is_some() {
        "HandleArray"
    } else if number(kind).is_some() {
        scalar("i64", "&mut i64")
    } else if is_int(kind) {
        scalar("i32", "&mut i32")
    } else if array(kind).is_some() {
        if p.direction == Direction::In || p.direction == Direction::InMutable {
            "Integers"
        } else {
            "IntegersMut"
        }
    } else if is_callback(kind) {
        "Callback"
    } else {
        match kind {
            "status" => scalar("Status", "&mut Status"),
            "statuses" => "StatusArray",
            "buffer" if p.direction == Direction::In => "*const c_void",
            "address" => "*const c_void",
            "buffer" | "pointer" | "attribute" => "*mut c_void",
            "logical" => "bool",
            "string" if p.direction == Direction::Out => "String",
            "string" => "StringArgument",
            "strings" => "*const *const c_char",
            "string_arrays" => "*const *const *const c_char",
            "argc" => "*mut c_int",
            "argv" => "*mut *mut *mut c_char",
            "double" => "f64",
            "length" => return None,
            _ => scalar("*mut c_void", "&mut *mut c_void"),
        }
    })
}

/// The type of `towpath_mpi::collectives` that holds parameters which describe data together, and
/// their number, if the parameters of a collective call begin with such.
fn data(kinds: &[&str]) -> Option<(&'static str, usize)> {
    Some(match kinds {
        ["buffer", "buffer", "count", "datatype", "op", ..] => ("Vector", 5),
        ["buffer", "count", "datatype", ..] => ("EqualData", 3),
        ["buffer", "counts", "displacements" | "aints", "datatype", ..] => ("VaryingData", 4),
        ["buffer", "counts", "displacements" | "aints", "datatypes", ..] => ("MixedData", 4),
        _ => return None,
    })
}

/// The parameters of a collective call in groups that the body gets as one argument: the type that
/// holds them, if there are several, and their number.
pub fn groups(kinds: &[&str]) -> Vec<(Option<&'static str>, usize)> {
    let (mut groups, mut rest) = (Vec::new(), kinds);
    while !rest.is_empty() {
        let (kind, number) = match data(rest) {
            Some((kind, number)) => (Some(kind), number),
            None => (None, 1),
        };
        groups.push((kind, number));
        rest = &rest[number..];
    }
    groups
}

/// The parameters of a body with their types, and the types of its results.
pub fn signature(f: &Function) -> (Vec<(String, &'static str)>, Vec<&'static str>) {
    let mut arguments = Vec::new();
    let mut returned = Vec::new();
    let mut kinds = Vec::new();
    for p in &f.parameters {
        let Some(neutral) = neutral(p) else { continue };
        if is_returned(p) {
            returned.push(neutral);
        } else {
            arguments.push((rust_name(&p.name), neutral));
            kinds.push(p.kind.as_str());
        }
    }
    if f.form.is_some() {
        let mut all = arguments.into_iter();
        arguments = Vec::new();
        for (kind, number) in groups(&kinds) {
            let group: Vec<_> = all.by_ref().take(number).collect();
            arguments.push((group[0].0.clone(), kind.unwrap_or(group[0].1)));
        }
    }
    if f.tell_large {
        arguments.push(("large".into(), "bool"));
    }
    (arguments, returned)
}

/// The name of a parameter as a valid Rust identifier.
pub fn rust_name(name: &str) -> String {
    match name {
        "type" | "in" | "ref" | "fn" => format!("{name}_"),
        _ => name.to_lowercase(),
    }
}
