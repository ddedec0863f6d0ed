//! The secret of a job. Processes on different hosts prove knowledge of it before any other data
//! from them is interpreted. It is sent over the launcher's own connections only and never appears
//! in a command line, a file name or a message to the user.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

/// The secret of a job, the same in all its processes.
#[derive(Clone, PartialEq, Eq)]
pub struct JobKey(pub [u8; 32]);

impl JobKey {
    /// Generates a secret from the system's random numbers.
    ///
    /// # Errors
    /// The system's error if /dev/urandom cannot be read.
    pub fn random() -> io::Result<JobKey> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(JobKey(bytes))
    }

    /// The secret as 64 hexadecimal digits.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Parses the output of [`JobKey::to_text`].
    pub fn parse(text: &str) -> Option<JobKey> {
        let digits: Option<Vec<u8>> =
            text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
        let digits = digits.filter(|digits| digits.len() == 64)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Some(JobKey(bytes))
    }

    /// The secret, and whether the job has a topology, as text.
    pub(crate) fn to_text_with(&self, has_topology: bool) -> String {
        format!("{}:{}", self.to_text(), u8::from(has_topology))
    }

    /// Parses the output of [`JobKey::to_text_with`].
    pub(crate) fn parse_with(text: &str) -> Option<(JobKey, bool)> {
        let (key, topology) = text.split_once(':')?;
        let has_topology = match topology {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        Some((JobKey::parse(key)?, has_topology))
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JobKey(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_and_never_shown() {
        let key = JobKey::random().unwrap();
        assert_eq!(JobKey::parse(&key.to_text()), Some(key.clone()));
        assert_ne!(JobKey::random().unwrap(), key);
        assert!(!format!("{key:?}").contains(&key.to_text()[..8]));
        for text in ["", "ab", &"x".repeat(64), &"a".repeat(65), &"é".repeat(32)] {
            assert_eq!(JobKey::parse(text), None, "{text}");
        }
        for has_topology in [false, true] {
            let text = key.to_text_with(has_topology);
            assert_eq!(JobKey::parse_with(&text), Some((key.clone(), has_topology)));
        }
        assert_eq!(JobKey::parse_with(&key.to_text()), None);
    }
}
