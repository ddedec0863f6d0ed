//! The PMI-1 wire format: lines of `key=value` pairs separated by blanks. Each line is one message,
//! and its first pair is `cmd=NAME`.
//!
//! Observed in the traffic of MPICH's Hydra, Intel's Hydra and gforker: the order of keys differs,
//! a text (`msg=key not found`) may contain blanks, and answers may carry additional keys. The
//! parser therefore keeps the pairs in a list, appends a word without `=` to the preceding value,
//! and fails only on an overlong line.
//!
//! PMI-2 carries the same messages in records: see [`records`].
#![forbid(unsafe_code)]

pub mod records;

/// Longest accepted line in bytes. The longest line that any known server sends is 4096 bytes plus
/// a few keys.
pub const LONGEST_LINE: usize = 64 * 1024;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PmiMessage {
    pairs: Vec<(String, String)>,
}

impl PmiMessage {
    /// Creates a message with a command and no other pairs.
    pub fn new(command: &str) -> PmiMessage {
        PmiMessage { pairs: vec![("cmd".to_owned(), command.to_owned())] }
    }

    /// Adds a pair to the message.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl ToString) -> PmiMessage {
        self.pairs.push((key.to_owned(), value.to_string()));
        self
    }

    /// Parses a line, with or without its newline. Never fails: a word that is not a pair becomes
    /// part of the preceding value.
    pub fn parse(line: &[u8]) -> PmiMessage {
        let text = String::from_utf8_lossy(line);
        let mut pairs: Vec<(String, String)> = Vec::new();
        for word in
            text.trim_end_matches(['\n', '\r', '\0']).split(' ').filter(|word| !word.is_empty())
        {
            match (word.split_once('='), pairs.last_mut()) {
                (Some((key, value)), _) if !key.is_empty() => {
                    pairs.push((key.to_owned(), value.to_owned()))
                }
                (_, Some((_, value))) => {
                    value.push(' ');
                    value.push_str(word);
                }
                (_, None) => pairs.push((word.to_owned(), String::new())),
            }
        }
        PmiMessage { pairs }
    }

    /// The value of a key; `None` if the message does not have it.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The value of a key as a number.
    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.trim().parse().ok()
    }

    /// The command; empty if the line names none. `mcmd` (a message of several lines) is accepted
    /// as well.
    pub fn command(&self) -> &str {
        self.get("cmd").or_else(|| self.get("mcmd")).unwrap_or("")
    }

    /// Encodes the message as a line, newline included.
    ///
    /// # Errors
    /// An error message for the user if a key or value cannot be encoded: a newline or NUL in
    /// either, or a blank or `=` in a key.
    pub fn to_line(&self) -> Result<Vec<u8>, String> {
        let mut line = String::new();
        for (key, value) in &self.pairs {
            if key.is_empty() || key.contains([' ', '=', '\n', '\0']) {
                return Err(format!(
                    "The key {key:?} contains a character that the launcher's protocol cannot encode."
                ));
            }
            if value.contains(['\n', '\0']) {
                return Err(format!(
                    "The value of the key {key} contains a line break, which the launcher's protocol cannot encode."
                ));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(key);
            line.push('=');
            line.push_str(value);
        }
        line.push('\n');
        Ok(line.into_bytes())
    }
}

/// Splits a byte stream into lines.
#[derive(Debug, Default)]
pub struct LineReader {
    held: Vec<u8>,
    searched: usize,
}

impl LineReader {
    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next complete line without its newline; `Ok(None)` if more bytes are needed.
    ///
    /// # Errors
    /// An error message if a line grows beyond [`LONGEST_LINE`].
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, String> {
        match self.held[self.searched..].iter().position(|&byte| byte == b'\n') {
            Some(place) => {
                let rest = self.held.split_off(self.searched + place + 1);
                let mut line = std::mem::replace(&mut self.held, rest);
                line.pop();
                self.searched = 0;
                Ok(Some(line))
            }
            None if self.held.len() > LONGEST_LINE => Err(format!(
                "a line of more than {LONGEST_LINE} bytes arrived on the PMI connection"
            )),
            None => {
                self.searched = self.held.len();
                Ok(None)
            }
        }
    }
}

/// Encodes any bytes as a PMI value: everything except letters, digits and a few safe characters
/// becomes `%XX`.
pub fn escape(text: &[u8]) -> String {
    let mut escaped = String::new();
    for &byte in text {
        if byte.is_ascii_alphanumeric() || b"_-./:,".contains(&byte) {
            escaped.push(byte as char);
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Reverses [`escape`]; an invalid escape is copied unchanged.
pub fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut plain = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_order_of_keys_does_not_matter_and_texts_keep_their_blanks() {
        let mpich =
            PmiMessage::parse(b"cmd=get_result rc=1 msg=key bc-0 not found value=unknown\n");
        let intel = PmiMessage::parse(b"rc=-1 cmd=get_result  value=unknown msg=key_not_found");
        assert_eq!((mpich.command(), mpich.number("rc")), ("get_result", Some(1)));
        assert_eq!(mpich.get("msg"), Some("key bc-0 not found"));
        assert_eq!((intel.command(), intel.number("rc")), ("get_result", Some(-1)));
    }

    #[test]
    fn a_mapping_keeps_its_signs() {
        let message = PmiMessage::parse(b"cmd=get_result rc=0 value=(vector,(0,1,2)) a=b=c");
        assert_eq!(message.get("value"), Some("(vector,(0,1,2))"));
        assert_eq!(message.get("a"), Some("b=c"));
    }

    #[test]
    fn line_breaks_cannot_be_smuggled_in() {
        assert!(PmiMessage::new("put").with("value", "a\ncmd=abort").to_line().is_err());
        assert!(PmiMessage::new("put").with("a b", "x").to_line().is_err());
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let mut reader = LineReader::default();
        reader.push(&vec![b'x'; LONGEST_LINE + 1]);
        assert!(reader.next_line().is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let message = PmiMessage::parse(&bytes);
            let _ = (message.command(), message.get("rc"), message.number::<i32>("rc"));
            let mut reader = LineReader::default();
            for piece in bytes.chunks(7) {
                reader.push(piece);
                while let Ok(Some(line)) = reader.next_line() {
                    prop_assert!(!line.contains(&b'\n'));
                }
            }
            prop_assert_eq!(unescape(&escape(&bytes)), bytes);
        }

        #[test]
        fn what_is_written_is_read(value in "[!-~]{0,40}", key in "[a-z_]{1,12}") {
            prop_assume!(key != "cmd");
            let message = PmiMessage::new("put").with(&key, &value).with("rc", 0);
            let back = PmiMessage::parse(&message.to_line().unwrap());
            prop_assert_eq!(back, message);
        }

        #[test]
        fn lines_survive_any_cutting(lines in proptest::collection::vec("[a-z= ]{0,30}", 0..20), cut in 1usize..9) {
            let whole = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let mut reader = LineReader::default();
            let mut seen = Vec::new();
            for piece in whole.as_bytes().chunks(cut) {
                reader.push(piece);
                while let Some(line) = reader.next_line().unwrap() {
                    seen.push(String::from_utf8(line).unwrap());
                }
            }
            prop_assert_eq!(seen, lines);
        }
    }
}
