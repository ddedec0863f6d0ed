//! The switch, and the methods that give messages to it.

use super::super::text::{Text, line};
use super::code::StepProgram;
use super::has_steps;
use crate::ast::{Chare, Entry, EntryParameter};
use crate::triggers::is_same;

pub(super) fn define(out: &mut Text, chare: &Chare, all: &[&Entry], program: &StepProgram) {
    let (template, class) = (chare.template_line(), chare.class());
    line!(out, "{template}void {class}::ck_advance(ck::StepState &ck_state,");
    out.line("    const ck::StepThreadPointer &ck_thread) {");
    out.line("  for (;;) switch (ck_thread->at) {");
    program.cases.iter().for_each(|case| line!(out, "  {case}"));
    out.line("  default:");
    out.line("    ck::fail(\"a step does not exist\");");
    out.line("  }");
    out.line("}");
    define_packing(out, chare, program);
    let conditions = chare.conditions();
    for (number, entry) in all.iter().enumerate().filter(|(_, one)| has_steps(chare, one)) {
        conditions[number].around(out, |out| {
            define_taking(out, chare, number, all, program);
            define_method(out, chare, number, entry);
        });
    }
}

fn define_packing(out: &mut Text, chare: &Chare, program: &StepProgram) {
    let (template, class) = (chare.template_line(), chare.class());
    line!(out, "{template}std::shared_ptr<ck::StepScope> {class}::ck_make_scope(int ck_kind) {{");
    out.line("  switch (ck_kind) {");
    for kind in 0..program.scopes.len() {
        line!(out, "  case {kind}:");
        line!(out, "    return std::make_shared<ck_scope_{kind}>(nullptr);");
    }
    out.line("  default:");
    out.line("    ck::fail(\"packed steps are of another program\");");
    out.line("  }");
    out.line("}");
    line!(out, "{template}void {class}::ck_pup_steps(PUP::er &ck_p) {{");
    line!(out, "  CBase_{class}::ck_pup_steps(ck_p);");
    out.line("  ck_steps.pup(ck_p, ck_make_scope);");
    out.line("}");
}

/// What is done with a message that was kept.
fn define_taking(
    out: &mut Text,
    chare: &Chare,
    number: usize,
    all: &[&Entry],
    program: &StepProgram,
) {
    let entry = all[number];
    let (template, class) = (chare.template_line(), chare.class());
    line!(out, "{template}void {class}::ck_take_{number}(towpath_message ck_kept) {{");
    let Some((at, scope)) = program.begins[number] else {
        let found_by = match entry.parameters.list().first() {
            Some(EntryParameter { type_name, length: None, .. }) => {
                format!("ck::number_of<{type_name}>(ck_kept, {})", entry.parameters.has_posted())
            }
            _ => "ck_kept.reference".to_owned(),
        };
        let trigger = all.iter().position(|one| is_same(one, entry)).unwrap_or(number);
        line!(out, "  ck_steps.arrive(this, {trigger}, ck::Arrived(ck_kept, {found_by}));");
        out.line("}");
        return;
    };
    out.line("  ck::Arrived ck_message(ck_kept, 0);");
    let scope = match scope {
        Some(kind) => {
            format!("std::make_shared<ck_scope_{kind}>(nullptr, std::move(ck_message))")
        }
        None => "nullptr".to_owned(),
    };
    line!(out, "  ck_steps.start(this, {at}, {scope});");
    out.line("}");
}

/// The method itself, for calls within the chare.
fn define_method(out: &mut Text, chare: &Chare, number: usize, entry: &Entry) {
    let (template, class) = (chare.template_line(), chare.class());
    let Entry { name, parameters, .. } = entry;
    line!(out, "{template}void {class}::{name}({}) {{", parameters.received());
    let first = parameters.has_posted().then_some("ck::value(true)");
    line!(out, "  ck_take_{number}({});", parameters.own_message(first));
    out.line("}");
}
