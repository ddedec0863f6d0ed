//! As much of the lexical rules of C++ as it takes to find the end of what is passed through:
//! comments, literals and brackets. All functions give lengths in bytes.

/// Length of the word that the text begins with.
pub(crate) fn word(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}

/// Length of the number that the text begins with, with separators of digits.
pub(crate) fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        let separates =
            *byte == b'\'' && bytes.get(length + 1).is_some_and(u8::is_ascii_alphanumeric);
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || separates) {
            break;
        }
        length += 1;
    }
    length
}

/// Length of the comment that the text begins with; 0 if it begins with none.
pub(crate) fn comment(text: &str) -> Result<usize, String> {
    if text.starts_with("//") {
        return Ok(text.find('\n').unwrap_or(text.len()));
    }
    if let Some(inside) = text.strip_prefix("/*") {
        let end = inside.find("*/").map(|end| end + 4);
        return end.ok_or_else(|| "This comment does not end: '*/' is missing.".to_owned());
    }
    Ok(0)
}

/// Length of the line that the text begins with, and of those that continue it.
pub(crate) fn directive(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end_matches(['\n', '\r']).ends_with('\\') {
            break;
        }
    }
    length
}

/// Length of the string or character that the text begins with.
pub(crate) fn literal(text: &str) -> Result<usize, String> {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'\n' => break,
            _ if byte == quote => return Ok(at + 1),
            _ => {}
        }
    }
    Err(format!("This literal does not end on its line: {} is missing.", quote as char))
}

/// Length of the raw string `R"delimiter(...)delimiter"` that the text begins with, if it does.
fn raw_string(text: &str) -> Option<Result<usize, String>> {
    let prefix = ["R\"", "LR\"", "uR\"", "UR\"", "u8R\""].iter().find(|p| text.starts_with(**p))?;
    let after = &text[prefix.len()..];
    let open = after.find('(').filter(|open| *open <= 16)?;
    let close = format!("){}\"", &after[..open]);
    let end = after.find(&close).map(|end| prefix.len() + end + close.len());
    Some(end.ok_or_else(|| format!("This raw string does not end: '{close}' is missing.")))
}

/// Length of the C++ that the text begins with, up to one of these characters outside of all
/// brackets. Errors have the place where they are.
pub(crate) fn until(text: &str, ends: &str) -> Result<usize, (usize, String)> {
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        if open.is_empty() && ends.as_bytes().contains(&byte) {
            return Ok(at);
        }
        let rest = &text[at..];
        let placed = |message| (at, message);
        at += match byte {
            b'/' => comment(rest).map_err(placed)?.max(1),
            b'"' | b'\'' => literal(rest).map_err(placed)?,
            b'0'..=b'9' => number(rest),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => match raw_string(rest) {
                Some(length) => length.map_err(placed)?,
                None => word(rest),
            },
            b'(' | b'[' | b'{' => {
                open.push((at, byte));
                1
            }
            b')' | b']' | b'}' => {
                close(open.pop(), byte).map_err(placed)?;
                1
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    let expected = ends.chars().map(|end| format!("'{end}'")).collect::<Vec<_>>().join(" or ");
    Err(match open.last() {
        Some((at, bracket)) => (*at, format!("This '{}' is not closed.", *bracket as char)),
        None => (text.len(), format!("The file ends here, but {expected} is missing.")),
    })
}

fn close(open: Option<(usize, u8)>, close: u8) -> Result<(), String> {
    let expected = match open {
        Some((_, b'(')) => b')',
        Some((_, b'[')) => b']',
        Some(_) => b'}',
        None => return Err(format!("There is no bracket that this '{}' closes.", close as char)),
    };
    if expected == close {
        return Ok(());
    }
    Err(format!("'{}' is expected here, not '{}'.", expected as char, close as char))
}
