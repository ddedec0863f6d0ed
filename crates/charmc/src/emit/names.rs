//! Names of what is generated.

use super::text::Text;
use crate::ast::{Chare, ChareKind, ChareMember, Entry, Template};

/// A name with a prefix before its last part, which may have arguments of a template.
pub(super) fn prefixed(prefix: &str, name: &str) -> String {
    let plain = &name[..name.find('<').unwrap_or(name.len())];
    let last = plain.rfind("::").map_or(0, |at| at + 2);
    format!("{}{prefix}{}", &name[..last], &name[last..])
}

/// `template <typename T>`, or nothing.
pub(super) fn template_line(template: Option<&Template>) -> String {
    template.map_or_else(String::new, |one| format!("template <{}> ", one.parameters))
}

/// Names of as many coordinates as an index has.
pub(super) fn coordinates(index: &str) -> Vec<String> {
    let digit = index.strip_prefix("CkIndex").and_then(|rest| rest.strip_suffix('D'));
    let count = digit.and_then(|digit| digit.parse().ok()).filter(|count| *count <= 6);
    (1..=count.unwrap_or(0)).map(|i: u32| format!("ck_{i}")).collect()
}

pub(super) fn ints(names: &[String]) -> String {
    names.iter().map(|name| format!("int {name}")).collect::<Vec<_>>().join(", ")
}

/// Whether a line with `#` is a condition, which holds wherever a member is mentioned.
pub(super) fn is_condition(directive: &str) -> bool {
    let word = directive.trim_start_matches('#').trim_start();
    ["if", "else", "elif", "endif"].iter().any(|condition| word.starts_with(condition))
}

impl Chare {
    /// `<T>`, or nothing.
    pub(super) fn arguments(&self) -> String {
        self.template.as_ref().map_or_else(String::new, |one| format!("<{}>", one.names))
    }

    /// The class, with arguments.
    pub(super) fn class(&self) -> String {
        format!("{}{}", self.name, self.arguments())
    }

    /// The class of its proxies, of this prefix, with arguments.
    pub(super) fn generated(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.class())
    }

    pub(super) fn template_line(&self) -> String {
        template_line(self.template.as_ref())
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.kind, ChareKind::Array(_))
    }

    pub(super) fn is_group(&self) -> bool {
        matches!(self.kind, ChareKind::Group | ChareKind::NodeGroup)
    }

    /// Whether it is one of many, so that there are proxies of one and of all.
    pub(super) fn has_elements(&self) -> bool {
        self.is_array() || self.is_group()
    }

    /// What it inherits from beside its bases.
    pub(super) fn root(&self) -> String {
        match &self.kind {
            ChareKind::Chare | ChareKind::MainChare => "Chare".to_owned(),
            ChareKind::Group => "Group".to_owned(),
            ChareKind::NodeGroup => "NodeGroup".to_owned(),
            ChareKind::Array(index) => format!("ArrayElementT<{index}>"),
        }
    }

    /// The conditions that each entry method stands in.
    pub(super) fn conditions(&self) -> Vec<Conditions> {
        let (mut now, mut all) = (Conditions::default(), Vec::new());
        for member in &self.members {
            match member {
                ChareMember::Entry(_) => all.push(now.clone()),
                ChareMember::Directive(line) if is_condition(line) => now.line(line),
                _ => {}
            }
        }
        all
    }

    /// Calls a function with each member that stands for something in code, and the number of each
    /// entry method.
    pub(super) fn each_entry(&self, mut write: impl FnMut(Listed<'_>)) {
        let mut number = 0;
        for member in &self.members {
            match member {
                ChareMember::Entry(entry) => {
                    // Constructors of elements that have migrated are called by their type.
                    if entry.parameters.signature() != "CkMigrateMessage*" {
                        write(Listed::Entry(number, entry));
                    }
                    number += 1;
                }
                ChareMember::Directive(line) if is_condition(line) => {
                    write(Listed::Condition(line))
                }
                ChareMember::Directive(_)
                | ChareMember::Initialiser(_)
                | ChareMember::Pupable(_) => {}
            }
        }
    }
}

/// The lines with `#` up to an entry method, of the conditions that it stands in.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    lines: Vec<Vec<String>>,
}

impl Conditions {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Writes something within these conditions.
    pub(super) fn around(&self, out: &mut Text, write: impl FnOnce(&mut Text)) {
        self.lines.iter().flatten().for_each(|line| out.line(line));
        write(out);
        self.lines.iter().for_each(|_| out.line("#endif"));
    }

    /// The next line with `#`.
    fn line(&mut self, line: &str) {
        let word = line.trim_start_matches('#').trim_start();
        if word.starts_with("if") {
            self.lines.push(vec![line.to_owned()]);
        } else if word.starts_with("endif") {
            self.lines.pop();
        } else if let Some(condition) = self.lines.last_mut() {
            condition.push(line.to_owned());
        }
    }
}

/// A member in the order of the file.
pub(super) enum Listed<'c> {
    Entry(usize, &'c Entry),
    Condition(&'c str),
}
