//! What is wrong with an interface file, and where.

use std::fmt;

/// An interface file: its name and its text.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'s> {
    /// As messages name it.
    pub name: &'s str,
    /// All of it.
    pub text: &'s str,
}

/// An error at a place of an interface file. It is shown with its line and a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The number of the character in the line, from 1.
    pub column: usize,
    /// The line itself.
    pub text: String,
    /// A sentence: what is wrong, and what to do.
    pub message: String,
}

impl Diagnostic {
    pub(crate) fn new(source: SourceFile<'_>, at: usize, message: String) -> Diagnostic {
        let before = &source.text[..at.min(source.text.len())];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let text = source.text[start..].lines().next().unwrap_or("");
        Diagnostic {
            file: source.name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            text: text.to_owned(),
            message,
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { file, line, column, text, message } = self;
        writeln!(f, "{file}:{line}:{column}: {message}")?;
        writeln!(f, "  {text}")?;
        // A tab of the line is as wide under it.
        let indent = text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' });
        write!(f, "  {}^", indent.collect::<String>())
    }
}

impl std::error::Error for Diagnostic {}
