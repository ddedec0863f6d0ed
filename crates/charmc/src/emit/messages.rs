//! `CMessage_M`: how messages of a type are made, and prepared for their journey.

use super::names::template_line;
use super::text::{Text, line};
use crate::ast::MessageType;

fn class(message: &MessageType) -> String {
    let arguments = message.template.as_ref().map(|one| format!("<{}>", one.names));
    format!("{}{}", message.name, arguments.unwrap_or_default())
}

/// Whether it is of a template, which says all.
fn is_instance(message: &MessageType) -> bool {
    message.name.contains('<')
}

/// The class from which the program's class inherits.
pub(super) fn declare(out: &mut Text, message: &MessageType) {
    if is_instance(message) {
        return;
    }
    let (name, class) = (&message.name, class(message));
    let template = template_line(message.template.as_ref());
    line!(out, "{template}class {name};");
    line!(out, "{template}class CMessage_{name} : public ck::MessageOf<{class}> {{");
    out.line("public:");
    line!(out, "  static void *pack({class} *ck_message);");
    line!(out, "  static {class} *unpack(void *ck_packed);");
    if !message.arrays.is_empty() {
        line!(out, "  CMessage_{name}();");
        out.line("  static void *operator new(std::size_t ck_bytes);");
        out.line(
            "  static void *operator new(std::size_t ck_bytes, const int *ck_lengths, \
             int ck_priority_bits = 0);",
        );
        out.line("  static void operator delete(void *ck_object) { ck::free_message(ck_object); }");
        let free = "{ ck::free_message(ck_object); }";
        line!(out, "  static void operator delete(void *ck_object, const int *, int) {free}");
        for lengths in forms(message) {
            let types = vec!["int"; lengths.len()].join(", ");
            line!(out, "  static void *operator new(std::size_t ck_bytes, {types});");
            line!(out, "  static void operator delete(void *ck_object, {types}) {free}");
        }
    }
    out.line("};");
}

/// With the lengths of all arrays, and the bits of a priority after them.
fn forms(message: &MessageType) -> [Vec<String>; 2] {
    let count = message.arrays.len();
    let lengths: Vec<String> = (0..count).map(|i| format!("ck_length{i}")).collect();
    let mut with_priority = lengths.clone();
    with_priority.push("ck_priority_bits".to_owned());
    [lengths, with_priority]
}

fn parameters(names: &[String]) -> String {
    names.iter().map(|name| format!("int {name}")).collect::<Vec<_>>().join(", ")
}

/// The functions of the class.
pub(super) fn define(out: &mut Text, message: &MessageType) {
    if is_instance(message) {
        return;
    }
    let (name, class) = (&message.name, class(message));
    let template = template_line(message.template.as_ref());
    let arguments = &class[message.name.len()..];
    let base = format!("CMessage_{name}{arguments}");
    for (function, how) in [("pack", "pack_pointer"), ("unpack", "unpack_pointer")] {
        if function == "pack" {
            line!(out, "{template}void *{base}::pack({class} *ck_message) {{");
        } else {
            line!(out, "{template}{class} *{base}::unpack(void *ck_packed) {{");
            line!(out, "  auto *ck_message = static_cast<{class} *>(ck_packed);");
        }
        for array in &message.arrays {
            line!(out, "  ck::{how}(ck_message, ck_message->{});", array.name);
        }
        out.line("  return ck_message;");
        out.line("}");
    }
    if message.arrays.is_empty() {
        return;
    }
    line!(out, "{template}{base}::CMessage_{name}() {{");
    line!(out, "  auto *ck_message = static_cast<{class} *>(this);");
    for (i, array) in message.arrays.iter().enumerate() {
        line!(out, "  ck::place_array(ck_message, {i}, ck_message->{});", array.name);
    }
    out.line("}");
    let types: Vec<&str> = message.arrays.iter().map(|one| one.type_name.as_str()).collect();
    let types = types.join(", ");
    let count = message.arrays.len();
    let allocated = format!("return ck::allocate_with_arrays<{types}>(ck_bytes, ");
    line!(out, "{template}void *{base}::operator new(std::size_t ck_bytes) {{");
    line!(out, "  const int ck_none[{count}] = {{}};");
    line!(out, "  {allocated}ck_none);");
    out.line("}");
    line!(
        out,
        "{template}void *{base}::operator new(std::size_t ck_bytes, const int *ck_lengths, int \
         ck_priority_bits) {{"
    );
    line!(out, "  {allocated}ck_lengths, ck_priority_bits);");
    out.line("}");
    let [lengths, with_priority] = forms(message);
    for (all, priority) in [(&lengths, "0"), (&with_priority, "ck_priority_bits")] {
        let list = parameters(all);
        line!(out, "{template}void *{base}::operator new(std::size_t ck_bytes, {list}) {{");
        line!(out, "  const int ck_lengths[] = {{{}}};", lengths.join(", "));
        line!(out, "  {allocated}ck_lengths, {priority});");
        out.line("}");
    }
}
