//! The two headers: what is declared, and what is defined and registered.

use super::names::{is_condition, prefixed};
use super::text::{Text, line};
use super::{index, messages, proxies, steps};
use crate::ast::{Chare, ChareKind, ChareMember, Initialiser, Item, Module, Readonly};

const MADE: &str = "// Made by towpath-charmc out of an interface file: change that instead.";

/// `NAME.decl.h`
pub(super) fn declarations(module: &Module) -> String {
    let mut out = Text::default();
    let name = &module.name;
    out.line(MADE);
    line!(out, "#ifndef CK_{name}_DECL_H\n#define CK_{name}_DECL_H");
    out.line("#include \"charm++.h\"");
    declare(&mut out, &module.items);
    line!(out, "void _register{name}();");
    out.line("#endif");
    out.into_string()
}

fn declare(out: &mut Text, items: &[Item]) {
    announce(out, items);
    for item in items {
        match item {
            Item::Include(file) => line!(out, "#include {file}"),
            Item::ExternModule(name) => line!(out, "#include \"{name}.decl.h\""),
            Item::Cpp(line) | Item::Directive(line) => out.line(line),
            Item::Namespace(name, items) => {
                line!(out, "namespace {name} {{");
                declare(out, items);
                out.line("}");
            }
            Item::Readonly(one) => declare_readonly(out, one),
            Item::Message(message) => messages::declare(out, message),
            Item::Chare(chare) => {
                index::declare(out, chare);
                proxies::declare(out, chare);
                steps::declare(out, chare);
            }
            Item::Initialiser(one) if !one.name.contains("::") => {
                line!(out, "void {}();", one.name);
            }
            Item::Initialiser(_) | Item::Instance(..) | Item::Pupable(_) => {}
        }
    }
}

/// Names of all chares, so that the order in the file does not matter.
fn announce(out: &mut Text, items: &[Item]) {
    for item in items {
        match item {
            Item::Chare(chare) => proxies::announce(out, chare),
            Item::Directive(line) if is_condition(line) => out.line(line),
            _ => {}
        }
    }
}

fn declare_readonly(out: &mut Text, one: &Readonly) {
    let Readonly { type_name, name, dimensions, is_message } = one;
    if !name.contains("::") {
        let star = if *is_message { "*" } else { "" };
        line!(out, "extern {type_name} {star}{name}{dimensions};");
    }
}

/// `NAME.def.h`
pub(super) fn definitions(module: &Module, file: &str) -> String {
    let mut out = Text::default();
    let output = format!("{}.def.h", module.name);
    out.line(MADE);
    out.line("#ifdef CK_TEMPLATES_ONLY");
    let mut definer = Definer { file, output: &output, templates: true };
    definer.define(&mut out, &module.items);
    out.line("#else");
    definer.templates = false;
    definer.define(&mut out, &module.items);
    line!(out, "void _register{}() {{", module.name);
    out.line("  static bool is_registered = false;");
    out.line("  if (is_registered)");
    out.line("    return;");
    out.line("  is_registered = true;");
    register(&mut out, &module.items, "");
    out.line("}");
    if module.is_main {
        out.line("#ifndef CK_NO_MAIN");
        out.line("int main(int argc, char **argv) {");
        line!(out, "  return ck::run(argc, argv, _register{});", module.name);
        out.line("}");
        out.line("#endif");
    }
    out.line("#endif");
    out.into_string()
}

/// Defines templates, or what is none.
struct Definer<'d> {
    file: &'d str,
    output: &'d str,
    templates: bool,
}

impl Definer<'_> {
    fn define(&self, out: &mut Text, items: &[Item]) {
        for item in items {
            match item {
                Item::Directive(line) if is_condition(line) => out.line(line),
                Item::Namespace(name, items) => {
                    line!(out, "namespace {name} {{");
                    self.define(out, items);
                    out.line("}");
                }
                Item::Message(message) if message.template.is_some() == self.templates => {
                    messages::define(out, message);
                }
                Item::Chare(chare) => self.define_chare(out, chare),
                _ => {}
            }
        }
    }

    fn define_chare(&self, out: &mut Text, chare: &Chare) {
        // Programs include the templates before their own, of which steps are members.
        if !self.templates {
            steps::define(out, chare, self.file, self.output);
        }
        if chare.template.is_some() == self.templates {
            index::define(out, chare);
            proxies::define(out, chare);
        }
    }
}

/// Registers what the module has; names are within a namespace.
fn register(out: &mut Text, items: &[Item], scope: &str) {
    for item in items {
        match item {
            Item::Directive(line) if is_condition(line) => out.line(line),
            Item::Namespace(name, items) => register(out, items, &format!("{scope}{name}::")),
            Item::ExternModule(name) => line!(out, "  _register{name}();"),
            Item::Readonly(one) => {
                let variable = format!("{scope}{}", one.name);
                let pup = if one.is_message {
                    format!("ck::pup_read_only_message(ck_p, {variable});")
                } else {
                    format!("ck_p | {variable};")
                };
                let list = "ck::Program::self().read_only";
                line!(out, "  {list}.push_back([](PUP::er &ck_p) {{ {pup} }});");
            }
            Item::Chare(chare) => register_chare(out, chare, scope),
            Item::Instance(_, name) => {
                let class = prefixed("CkIndex_", &format!("{scope}{name}"));
                line!(out, "  {class}::ck_register(\"{scope}{name}\");");
            }
            Item::Pupable(names) => register_pupable(out, names, scope),
            Item::Initialiser(one) => register_initialiser(out, one, scope),
            Item::Include(_) | Item::Cpp(_) | Item::Message(_) | Item::Directive(_) => {}
        }
    }
}

fn register_chare(out: &mut Text, chare: &Chare, scope: &str) {
    if chare.template.is_some() {
        return;
    }
    let name = format!("{scope}{}", chare.name);
    let index = prefixed("CkIndex_", &name);
    line!(out, "  {index}::ck_register(\"{name}\");");
    if chare.kind == ChareKind::MainChare {
        chare.each_entry(|listed| {
            if let super::names::Listed::Entry(number, entry) = listed
                && entry.is_constructor()
            {
                let list = "ck::Program::self().main_chares";
                line!(out, "  {list}.push_back(&{index}::ck_entry_{number});");
            }
        });
    }
    for member in &chare.members {
        match member {
            ChareMember::Initialiser(one) => register_initialiser(out, one, &format!("{name}::")),
            ChareMember::Pupable(names) => register_pupable(out, names, scope),
            ChareMember::Entry(_) | ChareMember::Directive(_) => {}
        }
    }
}

fn register_initialiser(out: &mut Text, one: &Initialiser, scope: &str) {
    let list = if one.is_early { "node_initialisers" } else { "initialisers" };
    line!(out, "  ck::Program::self().{list}.push_back({scope}{});", one.name);
}

fn register_pupable(out: &mut Text, names: &[String], scope: &str) {
    names.iter().for_each(|name| line!(out, "  {scope}{name}::ck_register();"));
}
