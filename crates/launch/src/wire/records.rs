//! The PMI-2 wire format: records of `key=value;` pairs, each preceded by its length in six decimal
//! digits padded with blanks.
//!
//! According to the published description of PMI and to observed traffic of Slurm's plugin, a
//! client may pad the length on the left, the server pads it on the right; a `;` inside a value is
//! doubled. The first exchange on a connection, which negotiates the version, uses lines as in
//! PMI-1. Received data is not trusted: a length that is not a number is an error, and six digits
//! bound it.
#![forbid(unsafe_code)]

use super::PmiMessage;

/// Size in bytes of the length in front of each record.
const LENGTH: usize = 6;
/// Longest record in bytes: the largest length that six digits can express.
pub const LONGEST_RECORD: usize = 999_999;

/// Parses the text of a record. Never fails: a part without `=` becomes a key with an empty value.
pub fn parse(record: &[u8]) -> PmiMessage {
    let text = String::from_utf8_lossy(record);
    let mut pairs = Vec::new();
    let mut pair = String::new();
    let mut signs = text.trim_end_matches(['\n', '\0']).chars().peekable();
    while let Some(sign) = signs.next() {
        if sign != ';' || signs.next_if_eq(&';').is_some() {
            pair.push(sign);
        } else {
            close(&mut pair, &mut pairs);
        }
    }
    close(&mut pair, &mut pairs);
    PmiMessage { pairs }
}

fn close(pair: &mut String, pairs: &mut Vec<(String, String)>) {
    let pair = std::mem::take(pair);
    if !pair.is_empty() {
        let (key, value) = pair.split_once('=').unwrap_or((&pair, ""));
        pairs.push((key.to_owned(), value.to_owned()));
    }
}

/// Encodes the message as a record, length included.
///
/// # Errors
/// An error message for the user if a key or value cannot be encoded, or the record is too long.
pub fn write(message: &PmiMessage) -> Result<Vec<u8>, String> {
    let mut text = String::new();
    for (key, value) in &message.pairs {
        if key.is_empty() || key.contains([';', '=', '\n', '\0']) || value.contains('\0') {
            return Err(format!(
                "The key {key:?} or its value contains a character that PMI-2 cannot encode."
            ));
        }
        text.push_str(key);
        text.push('=');
        text.push_str(&value.replace(';', ";;"));
        text.push(';');
    }
    if text.len() > LONGEST_RECORD {
        return Err(format!(
            "A request of {} bytes is longer than PMI-2 allows ({LONGEST_RECORD}).",
            text.len()
        ));
    }
    Ok(format!("{:<LENGTH$}{text}", text.len()).into_bytes())
}

/// Splits a byte stream into records.
#[derive(Debug, Default)]
pub struct RecordReader {
    held: Vec<u8>,
}

impl RecordReader {
    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next complete record without its length; `Ok(None)` if more bytes are needed.
    ///
    /// # Errors
    /// An error message if a record does not begin with its length.
    pub fn next_record(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some(digits) = self.held.get(..LENGTH) else { return Ok(None) };
        let length: usize = std::str::from_utf8(digits)
            .ok()
            .and_then(|text| text.trim_matches([' ', '\0']).parse().ok())
            .ok_or_else(|| {
                "a record of the PMI-2 connection does not begin with its length".to_owned()
            })?;
        if self.held.len() < LENGTH + length {
            return Ok(None);
        }
        let rest = self.held.split_off(LENGTH + length);
        let mut record = std::mem::replace(&mut self.held, rest);
        record.drain(..LENGTH);
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers_of_slurm() {
        let full = parse(
            b"cmd=fullinit-response;rc=0;pmi-version=2;rank=1;size=4;appnum=-1;debugged=FALSE;",
        );
        assert_eq!(
            (full.command(), full.number("rank"), full.number("appnum")),
            ("fullinit-response", Some(1), Some(-1))
        );
        let mapping =
            parse(b"cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,1,2));");
        assert_eq!(mapping.get("value"), Some("(vector,(0,1,2))"));
    }

    #[test]
    fn lengths_are_padded_on_either_side() {
        let mut reader = RecordReader::default();
        reader.push(b"     6cmd=a;6     cmd=b;");
        assert_eq!(reader.next_record(), Ok(Some(b"cmd=a;".to_vec())));
        assert_eq!(reader.next_record(), Ok(Some(b"cmd=b;".to_vec())));
        assert_eq!(reader.next_record(), Ok(None));
        assert_eq!(write(&PmiMessage::new("finalize")), Ok(b"13    cmd=finalize;".to_vec()));
    }

    #[test]
    fn what_is_no_length_is_an_error() {
        for start in [&b"cmd=xy"[..], b"-5    ", b"      ", b"1 2   "] {
            let mut reader = RecordReader::default();
            reader.push(start);
            assert!(reader.next_record().is_err(), "{start:?}");
        }
        assert!(write(&PmiMessage::new("x").with("value", "v".repeat(LONGEST_RECORD))).is_err());
        assert!(write(&PmiMessage::new("x").with("a;b", "")).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 1usize..20) {
            let message = parse(&bytes);
            let _ = (message.command(), message.number::<i32>("rc"));
            let mut reader = RecordReader::default();
            for piece in bytes.chunks(cut) {
                reader.push(piece);
                while let Ok(Some(record)) = reader.next_record() {
                    prop_assert!(record.len() <= bytes.len());
                }
            }
        }

        #[test]
        fn what_is_written_is_read(values in proptest::collection::vec("[ -~]{1,30}", 1..6), cut in 1usize..20) {
            let messages: Vec<PmiMessage> =
                values.iter().map(|value| PmiMessage::new("kvs-put").with("key", "k").with("value", value)).collect();
            let mut reader = RecordReader::default();
            let mut seen = Vec::new();
            let bytes: Vec<u8> = messages.iter().flat_map(|message| write(message).unwrap()).collect();
            for piece in bytes.chunks(cut) {
                reader.push(piece);
                while let Some(record) = reader.next_record().unwrap() {
                    seen.push(parse(&record));
                }
            }
            prop_assert_eq!(seen, messages);
        }
    }
}
