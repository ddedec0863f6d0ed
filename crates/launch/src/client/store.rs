//! The operations that every launcher's protocol offers once a process has connected: a key-value
//! store, a fence over all processes, abort and finalize. [`super::handover`] and the ranks'
//! business cards need nothing else.

use std::os::fd::OwnedFd;

use crate::error::Error;
use crate::wire::{escape, unescape};

/// Longest key in bytes. The servers' limit is 64, and the pieces of a long value have a number
/// appended to the key.
const LONGEST_KEY: usize = 56;

/// The key-value store of a launcher, as one process of the job sees it.
pub(super) trait Store {
    /// Name of the launcher.
    fn launcher(&self) -> &str;
    /// Longest value that [`Store::put_raw`] takes, in bytes.
    fn longest_value(&self) -> usize;
    /// Puts a value that is short and already escaped.
    fn put_raw(&mut self, key: &str, value: &str) -> Result<(), Error>;
    /// Returns the value of a key as the server has it; `None` if it has none. Some servers look up
    /// a value by the rank that has put it (`owner`); without an owner they must search the values
    /// of every rank.
    fn get_raw(&mut self, owner: Option<u32>, key: &str) -> Result<Option<String>, Error>;
    /// Waits for all processes of the job.
    fn fence(&mut self) -> Result<(), Error>;
    /// Waits for all processes of the job and calls `serve` whenever `listener` is readable.
    fn fence_serving(&mut self, listener: &OwnedFd, serve: &mut dyn FnMut()) -> Result<(), Error>;
    /// Requests the end of the job. The launcher may kill this process before the call returns.
    fn abort(&mut self, code: i32, sentence: Option<&str>) -> Result<(), Error>;
    /// True if the launcher ends the ranks of an aborted job itself and must find them alive then.
    fn ends_ranks(&self) -> bool {
        false
    }
    /// Disconnects from the launcher.
    fn finalize(&mut self) -> Result<(), Error>;

    /// Puts a value of any length and content, in pieces if it exceeds the server's limit.
    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        if key.is_empty()
            || key.len() > LONGEST_KEY
            || key.contains(|c: char| !c.is_ascii_graphic() || c == '=' || c == ';')
        {
            return Err(Error::Unsendable(format!(
                "The key {key:?} cannot be published: launchers accept 1 to {LONGEST_KEY} characters without blanks, '=' and ';'."
            )));
        }
        for (number, piece) in pieces(value, self.longest_value()).into_iter().enumerate() {
            self.put_raw(&key_of_piece(key, number), &piece)?;
        }
        Ok(())
    }

    /// Returns the value that [`Store::put`] put under a key.
    fn get(&mut self, owner: Option<u32>, key: &str) -> Result<Option<String>, Error> {
        joined(key, |key| self.get_raw(owner, key))
    }
}

/// Joins the pieces of the value of a key, which `piece` returns by their own keys; `None` if there
/// is no such value.
pub(crate) fn joined(
    key: &str,
    mut piece: impl FnMut(&str) -> Result<Option<String>, Error>,
) -> Result<Option<String>, Error> {
    let Some(first) = piece(key)? else { return Ok(None) };
    let wrong = || Error::Protocol {
        launcher: "the job".to_owned(),
        detail: format!("the value of {key} was not put by Towpath"),
    };
    let (count, first) = first.split_once('+').ok_or_else(wrong)?;
    let count: usize = count.parse().map_err(|_| wrong())?;
    let mut value = first.to_owned();
    for number in 1..count {
        value.push_str(&piece(&key_of_piece(key, number))?.ok_or_else(wrong)?);
    }
    String::from_utf8(unescape(&value)).map(Some).map_err(|_| wrong())
}

/// The key of a piece of a value.
pub(crate) fn key_of_piece(key: &str, number: usize) -> String {
    if number == 0 { key.to_owned() } else { format!("{key}+{number}") }
}

/// The pieces of a value; the first one starts with their number.
pub(crate) fn pieces(value: &str, longest: usize) -> Vec<String> {
    let value = escape(value.as_bytes());
    let parts: Vec<&[u8]> = value.as_bytes().chunks(longest.saturating_sub(16).max(1)).collect();
    let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
    let first = format!(
        "{}+{}",
        parts.len().max(1),
        parts.first().map(|part| text(part)).unwrap_or_default()
    );
    std::iter::once(first).chain(parts.iter().skip(1).map(|part| text(part))).collect()
}
