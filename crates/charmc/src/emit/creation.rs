//! `ckNew` and `insert`: functions of proxies that send the parameters of a constructor.

use super::names::{coordinates, ints};
use super::text::{Text, line};
use crate::ast::{Chare, ChareKind, Entry, Parameters};
use crate::triggers::entries;

/// A function by which chares are made.
pub(super) struct Creation {
    is_static: bool,
    returns: String,
    name: &'static str,
    declared: Vec<String>,
    defined: Vec<String>,
    body: Vec<String>,
}

impl Creation {
    pub(super) fn declare(&self, out: &mut Text) {
        let (before, after) = if self.is_static { ("static ", "") } else { ("", " const") };
        let (returns, list) = (&self.returns, self.declared.join(", "));
        line!(out, "  {before}{returns} {}({list}){after};", self.name);
    }

    /// Defines it in a class of proxies.
    pub(super) fn define(&self, out: &mut Text, template: &str, class: &str) {
        let after = if self.is_static { "" } else { " const" };
        let (returns, list) = (&self.returns, self.defined.join(", "));
        line!(out, "{template}{returns} {class}::{}({list}){after} {{", self.name);
        self.body.iter().for_each(|statement| line!(out, "  {statement}"));
        out.line("}");
    }
}

/// Whether an array without elements is made by a function of its own: no constructor can be called
/// without parameters.
pub(super) fn has_empty(chare: &Chare) -> bool {
    let mut constructors = entries(&chare.members).filter(|entry| entry.is_constructor());
    constructors.all(|entry| match &entry.parameters {
        Parameters::Message(..) => true,
        Parameters::Marshalled(list) => list.iter().any(|one| one.default.is_none()),
    })
}

/// The functions for a constructor, of the proxies of one chare or of all.
pub(super) fn functions(
    chare: &Chare,
    is_element: bool,
    number: usize,
    entry: &Entry,
) -> Vec<Creation> {
    let index = chare.generated("CkIndex_");
    let constructor = format!("{index}::ck_entry_{number}");
    let make = |is_static, last: &str, value: &str, make: String| {
        let (mut declared, mut defined) =
            (entry.parameters.sent_with_defaults(), entry.parameters.sent());
        if value.is_empty() {
            declared.clone_from(&defined);
        }
        if !last.is_empty() {
            declared.push(format!("{last}{value}"));
            defined.push(last.to_owned());
        }
        let body = vec![format!("auto ck_message = {};", entry.parameters.payload()), make];
        let proxy = chare.generated("CProxy_");
        let (name, returns) =
            if is_static { ("ckNew", proxy) } else { ("insert", "void".to_owned()) };
        Creation { is_static, returns, name, declared, defined, body }
    };
    match (&chare.kind, is_element) {
        (ChareKind::Array(_), true) => {
            let insert = format!("this->ck_insert({constructor}, ck_message, ck_rank);");
            vec![make(false, "int ck_rank", " = -1", insert)]
        }
        (ChareKind::Array(kind), false) => {
            let create = |options: &str| {
                let made = format!("{index}::ck_type, {constructor}, {options}, ck_message");
                format!("return ck::create_array({made});")
            };
            let (options, value) = ("const CkArrayOptions &ck_extents", " = CkArrayOptions()");
            let mut all = vec![make(true, options, value, create("ck_extents"))];
            let names = coordinates(kind);
            if !names.is_empty() {
                let extents = format!("CkArrayOptions({})", names.join(", "));
                all.push(make(true, &ints(&names), "", create(&extents)));
            }
            all
        }
        (ChareKind::Group | ChareKind::NodeGroup, false) => {
            let create =
                format!("return ck::create_group({index}::ck_type, {constructor}, ck_message);");
            vec![make(true, "", "", create)]
        }
        (ChareKind::Chare, _) => {
            let create = format!("return ck::create_chare({constructor}, ck_rank, ck_message);");
            vec![make(true, "int ck_rank", " = CK_PE_ANY", create)]
        }
        (ChareKind::MainChare | ChareKind::Group | ChareKind::NodeGroup, _) => Vec::new(),
    }
}
