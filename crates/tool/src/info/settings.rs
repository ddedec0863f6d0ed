//! Reports all settings, and variables that look like settings but are not.
#![forbid(unsafe_code)]

use towpath_base::config::{self, SETTINGS, Setting};

use crate::report::{CellValue, ReportRow, ReportSection};

const UNDECIDED: CellValue = CellValue::Nothing("(chosen)");

/// One row for each setting.
pub(super) fn section() -> ReportSection {
    ReportSection {
        key: "settings",
        title: "Settings (environment variables)".to_owned(),
        headings: &["variable", "now", "default", "meaning"],
        rows: SETTINGS.iter().map(row).collect(),
    }
}

fn row(setting: &Setting) -> ReportRow {
    let default =
        if setting.default.is_empty() { UNDECIDED } else { CellValue::text(setting.default) };
    let complaint = config::complaint(setting);
    let current = config::current(setting).map_or_else(|| default.clone(), CellValue::Text);
    let meaning = match complaint {
        Some(sentence) => format!("{}. {sentence}", setting.meaning),
        None => setting.meaning.to_owned(),
    };
    ReportRow {
        key: setting.name.to_owned(),
        label: setting.name.to_owned(),
        cells: vec![
            ("value", current),
            ("default", default),
            ("meaning", CellValue::Text(meaning)),
        ],
        further: Vec::new(),
    }
}

/// The section of unknown variables; `None` if there are none.
pub(super) fn unknown() -> Option<ReportSection> {
    let rows: Vec<ReportRow> = config::unknown_variables().into_iter().map(unknown_row).collect();
    let title = "Unknown variables in the environment".to_owned();
    (!rows.is_empty()).then_some(ReportSection {
        key: "unknown_variables",
        title,
        headings: &[],
        rows,
    })
}

fn unknown_row((name, meant): (String, Option<&'static str>)) -> ReportRow {
    let (sentence, meant) = match meant {
        Some(meant) => {
            (format!("There is no such setting; did you mean {meant}?"), CellValue::text(meant))
        }
        None => (
            "There is no such setting; those that exist are listed above.".to_owned(),
            CellValue::Nothing(""),
        ),
    };
    let cells = vec![("meant", meant), ("why", CellValue::Text(sentence))];
    ReportRow { key: name.clone(), label: name, cells, further: Vec::new() }
}
