//! Files of a checkpoint: a magic number and a version, then records with their lengths and
//! checksums. A file gets its name once it is whole and on the disk.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

const MAGIC: [u8; 8] = *b"TOWPATHC";
/// The version of the format.
const VERSION: u32 = 1;
/// In front of a record: eight bytes of length, and four of checksum.
const PREFIX: usize = 12;

/// Why a checkpoint was not written or read. The texts are for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The system says why.
    #[error("the checkpoint file {path} cannot be written: {reason}")]
    Write { path: String, reason: String },
    /// The system says why.
    #[error("the checkpoint file {path} cannot be read: {reason}")]
    Read { path: String, reason: String },
    /// It does not begin as one.
    #[error("{path} is no file of a checkpoint")]
    Magic { path: String },
    /// Another version has written it.
    #[error("{path} has the format {version} of checkpoints; this library reads format {VERSION}")]
    Version { path: String, version: u32 },
    /// Its content is not what was written.
    #[error("the checkpoint file {path} is damaged ({what}); restart from another checkpoint")]
    Damaged { path: String, what: &'static str },
    /// The program is not at a point where it can be saved.
    #[error("no checkpoint was written: {reason}")]
    NotNow { reason: String },
}

/// What the index of a checkpoint says about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSummary {
    /// Its length.
    pub bytes: u64,
    /// The checksum of all of it.
    pub checksum: u32,
}

/// Writes a file.
pub(crate) struct CheckpointWriter {
    path: PathBuf,
    file: BufWriter<File>,
    checksum: Hasher,
    bytes: u64,
    /// Whether the file has its name.
    is_whole: bool,
}

impl Drop for CheckpointWriter {
    /// What was not finished may be what fills the disk.
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = fs::remove_file(temporary(&self.path));
        }
    }
}

impl CheckpointWriter {
    /// Begins a file that will have this name.
    pub(crate) fn create(path: &Path) -> Result<CheckpointWriter, CheckpointError> {
        let file = File::create(temporary(path)).map_err(|error| write_error(path, &error))?;
        let (path, file) = (path.to_owned(), BufWriter::new(file));
        let mut writer =
            CheckpointWriter { path, file, checksum: Hasher::new(), bytes: 0, is_whole: false };
        writer.write(&MAGIC)?;
        writer.write(&VERSION.to_le_bytes())?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        self.file.write_all(bytes).map_err(|error| write_error(&self.path, &error))?;
        self.checksum.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes a record.
    pub(crate) fn record(&mut self, record: &[u8]) -> Result<(), CheckpointError> {
        self.write(&(record.len() as u64).to_le_bytes())?;
        self.write(&crc32fast::hash(record).to_le_bytes())?;
        self.write(record)
    }

    /// How long it is so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives the file its name, once all of it is on the disk.
    pub(crate) fn finish(mut self) -> Result<FileSummary, CheckpointError> {
        let flushed = self.file.flush();
        let error = |error: io::Error| write_error(&self.path, &error);
        flushed.map_err(error)?;
        self.file.get_ref().sync_all().map_err(error)?;
        fs::rename(temporary(&self.path), &self.path).map_err(error)?;
        self.is_whole = true;
        let error = |error: io::Error| write_error(&self.path, &error);
        if let Some(directory) = self.path.parent() {
            File::open(directory).and_then(|directory| directory.sync_all()).map_err(error)?;
        }
        Ok(FileSummary {
            bytes: self.bytes,
            checksum: std::mem::take(&mut self.checksum).finalize(),
        })
    }
}

/// Reads a file.
pub(crate) struct CheckpointReader {
    path: PathBuf,
    file: BufReader<File>,
    checksum: Hasher,
    /// Bytes that have not been read.
    left: u64,
}

impl CheckpointReader {
    /// Opens a file, which is what its summary says if there is one.
    pub(crate) fn open(
        path: &Path,
        summary: Option<FileSummary>,
    ) -> Result<CheckpointReader, CheckpointError> {
        let file = File::open(path).map_err(|error| read_error(path, &error))?;
        let left = file.metadata().map_err(|error| read_error(path, &error))?.len();
        let (path, file) = (path.to_owned(), BufReader::new(file));
        let mut reader = CheckpointReader { path, file, checksum: Hasher::new(), left };
        let mut start = [0; 12];
        reader.read(&mut start)?;
        let name = reader.path.display().to_string();
        if start[..8] != MAGIC {
            return Err(CheckpointError::Magic { path: name });
        }
        let version = u32::from_le_bytes([start[8], start[9], start[10], start[11]]);
        if version != VERSION {
            return Err(CheckpointError::Version { path: name, version });
        }
        if summary.is_some_and(|summary| summary.bytes != left) {
            return Err(reader.damaged("it has another length than the index says"));
        }
        Ok(reader)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), CheckpointError> {
        if bytes.len() as u64 > self.left {
            return Err(self.damaged("it ends too early"));
        }
        self.file.read_exact(bytes).map_err(|error| read_error(&self.path, &error))?;
        self.checksum.update(bytes);
        self.left -= bytes.len() as u64;
        Ok(())
    }

    /// The next record; nothing at the end of the file.
    pub(crate) fn record(&mut self) -> Result<Option<Vec<u8>>, CheckpointError> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut prefix = [0; PREFIX];
        self.read(&mut prefix)?;
        let (length, checksum) = prefix.split_at(8);
        let length = length.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let checksum = checksum.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
        if length > self.left {
            return Err(self.damaged("it ends within a record"));
        }
        let mut record = vec![0; length as usize];
        self.read(&mut record)?;
        if crc32fast::hash(&record) != checksum {
            return Err(self.damaged("a record has another checksum"));
        }
        Ok(Some(record))
    }

    /// All records have been read: whether the file is the one that was written.
    pub(crate) fn finish(self, summary: FileSummary) -> Result<(), CheckpointError> {
        if self.left > 0 {
            return Err(self.damaged("there is something behind its end"));
        }
        let error = self.damaged("it belongs to another checkpoint than the index");
        if self.checksum.finalize() == summary.checksum { Ok(()) } else { Err(error) }
    }

    pub(crate) fn damaged(&self, what: &'static str) -> CheckpointError {
        CheckpointError::Damaged { path: self.path.display().to_string(), what }
    }
}

/// The name of a file that is not whole.
fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

pub(crate) fn write_error(path: &Path, error: &io::Error) -> CheckpointError {
    CheckpointError::Write { path: path.display().to_string(), reason: error.to_string() }
}

fn read_error(path: &Path, error: &io::Error) -> CheckpointError {
    CheckpointError::Read { path: path.display().to_string(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_checkpoint_with_the_same_length_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, record: &[u8]| {
            let path = directory.path().join(name);
            let mut writer = CheckpointWriter::create(&path).unwrap();
            writer.record(record).unwrap();
            assert!(!path.exists(), "it is not whole");
            (path.clone(), writer.finish().unwrap())
        };
        let (first, summary) = write("first", b"one");
        let (second, other) = write("second", b"two");
        assert_eq!(summary.bytes, other.bytes);
        for (path, is_right) in [(first, true), (second, false)] {
            let mut reader = CheckpointReader::open(&path, Some(summary)).unwrap();
            while reader.record().unwrap().is_some() {}
            assert_eq!(reader.finish(summary).is_ok(), is_right);
        }
    }

    #[test]
    fn another_version_and_another_kind_of_file_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for (content, sentence) in [
            (&b"TOWPATHC\x09\0\0\0"[..], "has the format 9 of checkpoints"),
            (b"a text of somebody else", "is no file of a checkpoint"),
            (b"TOWPATH", "it ends too early"),
        ] {
            fs::write(&path, content).unwrap();
            let error = CheckpointReader::open(&path, None).err().unwrap().to_string();
            assert!(error.contains(sentence), "{error}");
        }
    }
}
