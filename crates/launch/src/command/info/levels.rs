//! The levels of the machine, from which distances between ranks follow: as the kernel lists them
//! for the processors of this process, or as TOWPATH_MACHINE describes another machine.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use towpath_base::config;
use towpath_machine::cores;
use towpath_machine::levels::{Description, KERNEL_LEVELS};

use super::super::report::{Row, Section, Value};

/// Lists longer than this are cut in the text; programs get all.
const SHOWN: usize = 8;

/// The section; a described machine that cannot be read is a sentence.
pub(super) fn section() -> Result<Section, String> {
    let (title, rows) = match config::setting("TOWPATH_MACHINE") {
        Some(value) => {
            ("Levels of the machine that TOWPATH_MACHINE describes", described(&Description::of_setting(&value)?))
        }
        None => ("Levels of this machine, for the processors of this process", found()),
    };
    Ok(Section { key: "levels", title: title.to_owned(), headings: &["level", "parts", "processors of each"], rows })
}

fn row(name: &str, parts: usize, processors: String) -> Row {
    let cells = vec![("parts", Value::Number(parts as u64)), ("processors", Value::Text(processors))];
    Row { key: name.to_owned(), label: name.to_owned(), cells, further: Vec::new() }
}

fn described(machine: &Description) -> Vec<Row> {
    let line = |(name, parts, each, columns): (&str, usize, usize, usize)| {
        let mesh = if columns > 0 { format!(", in a mesh of {columns} columns") } else { String::new() };
        row(name, parts, format!("{each}{mesh}"))
    };
    machine.levels().into_iter().map(line).collect()
}

/// The levels that the kernel knows, with the parts in which the processors of this process lie.
fn found() -> Vec<Row> {
    let processors = cores::listed(&cores::affinity());
    let of_level = |level: towpath_machine::resources::Resource| {
        let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &processor in &processors {
            parts.entry(level.instance_of(&cores::mask_of(&[processor]))?).or_default().push(processor);
        }
        let shown: Vec<String> =
            parts.values().take(SHOWN).map(|list| Value::Numbers(list.clone()).for_person()).collect();
        let more = if parts.len() > SHOWN { "; ..." } else { "" };
        Some(row(level.name(), parts.len(), shown.join("; ") + more))
    };
    let unknown =
        |level: towpath_machine::resources::Resource| row(level.name(), 0, "the kernel does not tell".to_owned());
    KERNEL_LEVELS.into_iter().map(|level| of_level(level).unwrap_or_else(|| unknown(level))).collect()
}
