//! What every launcher's protocol comes down to once a process has said hello: a store of texts, a
//! meeting of all processes, an end. [`super::handover`] and the ranks' business cards need nothing
//! else.

use std::os::fd::OwnedFd;

use crate::error::Error;
use crate::wire::{escape, unescape};

/// Longest key of a value in bytes: servers' limit is 64, and long values get a number behind their
/// key.
const LONGEST_KEY: usize = 56;

/// The store of a launcher, as one process of the job sees it.
pub(super) trait Store {
    /// Who serves it, in words.
    fn launcher(&self) -> &str;
    /// Longest value that [`Store::put_raw`] takes, in bytes.
    fn longest_value(&self) -> usize;
    /// Puts a short value of harmless signs.
    fn put_raw(&mut self, key: &str, value: &str) -> Result<(), Error>;
    /// The value of a key as the server has it; `None` when it has none. Some servers know values
    /// by the rank that has put them (`owner`); where it is not said they must look at what each
    /// rank has put.
    fn get_raw(&mut self, owner: Option<u32>, key: &str) -> Result<Option<String>, Error>;
    /// Waits for all processes of the job.
    fn fence(&mut self) -> Result<(), Error>;
    /// Waits for all processes of the job, and meanwhile calls `serve` whenever `listener` has
    /// something to read.
    fn fence_serving(&mut self, listener: &OwnedFd, serve: &mut dyn FnMut()) -> Result<(), Error>;
    /// Asks for the end of the job. The launcher may end this process before it returns.
    fn abort(&mut self, code: i32, sentence: Option<&str>) -> Result<(), Error>;
    /// Says goodbye.
    fn finalize(&mut self) -> Result<(), Error>;

    /// Puts a value of any length and content: what is longer than the server's limit goes in
    /// pieces.
    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        if key.is_empty()
            || key.len() > LONGEST_KEY
            || key.contains(|c: char| !c.is_ascii_graphic() || c == '=' || c == ';')
        {
            return Err(Error::Unsendable(format!(
                "The key {key:?} cannot be published: launchers take 1 to {LONGEST_KEY} signs without blanks, '=' and ';'."
            )));
        }
        for (number, piece) in pieces(value, self.longest_value()).into_iter().enumerate() {
            match number {
                0 => self.put_raw(key, &piece)?,
                _ => self.put_raw(&format!("{key}+{number}"), &piece)?,
            }
        }
        Ok(())
    }

    /// The value put under a key by [`Store::put`].
    fn get(&mut self, owner: Option<u32>, key: &str) -> Result<Option<String>, Error> {
        let Some(first) = self.get_raw(owner, key)? else { return Ok(None) };
        let wrong = || Error::Protocol {
            launcher: "the job".to_owned(),
            detail: format!("the value of {key} was not put by Towpath"),
        };
        let (count, first) = first.split_once('+').ok_or_else(wrong)?;
        let count: usize = count.parse().map_err(|_| wrong())?;
        let mut value = first.to_owned();
        for number in 1..count {
            value.push_str(&self.get_raw(owner, &format!("{key}+{number}"))?.ok_or_else(wrong)?);
        }
        String::from_utf8(unescape(&value)).map(Some).map_err(|_| wrong())
    }
}

/// The pieces of a value, the first with their number in front.
pub(crate) fn pieces(value: &str, longest: usize) -> Vec<String> {
    let value = escape(value.as_bytes());
    let parts: Vec<&[u8]> = value.as_bytes().chunks(longest.saturating_sub(16).max(1)).collect();
    let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
    let first = format!("{}+{}", parts.len().max(1), parts.first().map(|part| text(part)).unwrap_or_default());
    std::iter::once(first).chain(parts.iter().skip(1).map(|part| text(part))).collect()
}
