//! Reports the levels of the machine, from which distances between ranks follow: as the kernel
//! lists them for the processors of this process, or as TOWPATH_MACHINE describes another machine.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use towpath_base::config;
use towpath_machine::cores;
use towpath_machine::levels::{KERNEL_LEVELS, MachineDescription};

use crate::report::{CellValue, ReportRow, ReportSection};

/// Number of parts of a level to list; the rest is cut.
const SHOWN: usize = 8;

/// Creates the section, or returns an error message if the described machine cannot be parsed.
pub(super) fn section() -> Result<ReportSection, String> {
    let (title, rows) = match config::setting("TOWPATH_MACHINE") {
        Some(value) => (
            "Levels of the machine that TOWPATH_MACHINE describes",
            described(&MachineDescription::of_setting(&value)?),
        ),
        None => ("Levels of this machine, for the processors of this process", found()),
    };
    Ok(ReportSection {
        key: "levels",
        title: title.to_owned(),
        headings: &["level", "parts", "processors of each"],
        rows,
    })
}

fn row(name: &str, parts: usize, processors: String) -> ReportRow {
    let cells = vec![
        ("parts", CellValue::Number(parts as u64)),
        ("processors", CellValue::Text(processors)),
    ];
    ReportRow { key: name.to_owned(), label: name.to_owned(), cells, further: Vec::new() }
}

fn described(machine: &MachineDescription) -> Vec<ReportRow> {
    let line = |(name, parts, each, columns): (&str, usize, usize, usize)| {
        let mesh =
            if columns > 0 { format!(", in a mesh of {columns} columns") } else { String::new() };
        row(name, parts, format!("{each}{mesh}"))
    };
    machine.levels().into_iter().map(line).collect()
}

/// The levels that the kernel knows, and how they divide the processors of this process.
fn found() -> Vec<ReportRow> {
    let processors = cores::listed(&cores::affinity());
    let of_level = |level: towpath_machine::resources::Resource| {
        let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &processor in &processors {
            parts
                .entry(level.instance_of(&cores::mask_of(&[processor]))?)
                .or_default()
                .push(processor);
        }
        let shown: Vec<String> = parts
            .values()
            .take(SHOWN)
            .map(|list| CellValue::Numbers(list.clone()).for_person())
            .collect();
        let more = if parts.len() > SHOWN { "; ..." } else { "" };
        Some(row(level.name(), parts.len(), shown.join("; ") + more))
    };
    let unknown = |level: towpath_machine::resources::Resource| {
        row(level.name(), 0, "the kernel does not report them".to_owned())
    };
    KERNEL_LEVELS
        .into_iter()
        .map(|level| of_level(level).unwrap_or_else(|| unknown(level)))
        .collect()
}
