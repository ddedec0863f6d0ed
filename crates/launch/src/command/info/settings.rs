//! All settings of the one table, and variables that look like settings and are none.
#![forbid(unsafe_code)]

use towpath_base::config::{self, SETTINGS, Setting};

use super::super::report::{Row, Section, Value};

const UNDECIDED: Value = Value::Nothing("(chosen)");

/// One row for each setting.
pub(super) fn section() -> Section {
    Section {
        key: "settings",
        title: "Settings (environment variables)".to_owned(),
        headings: &["variable", "now", "default", "meaning"],
        rows: SETTINGS.iter().map(row).collect(),
    }
}

fn row(setting: &Setting) -> Row {
    let default = if setting.default.is_empty() { UNDECIDED } else { Value::text(setting.default) };
    let complaint = config::complaint(setting);
    let current = config::current(setting).map_or_else(|| default.clone(), Value::Text);
    let meaning = match complaint {
        Some(sentence) => format!("{}. {sentence}", setting.meaning),
        None => setting.meaning.to_owned(),
    };
    Row {
        key: setting.name.to_owned(),
        label: setting.name.to_owned(),
        cells: vec![("value", current), ("default", default), ("meaning", Value::Text(meaning))],
        further: Vec::new(),
    }
}

/// The section of unknown variables; `None` when there are none.
pub(super) fn unknown() -> Option<Section> {
    let rows: Vec<Row> = config::unknown_variables().into_iter().map(unknown_row).collect();
    let title = "Unknown variables in the environment".to_owned();
    (!rows.is_empty()).then_some(Section { key: "unknown_variables", title, headings: &[], rows })
}

fn unknown_row((name, meant): (String, Option<&'static str>)) -> Row {
    let (sentence, meant) = match meant {
        Some(meant) => (format!("There is no such setting; did you mean {meant}?"), Value::text(meant)),
        None => ("There is no such setting; those that exist are listed above.".to_owned(), Value::Nothing("")),
    };
    let cells = vec![("meant", meant), ("why", Value::Text(sentence))];
    Row { key: name.clone(), label: name, cells, further: Vec::new() }
}
