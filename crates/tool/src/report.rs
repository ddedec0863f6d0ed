//! A report: sections of rows of named cells, printed as aligned text for the user or as JSON for
//! programs.
//!
//! The JSON writer is short and lives here, so that the program does not depend on another crate
//! for it.
#![forbid(unsafe_code)]

use std::fmt::Write;

use towpath_base::json::quoted;

/// Width of a line of text in columns.
const WIDTH: usize = 118;

/// Value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CellValue {
    Text(String),
    Number(u64),
    /// A size: `1.5 GiB` in text, the number of bytes in JSON.
    Bytes(u64),
    Flag(bool),
    /// Ascending numbers: `0-3,8` in text.
    Numbers(Vec<usize>),
    /// No value or no limit: this word in text, null in JSON.
    Nothing(&'static str),
}

impl CellValue {
    pub(super) fn text(text: impl Into<String>) -> CellValue {
        CellValue::Text(text.into())
    }

    pub(super) fn for_person(&self) -> String {
        match self {
            CellValue::Text(text) => text.clone(),
            CellValue::Number(number) => number.to_string(),
            CellValue::Bytes(bytes) => readable_size(*bytes),
            CellValue::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            CellValue::Numbers(numbers) => ranges(numbers),
            CellValue::Nothing(words) => (*words).to_owned(),
        }
    }

    fn to_json(&self) -> String {
        match self {
            CellValue::Text(text) => quoted(text),
            CellValue::Number(number) | CellValue::Bytes(number) => number.to_string(),
            CellValue::Flag(flag) => flag.to_string(),
            CellValue::Numbers(numbers) => format!("{numbers:?}"),
            CellValue::Nothing(_) => "null".to_owned(),
        }
    }
}

/// A row: its key in JSON, its label in text, and named cells. The last cell may be a long text.
#[derive(Clone, Debug)]
pub(super) struct ReportRow {
    pub(super) key: String,
    pub(super) label: String,
    pub(super) cells: Vec<(&'static str, CellValue)>,
    /// More cells, in JSON only.
    pub(super) further: Vec<(&'static str, CellValue)>,
}

impl ReportRow {
    /// Creates a row with a value and a remark, which may be empty.
    pub(super) fn new(
        key: &str,
        label: &str,
        value: CellValue,
        remark: impl Into<String>,
    ) -> ReportRow {
        let cells = vec![("value", value), ("why", CellValue::Text(remark.into()))];
        ReportRow { key: key.to_owned(), label: label.to_owned(), cells, further: Vec::new() }
    }

    /// Adds a cell for JSON only.
    pub(super) fn with(mut self, name: &'static str, value: CellValue) -> ReportRow {
        self.further.push((name, value));
        self
    }
}

/// Rows under one title.
#[derive(Clone, Debug)]
pub(super) struct ReportSection {
    pub(super) key: &'static str,
    pub(super) title: String,
    /// Headings of label and cells; empty if they need no explanation.
    pub(super) headings: &'static [&'static str],
    pub(super) rows: Vec<ReportRow>,
}

/// Formats the report as text.
pub(super) fn to_text(sections: &[ReportSection]) -> String {
    sections.iter().map(section_to_text).collect::<Vec<_>>().join("\n")
}

fn section_to_text(section: &ReportSection) -> String {
    let headings =
        section.headings.iter().map(|heading| (*heading).to_owned()).collect::<Vec<String>>();
    let lines = section.rows.iter().map(|row| {
        std::iter::once(row.label.clone())
            .chain(row.cells.iter().map(|(_, value)| value.for_person()))
            .collect()
    });
    let lines: Vec<Vec<String>> =
        Some(headings).into_iter().filter(|h| !h.is_empty()).chain(lines).collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let short =
            lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count());
        short.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = format!("{}\n", section.title);
    for line in &lines {
        let mut written = String::new();
        let (last, cells) = line.split_last().expect("a row has a label");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(written, "  {cell:width$}");
        }
        written.push_str("  ");
        let indent = written.chars().count();
        written.push_str(&wrapped(last, indent));
        text.push_str(written.trim_end());
        text.push('\n');
    }
    text
}

/// Breaks a text between words so that it fits into a terminal, and indents all lines but the
/// first.
fn wrapped(text: &str, indent: usize) -> String {
    let room = WIDTH.saturating_sub(indent).max(30);
    let (mut all, mut used) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room {
            let _ = write!(all, "\n{:indent$}", "");
            used = 0;
        } else if used > 0 {
            all.push(' ');
            used += 1;
        }
        all.push_str(word);
        used += length;
    }
    all
}

/// Formats the report as one JSON object: section, row, cell.
pub(super) fn to_json(sections: &[ReportSection]) -> String {
    let object = |pairs: Vec<(&str, String)>, between: &str| {
        let pairs: Vec<String> =
            pairs.iter().map(|(key, value)| format!("{}: {value}", quoted(key))).collect();
        format!("{{{}}}", pairs.join(between))
    };
    let cells = |row: &ReportRow| {
        row.cells
            .iter()
            .chain(&row.further)
            .map(|(name, value)| (*name, value.to_json()))
            .collect::<Vec<_>>()
    };
    let row = |row: &ReportRow| object(cells(row), ", ");
    let section = |section: &ReportSection| {
        object(section.rows.iter().map(|r| (r.key.as_str(), row(r))).collect(), ",\n  ")
            .replacen('{', "{\n  ", 1)
    };
    format!("{}\n", object(sections.iter().map(|s| (s.key, section(s))).collect(), ",\n"))
}

fn readable_size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut size = bytes as f64;
    let mut unit = "bytes";
    for larger in units {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{size:.1} {unit}") }
}

/// `[0, 1, 2, 8]` as `0-2,8`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|left, right| left + 1 == *right);
    let text = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run[0].to_string(),
    });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Vec<ReportSection> {
        let long = "word ".repeat(60);
        let rows = vec![
            ReportRow::new("a", "first", CellValue::Numbers(vec![0, 1, 2, 8]), "short"),
            ReportRow::new("b", "the second", CellValue::Nothing("no limit"), long),
            ReportRow::new(
                "c",
                "third",
                CellValue::Bytes(3 << 29),
                "\"quoted\" \\ and\na new line",
            ),
        ];
        vec![ReportSection { key: "s", title: "Some things".to_owned(), headings: &[], rows }]
    }

    #[test]
    fn text_is_aligned_and_no_wider_than_a_terminal() {
        let text = to_text(&report());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Some things");
        assert_eq!(lines[1], "  first       0-2,8     short");
        assert!(lines[2].starts_with("  the second  no limit  word word"));
        assert!(lines[3].starts_with("                        word"), "{text}");
        assert!(lines.iter().all(|line| line.len() <= WIDTH && !line.ends_with(' ')));
        assert!(text.contains("1.5 GiB"));
    }

    #[test]
    fn json_escapes_what_it_must() {
        let json = to_json(&report());
        assert!(json.contains(r#""a": {"value": [0, 1, 2, 8], "why": "short"}"#), "{json}");
        assert!(
            json.contains(r#""value": null"#) && json.contains(r#""value": 1610612736"#),
            "{json}"
        );
        assert!(json.contains(r#""\"quoted\" \\ and\u000aa new line""#), "{json}");
    }
}
