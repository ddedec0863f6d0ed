//! `CkIndex_X`: the entry methods of a chare, and what runs when their messages arrive.

use super::names::{Listed, prefixed};
use super::text::{Text, line};
use super::{posts, steps};
use crate::ast::{ArrayTransfer, Attribute, Chare, ChareKind, Entry, EntryParameter, Parameters};

/// The class.
pub(super) fn declare(out: &mut Text, chare: &Chare) {
    let class = chare.class();
    line!(out, "{}class CkIndex_{} {{", chare.template_line(), chare.name);
    out.line("public:");
    out.line("  static inline towpath_type ck_type = {};");
    out.line("  static inline std::string ck_name;");
    if chare.is_array() {
        out.line("  static inline ck::EntryMethod ck_destroy;");
    }
    line!(out, "  static void ck_pup({class} *ck_object, PUP::er &ck_p);");
    line!(out, "  static Chare *ck_base({class} *ck_object);");
    out.line("  static void ck_register(const std::string &ck_chare);");
    chare.each_entry(|listed| match listed {
        Listed::Condition(condition) => out.line(condition),
        Listed::Entry(number, entry) => declare_entry(out, number, entry),
    });
    out.line("};");
}

fn declare_entry(out: &mut Text, number: usize, entry: &Entry) {
    if entry.has(Attribute::WhenIdle) {
        line!(out, "  static bool ck_idle_{number}(Chare *ck_object);");
        let name = &entry.name;
        line!(out, "  static int {name}() {{ return ck::idle_method<ck_idle_{number}>(); }}");
    }
    if entry.has(Attribute::Local) {
        return;
    }
    line!(out, "  static inline ck::EntryMethod ck_entry_{number};");
    if entry.is_constructor() {
        line!(out, "  static Chare *ck_call_{number}(const ck::Call &ck_call);");
        return;
    }
    line!(out, "  static void ck_call_{number}(const ck::Call &ck_call);");
    let Entry { name, parameters, .. } = entry;
    let value = format!("{{ return static_cast<int>(ck_entry_{number}.c.number); }}");
    line!(out, "  static int {name}({}) {value}", unnamed(parameters));
    if entry.has(Attribute::ReductionTarget) {
        line!(out, "  static int redn_wrapper_{name}(CkReductionMsg *) {value}");
    }
}

/// The types of parameters alone.
fn unnamed(parameters: &Parameters) -> String {
    match parameters {
        Parameters::Message(type_name, _) => format!("{type_name} *"),
        Parameters::Marshalled(list) => {
            let each = list.iter().map(|one| match (&one.length, one.transfer) {
                (None, _) => format!("const {} &", one.type_name),
                (Some(_), ArrayTransfer::Copied) => format!("const {} *", one.type_name),
                (Some(_), ArrayTransfer::NoCopyDevice) => "const CkDeviceBuffer &".to_owned(),
                (Some(_), _) => "const CkNcpyBuffer &".to_owned(),
            });
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The functions of the class.
pub(super) fn define(out: &mut Text, chare: &Chare) {
    let (class, index) = (chare.class(), chare.generated("CkIndex_"));
    let template = chare.template_line();
    line!(out, "{template}void {index}::ck_pup({class} *ck_object, PUP::er &ck_p) {{");
    for base in &chare.bases {
        let base_index = prefixed("CkIndex_", base);
        line!(out, "  {base_index}::ck_pup(static_cast<{base} *>(ck_object), ck_p);");
    }
    line!(out, "  if constexpr (ck::OwnPup<{class}>::value)");
    line!(out, "    ck_object->{class}::pup(ck_p);");
    out.line("}");
    line!(out, "{template}Chare *{index}::ck_base({class} *ck_object) {{");
    match chare.bases.first() {
        Some(base) => {
            let base_index = prefixed("CkIndex_", base);
            line!(out, "  return {base_index}::ck_base(ck_object);");
        }
        None => out.line("  return ck_object;"),
    }
    out.line("}");
    chare.each_entry(|listed| match listed {
        Listed::Condition(condition) => out.line(condition),
        Listed::Entry(number, entry) if entry.is_constructor() => {
            define_constructor(out, chare, number, entry);
        }
        Listed::Entry(number, entry) if entry.has(Attribute::WhenIdle) => {
            let (class, name) = (chare.class(), &entry.name);
            line!(out, "{template}bool {index}::ck_idle_{number}(Chare *ck_object) {{");
            let chare = format!("ck::idle_chare<{class}>(ck_object, \"{class}::{name}\")");
            line!(out, "  return {chare}->{name}();");
            out.line("}");
        }
        Listed::Entry(_, entry) if entry.has(Attribute::Local) => {}
        Listed::Entry(number, entry) => define_entry(out, chare, number, entry),
    });
    define_registration(out, chare);
}

fn define_registration(out: &mut Text, chare: &Chare) {
    let (class, index) = (chare.class(), chare.generated("CkIndex_"));
    let template = chare.template_line();
    line!(out, "{template}void {index}::ck_register(const std::string &ck_chare) {{");
    line!(out, "  ck::register_type<{class}, {index}>(ck_type, ck_name, ck_chare);");
    if chare.is_array() {
        let named = "ck_chare + \"::ckDestroy\"";
        line!(out, "  ck::register_method<ck::destroy_element>(ck_destroy, {named}, 0, 0);");
    }
    chare.each_entry(|listed| match listed {
        Listed::Condition(condition) => out.line(condition),
        // No message invokes it.
        Listed::Entry(_, entry) if entry.has(Attribute::Local) => {}
        Listed::Entry(number, entry) => {
            let name = &entry.name;
            let named = format!("ck_chare + \"::{name}({})\"", entry.parameters.signature());
            let both = format!("<ck_call_{number}>(ck_entry_{number}, {named}");
            if entry.is_constructor() {
                line!(out, "  ck::register_constructor{both}, ck_type);");
                return;
            }
            let passes = entry.has(Attribute::Expedited) || entry.has(Attribute::Immediate);
            let send = if passes { "TOWPATH_EXPEDITED" } else { "0" };
            let threaded = if entry.has(Attribute::Threaded) { "TOWPATH_THREADED" } else { "0" };
            line!(out, "  ck::register_method{both}, {send}, {threaded});");
        }
    });
    out.line("}");
}

fn define_constructor(out: &mut Text, chare: &Chare, number: usize, entry: &Entry) {
    let (class, index) = (chare.class(), chare.generated("CkIndex_"));
    let template = chare.template_line();
    line!(out, "{template}Chare *{index}::ck_call_{number}(const ck::Call &ck_call) {{");
    let arguments = match &entry.parameters {
        Parameters::Message(message, _) if message == "CkArgMsg" => "ck::arguments()".to_owned(),
        Parameters::Message(message, _) => format!("ck_call.take<{message}>()"),
        Parameters::Marshalled(list) => {
            if !list.is_empty() {
                out.line("  ck::Unmarshaller ck_in(*ck_call.message);");
            }
            entry.parameters.read("ck_in").iter().for_each(|read| line!(out, "  {read}"));
            entry.parameters.handed()
        }
    };
    let made = called(&format!("new {class}"), &entry.parameters, &arguments);
    line!(out, "  Chare *ck_made = ck_base({made});");
    if chare.kind == ChareKind::MainChare {
        out.line("  ck::main_chare_made();");
    } else {
        out.line("  static_cast<void>(ck_call);");
    }
    out.line("  return ck_made;");
    out.line("}");
}

fn define_entry(out: &mut Text, chare: &Chare, number: usize, entry: &Entry) {
    let index = chare.generated("CkIndex_");
    let template = chare.template_line();
    line!(out, "{template}void {index}::ck_call_{number}(const ck::Call &ck_call) {{");
    if entry.parameters.has_posted() {
        posts::define(out, chare, number, entry);
        out.line("  towpath_unpin(ck_call.id);");
    }
    if steps::has_steps(chare, entry) {
        let class = chare.class();
        line!(out, "  ck_call.object<{class}>()->ck_take_{number}(ck::kept(ck_call.message));");
    } else {
        match &entry.parameters {
            Parameters::Message(message, _) => {
                let message = if entry.has(Attribute::NoKeep) {
                    format!("ck_call.look<{message}>().get()")
                } else {
                    format!("ck_call.take<{message}>()")
                };
                if entry.has(Attribute::Sync) {
                    out.line("  const ck::ReplyTo ck_to = ck_call.reply_to();");
                }
                call(out, chare, entry, &message);
            }
            Parameters::Marshalled(_) => call_with_values(out, chare, entry),
        }
    }
    out.line("}");
}

fn call_with_values(out: &mut Text, chare: &Chare, entry: &Entry) {
    let parameters = &entry.parameters;
    let is_empty = parameters.list().is_empty();
    if entry.has(Attribute::ReductionTarget) && !is_empty {
        out.line("  if (ck_call.has_result()) {");
        out.line("  ck::ResultReader ck_result(*ck_call.message);");
        parameters.read_result().iter().for_each(|read| line!(out, "  {read}"));
        call(out, chare, entry, &parameters.handed());
        out.line("  return;");
        out.line("  }");
    }
    let is_sync = entry.has(Attribute::Sync);
    if !is_empty || is_sync {
        out.line("  ck::Unmarshaller ck_in(*ck_call.message);");
    }
    if entry.parameters.has_posted() {
        out.line("  ck_in.value<bool>();");
    }
    if is_sync {
        out.line("  const auto ck_to = ck_in.value<ck::ReplyTo>();");
    }
    parameters.read("ck_in").iter().for_each(|read| line!(out, "  {read}"));
    call(out, chare, entry, &parameters.handed());
}

/// A call of a method or constructor. Arrays become what it declares.
fn called(method: &str, parameters: &Parameters, arguments: &str) -> String {
    let is_converted = |one: &EntryParameter| one.length.is_some() && !one.transfer.is_posted();
    if !parameters.list().iter().any(is_converted) {
        return format!("{method}({arguments})");
    }
    let forwarded = format!("{method}(std::forward<decltype(ck_values)>(ck_values)...)");
    format!(
        "ck::apply([&](auto &&...ck_values) -> decltype({forwarded}) {{ return {forwarded}; }}, \
         {arguments})"
    )
}

/// Calls the method of the chare, and answers if somebody waits.
fn call(out: &mut Text, chare: &Chare, entry: &Entry, arguments: &str) {
    let object = format!("ck_call.object<{}>()->{}", chare.class(), entry.name);
    let called = called(&object, &entry.parameters, arguments);
    let returns_nothing = entry.returns.as_deref() == Some("void");
    match (entry.has(Attribute::Sync), returns_nothing) {
        (true, false) => line!(out, "  ck::reply_value(ck_to, {called});"),
        (true, true) => line!(out, "  {called};\n  ck::reply(ck_to, nullptr, 0);"),
        (false, _) => line!(out, "  {called};"),
    }
}
