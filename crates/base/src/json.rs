//! Objects of JSON without objects or arrays inside, one on a line, as reports of chares have them.

use std::fmt::Write;

/// A value in such an object.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// `true` or `false`.
    Flag(bool),
    /// `null`.
    Nothing,
}

/// A text with the quotation marks and escapes of JSON.
pub fn quoted(text: &str) -> String {
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

/// The names and values of an object, in their order; `None` if the line is no such object.
pub fn fields(line: &str) -> Option<Vec<(String, JsonValue)>> {
    let mut rest = line.trim().strip_prefix('{')?.trim_start();
    let mut all = Vec::new();
    if let Some(end) = rest.strip_prefix('}') {
        return end.is_empty().then_some(all);
    }
    loop {
        let (name, behind) = text(rest)?;
        let (value, behind) = value(behind.trim_start().strip_prefix(':')?.trim_start())?;
        all.push((name, value));
        let behind = behind.trim_start();
        match behind.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => return (behind == "}").then_some(all),
        }
    }
}

/// A value, and what follows it.
fn value(from: &str) -> Option<(JsonValue, &str)> {
    if from.starts_with('"') {
        return text(from).map(|(text, rest)| (JsonValue::Text(text), rest));
    }
    let end = from.find([',', '}', ' ']).unwrap_or(from.len());
    let (word, rest) = from.split_at(end);
    let value = match word {
        "true" => JsonValue::Flag(true),
        "false" => JsonValue::Flag(false),
        "null" => JsonValue::Nothing,
        _ => JsonValue::Number(word.parse().ok().filter(|number: &f64| number.is_finite())?),
    };
    Some((value, rest))
}

/// A text, and what follows it.
fn text(from: &str) -> Option<(String, &str)> {
    let rest = from.strip_prefix('"')?;
    let (mut all, mut signs) = (String::new(), rest.char_indices());
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => return Some((all, &rest[at + 1..])),
            '\\' => all.push(escaped(&mut signs)?),
            sign => all.push(sign),
        }
    }
    None
}

/// What an escape stands for.
fn escaped(signs: &mut std::str::CharIndices<'_>) -> Option<char> {
    Some(match signs.next()?.1 {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let digits: String = signs.take(4).map(|(_, digit)| digit).collect();
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
        }
        sign @ ('"' | '\\' | '/') => sign,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_read_again() {
        for original in ["", "Cell", "a \"b\" \\ c\nd\u{1}", "über, {all}: \u{1F600}"] {
            let line = format!("{{\"name\":{}, \"elements\" : 3}}", quoted(original));
            let name = ("name".to_owned(), JsonValue::Text(original.to_owned()));
            let elements = ("elements".to_owned(), JsonValue::Number(3.0));
            assert_eq!(fields(&line), Some(vec![name, elements]), "{line}");
        }
        let line = r#"{"a":-1.5e3,"b":true,"c":null,"d":"\u0041\/\t"}"#;
        let values: Vec<JsonValue> = fields(line).unwrap().into_iter().map(|(_, v)| v).collect();
        let expected = [JsonValue::Number(-1500.0), JsonValue::Flag(true), JsonValue::Nothing];
        assert_eq!(values[..3], expected);
        assert_eq!(values[3], JsonValue::Text("A/\t".to_owned()));
        assert_eq!(fields(" {} "), Some(Vec::new()));
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "{",
            "{}}",
            "[]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\":[1]}",
            "{\"a\":{}}",
            "{\"a\":nan}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12\"}",
            "{\"a\":\"b}",
            "{\"a\":1}x",
            "{a:1}",
        ] {
            assert_eq!(fields(line), None, "{line}");
        }
    }
}
