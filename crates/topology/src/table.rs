//! The tables of a topology file and their keys, with the lines in which they are.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use towpath_base::config::nearest;
use towpath_machine::levels::MachineDescription;

use crate::error::{Error, Result};
use crate::figures::Stated;
use crate::links::LinkFacts;
use crate::{names, units};

/// Keys that describe a link.
pub(crate) const LINK_KEYS: [&str; 3] = ["rate", "latency", "half_duplex"];

/// Speeds of processors, relative to an ordinary one.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// A table of a topology file.
pub(crate) struct FileTable<'a> {
    /// Its name as in the file, with brackets.
    pub(crate) title: String,
    pub(crate) line: usize,
    text: &'a str,
    entries: &'a DeTable<'a>,
}

/// The line of a position in a text, counted from 1.
fn line_of(text: &str, position: usize) -> usize {
    let before = &text.as_bytes()[..position.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// Parses a text as TOML.
///
/// # Errors
/// If it is not valid TOML.
pub(crate) fn document(text: &str) -> Result<Spanned<DeTable<'_>>> {
    DeTable::parse(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        let reason = error.message().lines().collect::<Vec<_>>().join("; ");
        Error::new(line, format!("this is not TOML: {reason}."))
    })
}

/// Maximum number of names that an error message lists.
const LISTED: usize = 8;

/// The error for a name that does not exist. It suggests the most similar name that does, or lists
/// those that do.
pub(crate) fn unknown<'a>(
    line: usize,
    what: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    name: &str,
) -> Error {
    let hint = match nearest(name, known.clone()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => {
            let more = if known.clone().nth(LISTED).is_some() { " and others" } else { "" };
            format!("there are {}{more}.", known.take(LISTED).collect::<Vec<_>>().join(", "))
        }
    };
    Error::new(line, format!("{what}: {hint}"))
}

/// The tables of a file, by kind.
pub(crate) struct FileTables<'a> {
    pub(crate) default: Option<FileTable<'a>>,
    pub(crate) links: Vec<FileTable<'a>>,
    pub(crate) groups: Vec<FileTable<'a>>,
    pub(crate) hosts: Vec<FileTable<'a>>,
}

impl<'a> FileTables<'a> {
    /// Sorts the tables of a document.
    ///
    /// # Errors
    /// If there is a table of another name, or a key outside all tables.
    pub(crate) fn of(text: &'a str, document: &'a DeTable<'a>) -> Result<FileTables<'a>> {
        let mut tables =
            FileTables { default: None, links: Vec::new(), groups: Vec::new(), hosts: Vec::new() };
        for (key, value) in document {
            let line = line_of(text, key.span().start);
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("default", DeValue::Table(entries)) => {
                    let title = "[default]".to_owned();
                    tables.default = Some(FileTable { title, line, text, entries });
                }
                ("link", value) => tables.links = each(text, "link", line, value)?,
                ("group", value) => tables.groups = each(text, "group", line, value)?,
                ("host", value) => tables.hosts = each(text, "host", line, value)?,
                ("default", _) => {
                    return Err(Error::new(line, "default is a table, written [default]."));
                }
                (name, _) => {
                    let known = ["default", "link", "group", "host"];
                    let what = format!("there is no table {name}");
                    return Err(unknown(line, &what, known.into_iter(), name));
                }
            }
        }
        Ok(tables)
    }
}

/// The tables of an array.
fn each<'a>(
    text: &'a str,
    name: &str,
    line: usize,
    value: &'a DeValue<'a>,
) -> Result<Vec<FileTable<'a>>> {
    let title = format!("[[{name}]]");
    let wrong = |line| Error::new(line, format!("{name} is a list of tables, written {title}."));
    let DeValue::Array(array) = value else { return Err(wrong(line)) };
    let table = |item: &'a Spanned<DeValue<'a>>| {
        let line = line_of(text, item.span().start);
        let DeValue::Table(entries) = item.get_ref() else { return Err(wrong(line)) };
        Ok(FileTable { title: title.clone(), line, text, entries })
    };
    array.iter().map(table).collect()
}

impl<'a> FileTable<'a> {
    /// Checks that the table has no other keys than these.
    ///
    /// # Errors
    /// The first other key.
    pub(crate) fn only(&self, keys: &[&str]) -> Result<()> {
        for key in self.entries.keys() {
            let name = key.get_ref().as_ref();
            if !keys.contains(&name) {
                let what = format!("{} has no key {name}", self.title);
                let line = line_of(self.text, key.span().start);
                return Err(unknown(line, &what, keys.iter().copied(), name));
            }
        }
        Ok(())
    }

    fn entry(&self, key: &str) -> Option<(&'a DeValue<'a>, usize)> {
        let value = self.entries.get(key)?;
        Some((value.get_ref(), line_of(self.text, value.span().start)))
    }

    /// The error for a value of the wrong type.
    fn must_be(&self, key: &str, line: usize, what: &str) -> Error {
        Error::new(line, format!("{key} of {} must be {what}.", self.title))
    }

    /// A text.
    pub(crate) fn text(&self, key: &str, example: &str) -> Result<Option<Stated<&'a str>>> {
        let Some((value, line)) = self.entry(key) else { return Ok(None) };
        match value {
            DeValue::String(text) => Ok(Some(Stated { value: text, line })),
            _ => Err(self.must_be(key, line, &format!("a text such as {example}"))),
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self, key: &str) -> Result<Option<Stated<Vec<&'a str>>>> {
        let Some((value, line)) = self.entry(key) else { return Ok(None) };
        let texts = value.as_array().and_then(|array| {
            array.iter().map(|item| item.get_ref().as_str()).collect::<Option<Vec<_>>>()
        });
        let texts = texts.ok_or_else(|| self.must_be(key, line, "a list of texts"))?;
        Ok(Some(Stated { value: texts, line }))
    }

    /// True or false.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<Stated<bool>>> {
        let Some((value, line)) = self.entry(key) else { return Ok(None) };
        match value {
            DeValue::Boolean(value) => Ok(Some(Stated { value: *value, line })),
            _ => Err(self.must_be(key, line, "true or false")),
        }
    }

    /// The speed of a processor.
    pub(crate) fn speed(&self, key: &str) -> Result<Option<Stated<f64>>> {
        let Some((value, line)) = self.entry(key) else { return Ok(None) };
        let number: Option<f64> = match value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        match number.filter(|number| SPEEDS.contains(number)) {
            Some(value) => Ok(Some(Stated { value, line })),
            None => {
                let (least, most) = (SPEEDS.start(), SPEEDS.end());
                Err(self.must_be(key, line, &format!("a number from {least} to {most}")))
            }
        }
    }

    /// The levels of a machine, in the words of TOWPATH_MACHINE.
    pub(crate) fn levels(&self) -> Result<Option<Stated<MachineDescription>>> {
        let example = "\"package 2; core 8\"";
        let Some(Stated { value: text, line }) = self.text("levels", example)? else {
            return Ok(None);
        };
        let value = MachineDescription::parse(text).map_err(|problem| {
            let (text, title) = (text.escape_debug(), &self.title);
            Error::new(line, format!("levels '{text}' of {title} is no description: {problem}"))
        })?;
        Ok(Some(Stated { value, line }))
    }

    /// A quantity with a unit.
    fn quantity(
        &self,
        key: &str,
        example: &str,
        read: fn(&str) -> std::result::Result<u64, String>,
    ) -> Result<Option<Stated<u64>>> {
        let Some(Stated { value: text, line }) = self.text(key, example)? else { return Ok(None) };
        let wrong = |reason| {
            Error::new(line, format!("{key} '{}' of {} {reason}", text.escape_debug(), self.title))
        };
        Ok(Some(Stated { value: read(text).map_err(wrong)?, line }))
    }

    /// The keys that describe a link.
    pub(crate) fn link(&self) -> Result<LinkFacts> {
        Ok(LinkFacts {
            rate: self.quantity("rate", "\"1Gbit\" or \"125MB\"", units::rate)?,
            latency: self.quantity("latency", "\"40us\"", units::latency)?,
            half_duplex: self.flag("half_duplex")?,
        })
    }

    /// The hosts of the table; empty if it lacks the key `hosts`.
    pub(crate) fn hosts(&self) -> Result<Stated<Vec<String>>> {
        let Some(Stated { value: list, line }) = self.text("hosts", "\"a,n[0-15]\"")? else {
            return Ok(Stated { value: Vec::new(), line: self.line });
        };
        let compact: String = list.chars().filter(|sign| !sign.is_whitespace()).collect();
        let is_name =
            |name: &String| !name.contains(|sign: char| sign.is_control() || "[]".contains(sign));
        let names =
            names::expand(&compact).filter(|names| !names.is_empty() && names.iter().all(is_name));
        let names = names.ok_or_else(|| {
            Error::new(
                line,
                format!(
                    "hosts '{}' of {} is not a list of hosts such as a,b or n[0-15]: a range is \
                     empty, too long or not closed.",
                    list.escape_debug(),
                    self.title
                ),
            )
        })?;
        Ok(Stated { value: names, line })
    }
}
