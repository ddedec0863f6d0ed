//! Text that is written line by line.

use std::fmt::{self, Write};

/// A file of C++ that is written.
#[derive(Debug, Default)]
pub(crate) struct Text {
    written: String,
}

impl Text {
    /// Writes a line, or several.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.written.push_str(line.as_ref());
        self.written.push('\n');
    }

    /// The number of the line that is written next.
    pub(crate) fn next_line(&self) -> usize {
        self.written.matches('\n').count() + 1
    }

    pub(crate) fn into_string(self) -> String {
        self.written
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.written.push_str(text);
        Ok(())
    }
}

/// Writes a line, as `println!` does.
macro_rules! line {
    ($out:expr, $($words:tt)*) => {
        $out.line(format!($($words)*))
    };
}
pub(crate) use line;
