//! The file by which `towpath info --chares` sees the chares of a running job: rank 0 has it among
//! its descriptors, is asked in it, and writes into it what all ranks answer.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use towpath_base::control::PAGE;
use towpath_base::sync::{AtomicU32, AtomicU64, Ordering};

use crate::memory::{self, Mapping, Shortage};

/// Name of the file, which descriptors show.
pub const LABEL: &str = "towpath-chares";
/// Marks a file of this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"chares01");
/// Bytes of the answer that is read at most.
const LONGEST: u64 = 1 << 30;
/// Readings of an answer that is being written before nobody reads it any more.
const READINGS: usize = 1000;

/// The first page. The answer begins on the second one.
#[repr(C)]
struct Head {
    /// [`MAGIC`]; rank 0 writes it last.
    magic: AtomicU64,
    /// Number of ranks of the job.
    ranks: AtomicU32,
    /// Number of the last request. Odd: begin to measure methods; even: end that.
    request: AtomicU32,
    /// The request to which the answer belongs in the upper half, and how many ranks have answered
    /// it in the lower.
    answered: AtomicU64,
    /// Odd while the answer is being written.
    changes: AtomicU32,
    /// Bytes of the answer.
    length: AtomicU64,
}

/// The file, mapped.
#[derive(Debug)]
pub struct ChareFile {
    file: File,
    mapping: Mapping,
}

impl ChareFile {
    /// Makes the file, at rank 0 of a job of so many ranks.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn create(ranks: u32) -> Result<ChareFile, Shortage> {
        let file = memory::create_file(LABEL)?;
        let mapping = Mapping::new(&file, PAGE)?;
        mapping.populate(0, PAGE)?;
        let made = ChareFile { file: file.into(), mapping };
        made.head().ranks.store(ranks, Ordering::Relaxed);
        made.head().magic.store(MAGIC, Ordering::Release);
        Ok(made)
    }

    /// Opens the file of another process; `None` if it is another file.
    pub fn open(file: OwnedFd) -> Option<ChareFile> {
        let file = File::from(file);
        if file.metadata().ok()?.len() < PAGE as u64 {
            return None;
        }
        let mapping = Mapping::new(&file, PAGE).ok()?;
        let opened = ChareFile { file, mapping };
        (opened.head().magic.load(Ordering::Acquire) == MAGIC).then_some(opened)
    }

    fn head(&self) -> &Head {
        // SAFETY: the mapping is a page, longer than the head and aligned to it, and lives as long
        // as `self`. All fields are atomics, so any content is valid and other processes may write
        // to it.
        unsafe { &*self.mapping.pointer().cast() }
    }

    /// How many ranks the job has.
    pub fn ranks(&self) -> u32 {
        self.head().ranks.load(Ordering::Relaxed)
    }

    /// Asks for an answer: rank 0 notices it, and all ranks begin or end to measure methods.
    /// Returns the number of the request.
    pub fn ask(&self, measures: bool) -> u32 {
        let last = self.head().request.load(Ordering::Relaxed);
        let is_odd = !last.is_multiple_of(2);
        let request = last.wrapping_add(if is_odd == measures { 2 } else { 1 });
        self.head().request.store(request, Ordering::Release);
        request
    }

    /// The last request; 0 if nobody has asked.
    pub fn request(&self) -> u32 {
        self.head().request.load(Ordering::Acquire)
    }

    /// How many ranks have answered this request or a later one.
    pub fn answers(&self, request: u32) -> u32 {
        let answered = self.head().answered.load(Ordering::Acquire);
        let later = ((answered >> 32) as u32).wrapping_sub(request).cast_signed();
        if later < 0 { 0 } else { answered as u32 }
    }

    /// Says how many ranks have answered a request; that all have, once the answer is written.
    pub fn set_answers(&self, request: u32, answers: u32) {
        let answered = u64::from(request) << 32 | u64::from(answers);
        self.head().answered.store(answered, Ordering::Release);
    }

    /// Writes the answer of all ranks.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn write(&self, text: &str) -> io::Result<()> {
        let head = self.head();
        // No other process writes these, and readers read again what has changed meanwhile.
        head.changes.fetch_add(1, Ordering::AcqRel);
        let written = self.file.write_all_at(text.as_bytes(), PAGE as u64);
        head.length.store(text.len() as u64, Ordering::Release);
        head.changes.fetch_add(1, Ordering::AcqRel);
        written
    }

    /// The answer.
    ///
    /// # Errors
    /// It cannot be read, or is no text.
    pub fn read(&self) -> io::Result<String> {
        let head = self.head();
        for _ in 0..READINGS {
            let changes = head.changes.load(Ordering::Acquire);
            let length = head.length.load(Ordering::Acquire).min(LONGEST);
            let mut bytes = vec![0; length as usize];
            let read = self.file.read_exact_at(&mut bytes, PAGE as u64);
            if changes.is_multiple_of(2) && head.changes.load(Ordering::Acquire) == changes {
                read?;
                return String::from_utf8(bytes).map_err(io::Error::other);
            }
            std::thread::yield_now();
        }
        Err(io::Error::other("it is being written all the time"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn an_answer_is_read_by_another_mapping() {
        let rank = ChareFile::create(3).unwrap();
        let tool = ChareFile::open(rank.file.as_fd().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!((tool.ranks(), rank.request(), tool.read().unwrap()), (3, 0, String::new()));
        let request = tool.ask(true);
        assert_eq!((rank.request(), request, tool.answers(request)), (1, 1, 0));
        rank.set_answers(request, 2);
        assert_eq!((tool.answers(request), tool.read().unwrap()), (2, String::new()));
        rank.write("three").unwrap();
        rank.set_answers(request, 3);
        assert_eq!((tool.answers(request), tool.read().unwrap()), (3, "three".to_owned()));
        assert_eq!((tool.ask(false), tool.answers(2)), (2, 0));
        assert_eq!((tool.ask(true), tool.ask(true), tool.ask(false)), (3, 5, 6));
    }

    #[test]
    fn another_file_is_refused() {
        let empty = memory::create_file(LABEL).unwrap();
        assert!(ChareFile::open(empty).is_none());
        let other = memory::create_file(LABEL).unwrap();
        rustix::fs::ftruncate(&other, 2 * PAGE as u64).unwrap();
        assert!(ChareFile::open(other).is_none());
    }
}
