//! Entry methods whose steps the interface file has: a class's steps are the cases of one switch.

mod code;
mod methods;

use super::text::{Text, line};
use crate::ast::{Chare, Entry, EntryParameter, Parameters, Statement, When};
use crate::triggers::{entries, find_entry, is_same};
use code::{StepKind, StepProgram};

/// Whether this method has steps, or is one that steps of the chare wait for.
pub(super) fn has_steps(chare: &Chare, entry: &Entry) -> bool {
    if entry.body.is_some() {
        return true;
    }
    let all: Vec<&Entry> = entries(&chare.members).collect();
    let mut waited = Vec::new();
    for body in all.iter().filter_map(|one| one.body.as_ref()) {
        triggers(body, &mut |when| {
            for trigger in &when.triggers {
                waited.extend(find_entry(&all, trigger).map(|(_, entry)| entry));
            }
        });
    }
    waited.iter().any(|one| is_same(one, entry))
}

/// Calls a function with each `when` of a statement.
fn triggers(statement: &Statement, found: &mut impl FnMut(&When)) {
    match statement {
        Statement::Serial(_) => {}
        Statement::Sequence(list) | Statement::Overlap(list) => {
            list.iter().for_each(|one| triggers(one, found));
        }
        Statement::When(when) => {
            found(when);
            triggers(&when.body, found);
        }
        Statement::Case(list) => list.iter().for_each(|when| {
            found(when);
            triggers(&when.body, found);
        }),
        Statement::For(_, _, _, body)
        | Statement::While(_, body)
        | Statement::ForAll(_, _, _, _, body) => triggers(body, found),
        Statement::If(_, then, otherwise) => {
            triggers(then, found);
            triggers(otherwise, found);
        }
    }
}

/// A kind of scope: the variables of parameters, or of `forall`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ScopeVariables {
    /// And whether they may be those of a result.
    Parameters(Parameters, bool),
    Counter(String),
}

impl ScopeVariables {
    fn names(&self) -> Vec<&str> {
        match self {
            ScopeVariables::Parameters(Parameters::Message(_, name), _)
            | ScopeVariables::Counter(name) => {
                vec![name]
            }
            ScopeVariables::Parameters(Parameters::Marshalled(list), _) => {
                list.iter().map(|one| one.name.as_str()).collect()
            }
        }
    }
}

/// The macro with the members that the class gets.
pub(super) fn declare(out: &mut Text, chare: &Chare) {
    let all: Vec<&Entry> = entries(&chare.members).collect();
    let program = StepProgram::of(&all);
    let mut members = vec!["public:".to_owned()];
    if !program.is_empty() {
        let conditions = chare.conditions();
        for (number, entry) in all.iter().enumerate().filter(|(_, one)| has_steps(chare, one)) {
            let methods = format!(
                "void {}({}); void ck_take_{number}(towpath_message ck_kept);",
                entry.name,
                entry.parameters.received()
            );
            members.push(if conditions[number].is_empty() {
                methods
            } else {
                // A macro contains no condition.
                let name = format!("{}_SDAG_CODE_{number}", chare.name);
                conditions[number].around(out, |out| line!(out, "#define {name} {methods}"));
                line!(out, "#ifndef {name}\n#define {name}\n#endif");
                name
            });
        }
        for kind in 0..program.scopes.len() {
            members.push(format!("struct ck_scope_{kind};"));
        }
        for (number, step) in program.steps.iter().enumerate() {
            let returns = step.kind.returns();
            members.push(format!("{returns} ck_step_{number}(ck::StepScope *ck_scope);"));
        }
        members.extend(
            [
                "void ck_advance(ck::StepState &ck_state, const ck::StepThreadPointer &ck_thread);",
                "static std::shared_ptr<ck::StepScope> ck_make_scope(int ck_kind);",
                "void ck_pup_steps(PUP::er &ck_p) override;",
            ]
            .map(str::to_owned),
        );
        members.push(format!("ck::Steps ck_steps{{{}}};", all.len().max(1)));
    }
    line!(out, "#define {}_SDAG_CODE \\\n  {}", chare.name, members.join(" \\\n  "));
}

/// The functions that the macro has declared.
pub(super) fn define(out: &mut Text, chare: &Chare, file: &str, output: &str) {
    let all: Vec<&Entry> = entries(&chare.members).collect();
    let program = StepProgram::of(&all);
    if program.is_empty() {
        return;
    }
    for (kind, variables) in program.scopes.iter().enumerate() {
        define_scope(out, chare, kind, variables);
    }
    for (number, step) in program.steps.iter().enumerate() {
        let (template, class) = (chare.template_line(), chare.class());
        let returns = step.kind.returns();
        line!(out, "{template}{returns} {class}::ck_step_{number}(ck::StepScope *ck_scope) {{");
        out.line("  static_cast<void>(ck_scope);");
        for line in program.variables(&step.scopes) {
            out.line(line);
        }
        line!(out, "#line {} \"{file}\"", step.code.line);
        match step.kind {
            StepKind::Statement => line!(out, "{{{}}}", step.code.text),
            StepKind::Expression => line!(out, "{};", step.code.text),
            StepKind::Condition | StepKind::Number => line!(out, "return ({});", step.code.text),
        }
        line!(out, "#line {} \"{output}\"", out.next_line() + 1);
        out.line("}");
    }
    methods::define(out, chare, &all, &program);
}

fn define_scope(out: &mut Text, chare: &Chare, kind: usize, variables: &ScopeVariables) {
    let (template, class) = (chare.template_line(), chare.class());
    line!(out, "{template}struct {class}::ck_scope_{kind} : ck::StepScope {{");
    line!(out, "  int kind() const override {{ return {kind}; }}");
    line!(out, "  explicit ck_scope_{kind}(std::shared_ptr<ck::StepScope> outer)");
    out.line("      : ck::StepScope(std::move(outer)) {}");
    match variables {
        ScopeVariables::Counter(name) => {
            line!(out, "  ck_scope_{kind}(std::shared_ptr<ck::StepScope> outer, int value)");
            line!(out, "      : ck::StepScope(std::move(outer)), {name}(value) {{}}");
            line!(out, "  void pup(PUP::er &ck_p) override {{ ck_p | {name}; }}");
            line!(out, "  int {name} = 0;");
        }
        ScopeVariables::Parameters(parameters, is_target) => {
            line!(
                out,
                "  ck_scope_{kind}(std::shared_ptr<ck::StepScope> outer, ck::Arrived message)"
            );
            out.line("      : ck::StepScope(std::move(outer)), ck_message(std::move(message)) {");
            out.line("    ck_read();");
            out.line("  }");
            out.line("  ck::Arrived ck_message;");
            match parameters {
                Parameters::Message(message, name) => message_scope(out, message, name),
                Parameters::Marshalled(list) => values_scope(out, parameters, list, *is_target),
            }
        }
    }
    out.line("};");
}

fn message_scope(out: &mut Text, message: &str, name: &str) {
    line!(out, "  {message} *{name} = nullptr;");
    out.line("  void ck_read() {");
    line!(out, "    {name} = ck_taken.take(std::move(ck_message));");
    out.line("  }");
    line!(out, "  void pup(PUP::er &ck_p) override {{ ck_taken.pup(ck_p, {name}); }}");
    line!(out, "  ck::TakenMessage<{message}> ck_taken;");
}

fn values_scope(out: &mut Text, parameters: &Parameters, list: &[EntryParameter], is_target: bool) {
    for one in list {
        let EntryParameter { type_name, name, .. } = one;
        match one.length {
            Some(_) => line!(out, "  {type_name} *{name} = nullptr;"),
            None => line!(out, "  {type_name} {name} = PUP::detail::fresh<{type_name}>();"),
        }
    }
    let assign = |out: &mut Text| {
        for (i, one) in list.iter().enumerate() {
            let elements = if one.length.is_some() { ".elements" } else { "" };
            line!(out, "    {} = std::move(ck_value{i}{elements});", one.name);
        }
    };
    out.line("  void ck_read() {");
    if is_target {
        out.line("    if ((ck_message.message.flags & TOWPATH_RESULT) != 0) {");
        out.line("    ck::ResultReader ck_result(ck_message.message);");
        parameters.read_own_result().iter().for_each(|read| line!(out, "    {read}"));
        assign(out);
        out.line("    return;");
        out.line("    }");
    }
    out.line("    ck::Unmarshaller ck_in(ck_message.message);");
    if parameters.has_posted() {
        out.line("    ck_in.value<bool>();");
    }
    parameters.read_own("ck_in").iter().for_each(|read| line!(out, "    {read}"));
    assign(out);
    out.line("  }");
    out.line("  void pup(PUP::er &ck_p) override {");
    out.line("    ck_p | ck_message;");
    out.line("    if (ck_p.isUnpacking())");
    out.line("      ck_read();");
    for one in list.iter().filter(|one| one.length.is_none()) {
        line!(out, "    ck_p | {};", one.name);
    }
    out.line("  }");
}
