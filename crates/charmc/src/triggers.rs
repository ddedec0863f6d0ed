//! Which entry method a `when` waits for.

use crate::ast::{ChareMember, Entry, Parameters, Trigger};

/// The entry methods among the members of a chare.
pub(crate) fn entries(members: &[ChareMember]) -> impl Iterator<Item = &Entry> {
    members.iter().filter_map(|member| match member {
        ChareMember::Entry(entry) => Some(&**entry),
        _ => None,
    })
}

/// The entry method of a trigger, and its number among them: the only one with so many parameters,
/// or else that with the same types.
pub(crate) fn find_entry<'e>(
    entries: &[&'e Entry],
    trigger: &Trigger,
) -> Option<(usize, &'e Entry)> {
    let mut fitting = entries.iter().enumerate().filter(|(_, entry)| {
        entry.name == trigger.name && are_alike(&entry.parameters, &trigger.parameters)
    });
    let all: Vec<_> = fitting.by_ref().map(|(number, entry)| (number, *entry)).collect();
    let same = all.iter().find(|(_, entry)| types(entry) == types_of(&trigger.parameters));
    let is_one = all.iter().all(|(_, entry)| is_same(entry, all[0].1));
    same.or(if is_one { all.first() } else { None }).copied()
}

/// Whether these are one entry method to a `when`: the same, in two branches of a condition.
pub(crate) fn is_same(one: &Entry, other: &Entry) -> bool {
    one.name == other.name
        && are_alike(&one.parameters, &other.parameters)
        && types(one) == types(other)
}

fn are_alike(one: &Parameters, other: &Parameters) -> bool {
    match (one, other) {
        (Parameters::Message(..), Parameters::Message(..)) => true,
        (Parameters::Marshalled(a), Parameters::Marshalled(b)) => {
            let arrays = |list: &[crate::ast::EntryParameter]| -> Vec<bool> {
                list.iter().map(|one| one.length.is_some()).collect()
            };
            arrays(a) == arrays(b)
        }
        _ => false,
    }
}

fn types(entry: &Entry) -> Vec<&str> {
    types_of(&entry.parameters)
}

fn types_of(parameters: &Parameters) -> Vec<&str> {
    match parameters {
        Parameters::Message(message, _) => vec![message],
        Parameters::Marshalled(list) => list.iter().map(|one| one.type_name.as_str()).collect(),
    }
}
