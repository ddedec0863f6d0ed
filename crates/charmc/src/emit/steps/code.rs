//! The steps of a class as a program: code that runs at once, and jumps between it.

use super::ScopeVariables;
use crate::ast::{Attribute, Cpp, Entry, Parameters, Statement, Trigger, When};
use crate::triggers::find_entry;

/// What a piece of C++ is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    /// Statements, which may return.
    Statement,
    Expression,
    Condition,
    Number,
}

impl StepKind {
    pub(super) fn returns(self) -> &'static str {
        match self {
            StepKind::Statement | StepKind::Expression => "void",
            StepKind::Condition => "bool",
            StepKind::Number => "int",
        }
    }
}

/// A piece of C++, and the scopes that it sees, from outside.
#[derive(Debug)]
pub(super) struct StepCode {
    pub(super) kind: StepKind,
    pub(super) code: Cpp,
    pub(super) scopes: Vec<usize>,
}

/// All steps of a class.
#[derive(Debug, Default)]
pub(super) struct StepProgram {
    /// The lines of the switch.
    pub(super) cases: Vec<String>,
    pub(super) steps: Vec<StepCode>,
    pub(super) scopes: Vec<ScopeVariables>,
    /// Where each entry method begins, and the scope of its parameters.
    pub(super) begins: Vec<Option<(usize, Option<usize>)>>,
    labels: usize,
}

/// Translates the statements of one method.
struct Method<'p> {
    program: &'p mut StepProgram,
    entries: &'p [&'p Entry],
    /// The scopes that the next statement sees.
    visible: Vec<usize>,
}

impl StepProgram {
    /// The program of the methods that have a body.
    pub(super) fn of(entries: &[&Entry]) -> StepProgram {
        let mut program = StepProgram::default();
        for entry in entries {
            let begin = entry.body.as_ref().map(|body| {
                let mut method = Method { program: &mut program, entries, visible: Vec::new() };
                let at = method.begin_thread();
                let scope = method.enter(&entry.parameters, entry);
                method.statement(body);
                method.end_thread();
                (at, scope)
            });
            program.begins.push(begin);
        }
        program
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// The variables of these scopes, for code that sees them: the innermost of each name.
    pub(super) fn variables(&self, scopes: &[usize]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut declared: Vec<&str> = Vec::new();
        for (depth, kind) in scopes.iter().rev().enumerate() {
            let outer = "->outer".repeat(depth);
            let pointer =
                if depth == 0 { "ck_scope".to_owned() } else { format!("ck_scope{outer}.get()") };
            let mut is_used = false;
            for name in self.scopes[*kind].names() {
                if declared.contains(&name) {
                    continue;
                }
                if !is_used {
                    lines.push(format!(
                        "  auto *ck_in{depth} = static_cast<ck_scope_{kind} *>({pointer});"
                    ));
                    is_used = true;
                }
                lines.push(format!("  [[maybe_unused]] auto &{name} = ck_in{depth}->{name};"));
                declared.push(name);
            }
        }
        lines
    }
}

impl Method<'_> {
    fn line(&mut self, line: impl Into<String>) {
        self.program.cases.push(line.into());
    }

    fn new_label(&mut self) -> usize {
        self.program.labels += 1;
        self.program.labels
    }

    /// What precedes goes on here, and jumps to the label come here.
    fn label(&mut self, label: usize) {
        self.line("  [[fallthrough]];");
        self.line(format!("case {label}:"));
    }

    fn jump(&mut self, label: usize) {
        self.line(format!("  ck_thread->at = {label};"));
        self.line("  continue;");
    }

    fn begin_thread(&mut self) -> usize {
        let label = self.new_label();
        self.line(format!("case {label}:"));
        label
    }

    fn end_thread(&mut self) {
        self.line("  return ck_state.end(ck_thread);");
    }

    /// Code that sees what is visible here: its call.
    fn call(&mut self, kind: StepKind, code: &Cpp) -> String {
        let scopes = self.visible.clone();
        self.program.steps.push(StepCode { kind, code: code.clone(), scopes });
        format!("ck_step_{}(ck_thread->scope.get())", self.program.steps.len() - 1)
    }

    fn scope(&mut self, variables: ScopeVariables) -> usize {
        self.program.scopes.push(variables);
        let kind = self.program.scopes.len() - 1;
        self.visible.push(kind);
        kind
    }

    /// The scope of parameters, if there are any.
    fn enter(&mut self, parameters: &Parameters, entry: &Entry) -> Option<usize> {
        let is_target = entry.has(Attribute::ReductionTarget);
        let is_empty = matches!(parameters, Parameters::Marshalled(list) if list.is_empty());
        (!is_empty).then(|| self.scope(ScopeVariables::Parameters(parameters.clone(), is_target)))
    }

    fn run(&mut self, kind: StepKind, code: &Cpp) {
        if code.text.trim().is_empty() {
            return;
        }
        let call = self.call(kind, code);
        self.line(format!("  {call};"));
        self.line("  if (ck_state.has_ended)");
        self.line("    return;");
    }

    fn jump_unless(&mut self, condition: &Cpp, label: usize) {
        if condition.text.is_empty() {
            return;
        }
        let call = self.call(StepKind::Condition, condition);
        self.line(format!("  if (!{call}) {{"));
        self.jump(label);
        self.line("  }");
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Serial(code) => self.run(StepKind::Statement, code),
            Statement::Sequence(list) => list.iter().for_each(|one| self.statement(one)),
            Statement::Overlap(list) => self.overlap(list),
            Statement::When(when) => self.choice(std::slice::from_ref(when)),
            Statement::Case(list) => self.choice(list),
            Statement::For(begin, condition, step, body) => {
                self.run(StepKind::Expression, begin);
                self.repeat(condition, Some(step), body);
            }
            Statement::While(condition, body) => self.repeat(condition, None, body),
            Statement::If(condition, then, otherwise) => {
                let (other, end) = (self.new_label(), self.new_label());
                self.jump_unless(condition, other);
                self.statement(then);
                self.jump(end);
                self.line(format!("case {other}:"));
                self.statement(otherwise);
                self.label(end);
            }
            Statement::ForAll(name, begin, end, step, body) => {
                self.for_all(name, [begin, end, step], body);
            }
        }
    }

    fn repeat(&mut self, condition: &Cpp, step: Option<&Cpp>, body: &Statement) {
        let (again, end) = (self.new_label(), self.new_label());
        self.label(again);
        self.jump_unless(condition, end);
        self.statement(body);
        if let Some(step) = step {
            self.run(StepKind::Expression, step);
        }
        self.jump(again);
        self.line(format!("case {end}:"));
    }

    fn overlap(&mut self, list: &[Statement]) {
        let after = self.new_label();
        let begins: Vec<usize> = list.iter().map(|_| self.new_label()).collect();
        let children = begins.iter().map(|at| format!("{{{at}, ck_thread->scope}}"));
        let children = children.collect::<Vec<_>>().join(", ");
        self.line(format!("  return ck_state.fork(ck_thread, {after}, {{{children}}});"));
        for (statement, at) in list.iter().zip(begins) {
            self.line(format!("case {at}:"));
            self.statement(statement);
            self.end_thread();
        }
        self.line(format!("case {after}:"));
    }

    fn for_all(&mut self, name: &str, [begin, end, step]: [&Cpp; 3], body: &Statement) {
        let (at, after) = (self.new_label(), self.new_label());
        let [begin, end, step] = [begin, end, step].map(|one| self.call(StepKind::Number, one));
        let kind = self.scope(ScopeVariables::Counter(name.to_owned()));
        self.line("  {");
        self.line("  std::vector<std::pair<int, std::shared_ptr<ck::StepScope>>> ck_children;");
        self.line(format!("  const int ck_end = {end}, ck_by = ck::checked_step({step});"));
        let goes_on = "ck_by > 0 ? ck_i <= ck_end : ck_i >= ck_end";
        self.line(format!("  for (int ck_i = {begin}; {goes_on}; ck_i += ck_by)"));
        let scope = format!("std::make_shared<ck_scope_{kind}>(ck_thread->scope, ck_i)");
        self.line(format!("    ck_children.emplace_back({at}, {scope});"));
        self.line(format!("  return ck_state.fork(ck_thread, {after}, std::move(ck_children));"));
        self.line("  }");
        self.line(format!("case {at}:"));
        self.statement(body);
        self.end_thread();
        self.visible.pop();
        self.line(format!("case {after}:"));
    }

    /// Waits for the messages of one of several alternatives.
    fn choice(&mut self, alternatives: &[When]) {
        let (wait, after) = (self.new_label(), self.new_label());
        self.label(wait);
        self.line(format!("  ck_thread->at = {wait};"));
        let mut expected = Vec::new();
        for (number, when) in alternatives.iter().enumerate() {
            for trigger in &when.triggers {
                expected.push(self.expected(number, trigger));
            }
        }
        self.line("  if (!ck_state.ready(ck_thread, [&] {");
        self.line("        return std::vector<ck::Expected>{");
        expected.into_iter().for_each(|one| self.line(format!("            {one},")));
        self.line("        };");
        self.line("      }))");
        self.line("    return;");
        if let [only] = alternatives {
            return self.taken(only);
        }
        let begins: Vec<usize> = alternatives.iter().map(|_| self.new_label()).collect();
        let table = begins.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        self.line(format!("  ck_thread->at = (const int[]){{{table}}}[ck_thread->alternative];"));
        self.line("  continue;");
        for (when, at) in alternatives.iter().zip(begins) {
            self.line(format!("case {at}:"));
            self.taken(when);
            self.jump(after);
        }
        self.line(format!("case {after}:"));
    }

    fn expected(&mut self, alternative: usize, trigger: &Trigger) -> String {
        let number = find_entry(self.entries, trigger).map_or(0, |(number, _)| number);
        match &trigger.reference {
            Some(reference) => {
                let call = self.call(StepKind::Number, reference);
                format!("{{{alternative}, {number}, true, static_cast<std::uint32_t>({call})}}")
            }
            None => format!("{{{alternative}, {number}, false, 0}}"),
        }
    }

    /// What follows once the messages of a `when` are there.
    fn taken(&mut self, when: &When) {
        let mut scopes = 0;
        for trigger in &when.triggers {
            let found = find_entry(self.entries, trigger);
            match found.and_then(|(_, entry)| self.enter(&trigger.parameters, entry)) {
                Some(kind) => {
                    scopes += 1;
                    let both = "ck_thread->scope, ck_thread->take()";
                    self.line(format!(
                        "  ck_thread->scope = std::make_shared<ck_scope_{kind}>({both});"
                    ));
                }
                None => self.line("  ck_thread->take();"),
            }
        }
        self.statement(&when.body);
        if scopes > 0 {
            self.line(format!("  ck_thread->leave_scopes({scopes});"));
            self.visible.truncate(self.visible.len() - scopes);
        }
    }
}
