//! A report: sections of rows of named cells, printed as aligned text for a person or as JSON for a
//! program.
//!
//! The writer of JSON is a page long and stays here: the library, which is built from this crate,
//! shall not carry a crate for it.
#![forbid(unsafe_code)]

use std::fmt::Write;

/// Columns of a line of text.
const WIDTH: usize = 118;

/// A value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(u64),
    /// A size: `1.5 GiB` for a person, the number of bytes for a program.
    Bytes(u64),
    Flag(bool),
    /// Numbers, ascending: `0-3,8` for a person.
    Numbers(Vec<usize>),
    /// Not there, or not limited: what a person reads instead; null for a program.
    Nothing(&'static str),
}

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Value {
        Value::Text(text.into())
    }

    pub(super) fn for_person(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bytes(bytes) => readable_size(*bytes),
            Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            Value::Numbers(numbers) => ranges(numbers),
            Value::Nothing(words) => (*words).to_owned(),
        }
    }

    fn to_json(&self) -> String {
        match self {
            Value::Text(text) => quoted(text),
            Value::Number(number) | Value::Bytes(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Numbers(numbers) => format!("{numbers:?}"),
            Value::Nothing(_) => "null".to_owned(),
        }
    }
}

/// A row: the name that programs use, the name that people read, named cells. The last cell may be
/// a long text.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) label: String,
    pub(super) cells: Vec<(&'static str, Value)>,
    /// Further cells, for programs only.
    pub(super) further: Vec<(&'static str, Value)>,
}

impl Row {
    /// A row of a value and a remark about it, which may be empty.
    pub(super) fn new(key: &str, label: &str, value: Value, remark: impl Into<String>) -> Row {
        let cells = vec![("value", value), ("why", Value::Text(remark.into()))];
        Row { key: key.to_owned(), label: label.to_owned(), cells, further: Vec::new() }
    }

    /// The row with one more cell for programs.
    pub(super) fn with(mut self, name: &'static str, value: Value) -> Row {
        self.further.push((name, value));
        self
    }
}

/// Rows under one heading.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) key: &'static str,
    pub(super) title: String,
    /// Headings of label and cells, where they do not speak for themselves.
    pub(super) headings: &'static [&'static str],
    pub(super) rows: Vec<Row>,
}

/// The report as text.
pub(super) fn to_text(sections: &[Section]) -> String {
    sections.iter().map(section_to_text).collect::<Vec<_>>().join("\n")
}

fn section_to_text(section: &Section) -> String {
    let headings = section.headings.iter().map(|heading| (*heading).to_owned()).collect::<Vec<String>>();
    let lines = section.rows.iter().map(|row| {
        std::iter::once(row.label.clone()).chain(row.cells.iter().map(|(_, value)| value.for_person())).collect()
    });
    let lines: Vec<Vec<String>> = Some(headings).into_iter().filter(|h| !h.is_empty()).chain(lines).collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let short = lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count());
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

/// Breaks a text between words so that no line is longer than a terminal's, and indents what
/// follows the first line.
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

/// The report as one JSON object: section, row, cell.
pub(super) fn to_json(sections: &[Section]) -> String {
    let object = |pairs: Vec<(&str, String)>, between: &str| {
        let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{}: {value}", quoted(key))).collect();
        format!("{{{}}}", pairs.join(between))
    };
    let cells = |row: &Row| {
        row.cells.iter().chain(&row.further).map(|(name, value)| (*name, value.to_json())).collect::<Vec<_>>()
    };
    let row = |row: &Row| object(cells(row), ", ");
    let section = |section: &Section| {
        object(section.rows.iter().map(|r| (r.key.as_str(), row(r))).collect(), ",\n  ").replacen('{', "{\n  ", 1)
    };
    format!("{}\n", object(sections.iter().map(|s| (s.key, section(s))).collect(), ",\n"))
}

fn quoted(text: &str) -> String {
    let mut all = String::from('"');
    for sign in text.chars() {
        match sign {
            '"' | '\\' => all.extend(['\\', sign]),
            sign if sign < ' ' => {
                let _ = write!(all, "\\u{:04x}", u32::from(sign));
            }
            sign => all.push(sign),
        }
    }
    all.push('"');
    all
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

    fn report() -> Vec<Section> {
        let long = "word ".repeat(60);
        let rows = vec![
            Row::new("a", "first", Value::Numbers(vec![0, 1, 2, 8]), "short"),
            Row::new("b", "the second", Value::Nothing("no limit"), long),
            Row::new("c", "third", Value::Bytes(3 << 29), "\"quoted\" \\ and\na new line"),
        ];
        vec![Section { key: "s", title: "Some things".to_owned(), headings: &[], rows }]
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
        assert!(json.contains(r#""value": null"#) && json.contains(r#""value": 1610612736"#), "{json}");
        assert!(json.contains(r#""\"quoted\" \\ and\u000aa new line""#), "{json}");
    }
}
