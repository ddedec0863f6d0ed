//! The PMI-1 wire: lines of `key=value` pairs separated by blanks, each line one message, its first
//! pair `cmd=NAME`.
//!
//! Facts from the exchanges seen on the wire of MPICH's Hydra, Intel's Hydra and gforker: the order
//! of keys differs, a text (`msg=key not found`) may hold blanks, answers may carry keys nobody
//! asked for. So the parser keeps pairs in a list, adds a word without `=` to the value before it,
//! and never fails on anything but an endless line.
//!
//! PMI-2 carries the same messages in records: [`records`].
#![forbid(unsafe_code)]

pub mod records;

/// Longest line that is accepted in bytes; the longest that any known server sends is 4096 plus a
/// few keys.
pub const LONGEST_LINE: usize = 64 * 1024;

/// One line of the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pairs: Vec<(String, String)>,
}

impl Message {
    /// A message that carries a command and nothing else yet.
    pub fn new(command: &str) -> Message {
        Message { pairs: vec![("cmd".to_owned(), command.to_owned())] }
    }

    /// The same message with one more pair.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl ToString) -> Message {
        self.pairs.push((key.to_owned(), value.to_string()));
        self
    }

    /// Reads a line (with or without its newline). Never fails: what is no pair becomes part of the
    /// value before it.
    pub fn parse(line: &[u8]) -> Message {
        let text = String::from_utf8_lossy(line);
        let mut pairs: Vec<(String, String)> = Vec::new();
        for word in text.trim_end_matches(['\n', '\r', '\0']).split(' ').filter(|word| !word.is_empty()) {
            match (word.split_once('='), pairs.last_mut()) {
                (Some((key, value)), _) if !key.is_empty() => pairs.push((key.to_owned(), value.to_owned())),
                (_, Some((_, value))) => {
                    value.push(' ');
                    value.push_str(word);
                }
                (_, None) => pairs.push((word.to_owned(), String::new())),
            }
        }
        Message { pairs }
    }

    /// The value of a key; `None` when the message does not have it.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The value of a key as a number.
    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.trim().parse().ok()
    }

    /// The command; empty when the line names none. `mcmd` (messages of several lines) counts as
    /// one.
    pub fn command(&self) -> &str {
        self.get("cmd").or_else(|| self.get("mcmd")).unwrap_or("")
    }

    /// The line as it goes onto the wire, with its newline.
    ///
    /// # Errors
    /// A sentence when a key or value cannot travel: a newline, or a blank or `=` in a key.
    pub fn to_line(&self) -> Result<Vec<u8>, String> {
        let mut line = String::new();
        for (key, value) in &self.pairs {
            if key.is_empty() || key.contains([' ', '=', '\n', '\0']) {
                return Err(format!("The key {key:?} holds a character that the launcher's protocol cannot carry."));
            }
            if value.contains(['\n', '\0']) {
                return Err(format!("The value of the key {key} holds a line break, which the launcher cannot carry."));
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

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
pub struct LineReader {
    held: Vec<u8>,
    searched: usize,
}

impl LineReader {
    /// Takes bytes as they arrive.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next whole line without its newline; `Ok(None)` when more bytes are needed.
    ///
    /// # Errors
    /// A sentence when a line grows beyond [`LONGEST_LINE`].
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, String> {
        match self.held[self.searched..].iter().position(|&byte| byte == b'\n') {
            Some(place) => {
                let rest = self.held.split_off(self.searched + place + 1);
                let mut line = std::mem::replace(&mut self.held, rest);
                line.pop();
                self.searched = 0;
                Ok(Some(line))
            }
            None if self.held.len() > LONGEST_LINE => {
                Err(format!("a line of more than {LONGEST_LINE} bytes arrived on the PMI connection"))
            }
            None => {
                self.searched = self.held.len();
                Ok(None)
            }
        }
    }
}

/// Makes any text fit for a PMI value: everything but letters, digits and a few harmless signs
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

/// Undoes [`escape`]; a broken escape stays as it is.
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
        let mpich = Message::parse(b"cmd=get_result rc=1 msg=key bc-0 not found value=unknown\n");
        let intel = Message::parse(b"rc=-1 cmd=get_result  value=unknown msg=key_not_found");
        assert_eq!((mpich.command(), mpich.number("rc")), ("get_result", Some(1)));
        assert_eq!(mpich.get("msg"), Some("key bc-0 not found"));
        assert_eq!((intel.command(), intel.number("rc")), ("get_result", Some(-1)));
    }

    #[test]
    fn a_mapping_keeps_its_signs() {
        let message = Message::parse(b"cmd=get_result rc=0 value=(vector,(0,1,2)) a=b=c");
        assert_eq!(message.get("value"), Some("(vector,(0,1,2))"));
        assert_eq!(message.get("a"), Some("b=c"));
    }

    #[test]
    fn line_breaks_cannot_be_smuggled_in() {
        assert!(Message::new("put").with("value", "a\ncmd=abort").to_line().is_err());
        assert!(Message::new("put").with("a b", "x").to_line().is_err());
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
            let message = Message::parse(&bytes);
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
            let message = Message::new("put").with(&key, &value).with("rc", 0);
            let back = Message::parse(&message.to_line().unwrap());
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
