//! Writes the bindings of an ABI, one file per chapter.
//!
//! The text is the same for both ABIs. They differ in the functions that the text calls (`comm_in`,
//! `rank_out`, ...) and in the C types, which each ABI crate defines by hand.

use std::fmt::Write;

use crate::api::{Abi, Api, Direction, Form, Function, Parameter};
use crate::kinds;

/// The file of one chapter; `None` if the ABI has no generated function of that chapter.
pub fn chapter(api: &Api, abi: Abi, chapter: &str) -> Option<String> {
    let mut functions = String::new();
    for (index, f) in api.functions.iter().enumerate() {
        if f.chapter != chapter || f.special || !f.in_abi(abi) {
            continue;
        }
        let number = index + 1;
        functions.push_str(&function(f, number, false));
        if f.has_large(abi) {
            functions.push_str(&function(f, number, true));
        }
    }
    if functions.is_empty() {
        return None;
    }
    Some(format!(
        "//! {}.\n//!\n//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.\n\n\
         #![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]\n\n\
         use crate::prelude::*;\n\n{functions}",
        api.chapters[chapter]
    ))
}

/// Rust type of a parameter in the C signature.
pub fn c_type(p: &Parameter, large: bool) -> String {
    let pointer = |to: &str| match p.direction {
        Direction::In => format!("*const {to}"),
        _ => format!("*mut {to}"),
    };
    let scalar = |t: &str| match p.direction {
        Direction::In => t.to_string(),
        _ => format!("*mut {t}"),
    };
    let width = |(small, wide): (&'static str, &'static str)| {
        if if large { wide } else { small } == "int" { "c_int" } else { "i64" }
    };
    let kind = p.kind.as_str();
    if let Some((c, _)) = kinds::handle(kind) {
        scalar(c)
    } else if let Some((c, _)) = kinds::handle_array(kind) {
        pointer(c)
    } else if let Some(widths) = kinds::number(kind) {
        scalar(width(widths))
    } else if let Some(widths) = kinds::array(kind) {
        pointer(width(widths))
    } else if kinds::is_int(kind) || kind == "logical" || kind == "length" {
        scalar("c_int")
    } else if kinds::is_callback(kind) {
        "*const c_void".into()
    } else {
        match kind {
            "status" | "statuses" => pointer("MPI_Status"),
            "buffer" | "address" => pointer("c_void"),
            "pointer" | "attribute" => "*mut c_void".into(),
            "string" => pointer("c_char"),
            "strings" => "*const *const c_char".into(),
            "string_arrays" => "*const *const *const c_char".into(),
            "argc" => "*mut c_int".into(),
            "argv" => "*mut *mut *mut c_char".into(),
            "double" => "f64".into(),
            _ => scalar("*mut c_void"),
        }
    }
}

/// Replaces the modules that stand for invocations of `export!` by those. rustfmt formats no text
/// inside a macro, so it gets each invocation as a module with a function.
pub fn exported(formatted: &str) -> String {
    let line = |line: &str| match line.strip_prefix("    fn PMPI") {
        Some(rest) => format!("    PMPI{}\n", rest.replacen("__", ", ", 1)),
        None => format!("{line}\n"),
    };
    formatted.replace("\nmod export {\n", "\nexport! {\n").lines().map(line).collect()
}

fn function(f: &Function, number: usize, large: bool) -> String {
    let suffix = if large { "_c" } else { "" };
    let mut arguments = String::new();
    for p in f.parameters.iter().filter(|p| large || !p.large_only) {
        let _ = write!(arguments, "{}: {}, ", kinds::rust_name(&p.name), c_type(p, large));
    }
    let arguments = arguments.trim_end_matches(", ");
    let wrapper = if f.any_time { "call_any_time" } else { "call" };
    let mut text =
        format!("mod export {{\n    fn P{0}{suffix}__{0}{suffix}({arguments}) {{\n", f.name);
    let (before, target) = target(f);
    text.push_str(&before);
    let _ = writeln!(text, "        let owner = || {target};");
    if f.built {
        let body = Statements { f, large };
        let _ = write!(
            text,
            "        {wrapper}({number}, owner, || {{\n\
             \x20           // SAFETY: the program's pointers point to what their parameters mean.\n\
             \x20           unsafe {{\n{}            }}\n        }})\n",
            body.text()
        );
    } else {
        let _ = writeln!(text, "        {wrapper}({number}, owner, || Err(not_built()))");
    }
    text.push_str("    }\n}\n\n");
    text
}

/// Code for the object whose error handler is invoked: a statement before the call, and the
/// expression for the object.
fn target(f: &Function) -> (String, String) {
    for (kind, name) in [("comm", "Comm"), ("win", "Win"), ("file", "File"), ("session", "Session")]
    {
        let found = f.parameters.iter().find(|p| p.kind == kind && p.direction != Direction::Out);
        if let Some(p) = found {
            let variable = kinds::rust_name(&p.name);
            if p.direction == Direction::In {
                return (String::new(), format!("ErrhandlerOwner::{name}({kind}_in({variable}))"));
            }
            let before = format!(
                "        // SAFETY: NULL or the program's variable.\n        let at = unsafe {{ {kind}_at({variable}) }};\n"
            );
            return (before, format!("ErrhandlerOwner::{name}(at)"));
        }
    }
    (String::new(), "ErrhandlerOwner::None".into())
}

/// An array argument, with its length if another argument gives it.
fn with_length(p: &Parameter, array: String) -> String {
    let times = if p.kind == "ranges" { "3 * " } else { "" };
    match &p.length {
        Some(length) => format!("{array}.with_length({times}i64::from({length}))"),
        None => array,
    }
}

/// The statement that writes the results of the body to the program's variables.
fn delivery(results: &str, writes: &str, nulls: &str) -> String {
    format!(
        "                deliver(outcome, |{results}| {{\n{writes}                }}, || {{{nulls}}})\n"
    )
}

/// The statements that convert the C arguments, call the body and convert its results.
struct Statements<'a> {
    f: &'a Function,
    large: bool,
}

impl Statements<'_> {
    fn text(&self) -> String {
        let mut before = String::new();
        let mut arguments = Vec::new();
        let mut after_all = String::new();
        let mut returned = Vec::new();
        let mut after = String::new();
        let mut nulls = String::new();
        let flag =
            self.f.parameters.iter().any(|p| p.name == "flag" && p.direction == Direction::Out);
        for p in &self.f.parameters {
            let name = kinds::rust_name(&p.name);
            let absent = p.large_only && !self.large;
            if self.must_exist(p) && !absent {
                let _ = writeln!(before, "                require({name}, \"{}\")?;", p.name);
            }
            if p.kind == "length" {
                continue;
            }
            if kinds::is_returned(p) {
                if absent {
                    returned.push("_".to_string());
                    continue;
                }
                returned.push(format!("v_{name}"));
                let conditional = flag
                    && matches!(p.kind.as_str(), "status" | "message" | "string" | "attribute");
                let write = self.write(p, &name);
                let write = if conditional { format!("if v_flag {{ {write} }}") } else { write };
                let _ = writeln!(after, "                    {write}");
                if let Some(null) = self.null(p, &name) {
                    let _ = write!(nulls, " {null} ");
                }
            } else if absent {
                arguments.push(if kinds::array(&p.kind).is_some() {
                    "IntegersMut::large(std::ptr::null_mut())".to_string()
                } else {
                    "0".to_string()
                });
            } else {
                arguments.push(self.argument(p, &name, &mut before, &mut after_all));
            }
        }
        if self.f.tell_large {
            arguments.push(self.large.to_string());
        }
        let call = self.call(arguments);
        let mut text = before;
        if returned.is_empty() && after_all.is_empty() {
            let _ = writeln!(text, "                {call}?;");
        } else {
            let _ = write!(text, "                let outcome = {call};\n{after_all}");
        }
        match returned.len() {
            0 if after_all.is_empty() => {}
            0 => text.push_str("                outcome?;\n"),
            1 => text.push_str(&delivery(&returned[0], &after, &nulls)),
            _ => text.push_str(&delivery(&format!("({})", returned.join(", ")), &after, &nulls)),
        }
        if self.f.name == "MPI_Type_get_contents" {
            // Depending on the combiner, some of the ints are constants, which differ between the
            // ABIs.
            text.push_str(
                "                let (filled, _, _, _, combiner) = towpath_mpi::datatypes::type_get_envelope(datatype_in(datatype), true)?;\n\
                 \x20               contents_put(combiner, array_of_integers, filled.min(i64::from(max_integers)));\n",
            );
        }
        if returned.is_empty() {
            text.push_str("                Ok(())\n");
        }
        text
    }

    /// The arguments, with those that describe data together in one.
    fn grouped(&self, arguments: Vec<String>) -> Vec<String> {
        let passed = self.f.parameters.iter().filter(|p| !kinds::is_returned(p));
        let kinds: Vec<&str> = passed.map(|p| p.kind.as_str()).collect();
        let mut rest = arguments.into_iter();
        let together = |(kind, number): (Option<&str>, usize)| {
            let group = rest.by_ref().take(number).collect::<Vec<_>>().join(", ");
            match kind {
                Some(kind) => format!("{kind}::new({group})"),
                None => group,
            }
        };
        kinds::groups(&kinds).into_iter().map(together).collect()
    }

    /// The expression that calls the body.
    fn call(&self, mut arguments: Vec<String>) -> String {
        if self.f.form.is_some() {
            arguments = self.grouped(arguments);
        }
        let kept = match self.f.form {
            // The last argument, the info object, belongs to the request and not to the call.
            Some(Form::Keep) => arguments.pop(),
            _ => None,
        };
        let call =
            format!("towpath_mpi::{}::{}({})", self.f.chapter, self.f.body, arguments.join(", "));
        match (self.f.form, kept) {
            (None, _) => call,
            (Some(Form::Wait), _) => format!("{call}?.wait()"),
            (Some(_), None) => format!("{call}.and_then(|prepared| prepared.begin())"),
            (Some(_), Some(info)) => format!("{call}.and_then(|prepared| prepared.keep({info}))"),
        }
    }

    /// The statement that sets a new handle to null if the call fails.
    fn null(&self, p: &Parameter, name: &str) -> Option<String> {
        kinds::handle(&p.kind)?;
        let constant = format!("{}_NULL", p.kind.to_uppercase());
        let null = format!("{}_out(towpath_mpi::constants::{constant})", p.kind);
        Some(self.assign(name, &null))
    }

    fn assign(&self, name: &str, value: &str) -> String {
        if self.f.chapter == "tools" {
            format!("put({name}, {value});")
        } else {
            format!("*{name} = {value};")
        }
    }

    /// True if the binding must reject NULL for this parameter.
    fn must_exist(&self, p: &Parameter) -> bool {
        if p.direction == Direction::In
            || p.direction == Direction::InMutable
            || self.f.chapter == "tools"
        {
            return false;
        }
        kinds::handle(&p.kind).is_some()
            || kinds::number(&p.kind).is_some()
            || kinds::is_int(&p.kind)
            || matches!(p.kind.as_str(), "logical" | "length" | "string" | "pointer" | "attribute")
    }

    /// The expression for one argument of the body.
    fn argument(
        &self,
        p: &Parameter,
        name: &str,
        before: &mut String,
        after: &mut String,
    ) -> String {
        let kind = p.kind.as_str();
        let inout = p.direction == Direction::InOut;
        let changed = |before: &mut String, after: &mut String, read: String, write: String| {
            let _ = writeln!(before, "                let mut v_{name} = {read};");
            let _ = writeln!(after, "                {write}");
            format!("&mut v_{name}")
        };
        if kinds::handle(kind).is_some() {
            if inout {
                return changed(
                    before,
                    after,
                    format!("{kind}_in(*{name})"),
                    format!("*{name} = {kind}_out(v_{name});"),
                );
            }
            return format!("{kind}_in({name})");
        }
        if let Some((_, core)) = kinds::handle_array(kind) {
            let array = format!("HandleArray::new({name}.cast(), &ABI, Kind::{core})");
            return with_length(p, array);
        }
        if kinds::number(kind).is_some() {
            let special =
                if kind == "view_displacement" { "view_displacement_in" } else { "i64::from" };
            if inout {
                let write = if self.is_narrow(p) {
                    format!("*{name} = count_to_int(v_{name});")
                } else {
                    format!("*{name} = v_{name};")
                };
                return changed(before, after, format!("i64::from(*{name})"), write);
            }
            return format!("{special}({name})");
        }
        if kinds::array(kind).is_some() {
            return self.array(p, name, before, after);
        }
        if kinds::is_translated_int(kind) {
            if inout {
                return changed(
                    before,
                    after,
                    format!("{kind}_in(*{name})"),
                    format!("*{name} = {kind}_out(v_{name});"),
                );
            }
            return format!("{kind}_in({name})");
        }
        if kinds::is_callback(kind) {
            return format!("callback_in({name})");
        }
        match kind {
            "status" if inout => changed(
                before,
                after,
                format!("status_in({name})?"),
                format!("status_put_whole({name}, &v_{name});"),
            ),
            "status" => format!("status_in({name})?"),
            "statuses" => with_length(p, format!("statuses({name})")),
            "string" => format!("StringArgument::new({name})"),
            "buffer" if p.direction == Direction::In => format!("buffer_in({name})"),
            "buffer" => format!("buffer_in({name}).cast_mut()"),
            "logical" => format!("{name} != 0"),
            _ if inout && (kinds::is_opaque(kind) || kinds::is_int(kind)) => {
                changed(before, after, format!("*{name}"), format!("*{name} = v_{name};"))
            }
            _ => name.to_string(),
        }
    }

    fn is_narrow(&self, p: &Parameter) -> bool {
        let widths = kinds::number(&p.kind).or_else(|| kinds::array(&p.kind)).unwrap_or(("", ""));
        if self.large { widths.1 == "int" } else { widths.0 == "int" }
    }

    fn array(&self, p: &Parameter, name: &str, before: &mut String, after: &mut String) -> String {
        let kind = p.kind.as_str();
        let input = p.direction == Direction::In || p.direction == Direction::InMutable;
        if let Some(length) = p.length.as_ref().filter(|_| kinds::is_translated_array(kind)) {
            if input {
                let _ =
                    writeln!(before, "                let v_{name} = {kind}_in({name}, {length});");
            } else {
                let _ = writeln!(
                    before,
                    "                let mut v_{name} = {kind}_out({name}, {length});"
                );
                let _ = writeln!(after, "                v_{name}.finish();");
            }
            return format!("v_{name}.integers()");
        }
        if kind == "weights" {
            return with_length(p, format!("weights_{}({name})", if input { "in" } else { "out" }));
        }
        let reader = if input { "Integers" } else { "IntegersMut" };
        let width = if self.is_narrow(p) { "small" } else { "large" };
        let cast = if kind == "ranges" { ".cast()" } else { "" };
        with_length(p, format!("{reader}::{width}({name}{cast})"))
    }

    /// The statement that writes a returned value.
    fn write(&self, p: &Parameter, name: &str) -> String {
        let kind = p.kind.as_str();
        let assign = |value: String| self.assign(name, &value);
        if kinds::handle(kind).is_some() || kinds::is_translated_int(kind) {
            return assign(format!("{kind}_out(v_{name})"));
        }
        if kinds::number(kind).is_some() {
            return assign(if self.is_narrow(p) {
                format!("count_to_int(v_{name})")
            } else {
                format!("v_{name}")
            });
        }
        match kind {
            "logical" => assign(format!("c_int::from(v_{name})")),
            "status" => format!("status_put({name}, &v_{name});"),
            "pointer" => format!("{name}.cast::<*mut c_void>().write(buffer_out(v_{name}));"),
            "attribute" => {
                let key = self
                    .f
                    .parameters
                    .iter()
                    .find(|p| p.kind == "keyval")
                    .expect("an attribute has a key");
                let key = kinds::rust_name(&key.name);
                format!(
                    "{name}.cast::<*mut c_void>().write(attribute_out(keyval_in({key}), v_{name}));"
                )
            }
            "string" => self.write_string(p, name),
            _ => assign(format!("v_{name}")),
        }
    }

    fn write_string(&self, p: &Parameter, name: &str) -> String {
        if let Some(max) = &p.max {
            let length = self.f.parameters.iter().find(|p| p.kind == "length");
            let put = format!("put_string({name}, limits::{max}, &v_{name})");
            return match length {
                Some(length) => format!("*{} = {put};", kinds::rust_name(&length.name)),
                None => format!("{put};"),
            };
        }
        let room = p.room.as_ref().expect("a string out has a room");
        let parameter =
            self.f.parameters.iter().find(|q| &q.name == room).expect("the room is a parameter");
        let room = kinds::rust_name(room);
        if parameter.direction == Direction::In {
            format!("put_string({name}, room({room}), &v_{name});")
        } else {
            format!("put_string_with_length({name}, {room}, &v_{name});")
        }
    }
}
