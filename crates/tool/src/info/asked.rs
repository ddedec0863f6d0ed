//! Reports the networks that connect this machine to other hosts, and the devices whose memory
//! programs may pass. The installed library is queried, because it contains the code that opens
//! them and this program does not.
//!
//! The query runs in a child process, because it opens libfabric, whose providers may print, hang
//! or crash, or the driver of the devices.

use std::ffi::{CStr, CString, c_char};
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::WaitStatus;
use rustix::stdio::{dup2_stderr, dup2_stdout};
use towpath_machine::library::{loader_error, symbol};

use crate::report::{CellValue, ReportRow, ReportSection};
use towpath_launch::child;

/// The library to query, which is installed together with this program.
const LIBRARY: &str = "libmpi_abi.so.1";
/// How long the library may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest text in bytes.
const LONGEST: usize = 1 << 20;

/// The library's entry point: writes as much of a NUL-terminated text as fits, and returns the
/// length of the whole text.
type Entry = unsafe extern "C" fn(*mut c_char, usize) -> usize;

/// What the library is asked.
pub(super) struct Question {
    key: &'static str,
    title: &'static str,
    /// The library's entry point.
    symbol: &'static CStr,
    /// Key and label of the row about a question that was not answered.
    unanswered: (&'static str, &'static str),
    /// What the library opens to answer, and what may fail therefore.
    opened: &'static str,
}

pub(super) const NETWORKS: Question = Question {
    key: "networks",
    title: "Ways to other hosts",
    symbol: c"towpath_networks",
    unanswered: ("choice", "to other hosts"),
    opened: "a provider of libfabric",
};

pub(super) const DEVICES: Question = Question {
    key: "devices",
    title: "Devices whose memory programs may pass, and the paths of such messages",
    symbol: c"towpath_devices",
    unanswered: ("driver", "CUDA driver"),
    opened: "the CUDA driver",
};

/// Creates the section. The calling process must have a single thread, because the child allocates
/// memory after `fork`.
pub(super) fn section(question: &Question) -> ReportSection {
    let program = std::env::current_exe().unwrap_or_default();
    let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let rows = match ask(&prefix.join("lib").join(LIBRARY), question) {
        Ok(text) => text.lines().filter_map(row).collect(),
        Err(sentence) => {
            let (key, label) = question.unanswered;
            vec![ReportRow::new(key, label, CellValue::Nothing("not known"), sentence)]
        }
    };
    ReportSection { key: question.key, title: question.title.to_owned(), headings: &[], rows }
}

fn row(line: &str) -> Option<ReportRow> {
    let mut cells = line.split('\t');
    let (key, label, value, why) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
    Some(ReportRow::new(key, label, CellValue::text(value), why))
}

/// Queries the library in a child process.
fn ask(path: &Path, question: &Question) -> Result<String, String> {
    let opened = question.opened;
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    if !path.exists() {
        return Err(format!("{} is not there", path.display()));
    }
    let (answers, answer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| error.to_string())?;
    // SAFETY: this process has a single thread (see `section`), so no lock is held at the `fork`
    // and the child may allocate. It leaves by `_exit` without unwinding.
    match unsafe { libc::fork() } {
        0 => {
            silence();
            let said = text_of(&name, question.symbol).unwrap_or_else(|sentence| {
                let (key, label) = question.unanswered;
                format!("{key}\t{label}\tnot known\t{sentence}\n")
            });
            let mut rest = said.as_bytes();
            while let Ok(written) = retry_on_intr(|| rustix::io::write(&answer, rest))
                && written > 0
            {
                rest = &rest[written..];
            }
            // SAFETY: `_exit` is always sound; it runs no destructor and no exit handler of the
            // parent.
            unsafe { libc::_exit(0) }
        }
        child if child > 0 => {
            drop(answer);
            let text = hear(&answers, opened);
            let status = child::end(child);
            let ended = status.and_then(WaitStatus::terminating_signal).filter(|_| text.is_ok());
            match (text, ended) {
                (Ok(text), _) if text.ends_with('\n') => Ok(text),
                (Ok(_), Some(signal)) => Err(format!(
                    "the library, or {opened}, was ended by signal {signal} when it was asked"
                )),
                (Ok(_), None) => {
                    Err(format!("the library, or {opened}, ended the process that asked it"))
                }
                (Err(sentence), _) => Err(sentence),
            }
        }
        _ => Err(format!("no child process can be started ({})", std::io::Error::last_os_error())),
    }
}

/// Discards what providers print, which would appear in the middle of the report.
fn silence() {
    if let Ok(nowhere) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = dup2_stdout(&nowhere);
        let _ = dup2_stderr(&nowhere);
    }
}

/// Queries the library; runs in the child process.
fn text_of(name: &CStr, entry: &CStr) -> Result<String, String> {
    // SAFETY: `name` is NUL-terminated. `dlopen` runs the constructors of the library in this child
    // process only, which does nothing else.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(loader_error());
    }
    // SAFETY: `library` is an open library.
    let found = unsafe { symbol(library, entry) };
    let found = found.map_err(|reason| {
        format!("{}: {reason}: it is of another version", name.to_string_lossy())
    })?;
    // SAFETY: `found` is not null, and the library exports the function of this name with this
    // type.
    let entry = unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(found) };
    let mut text = vec![0u8; LONGEST];
    // SAFETY: `text` is writable for the length passed.
    unsafe { entry(text.as_mut_ptr().cast(), text.len()) };
    let text = CStr::from_bytes_until_nul(&text).map_err(|error| error.to_string())?;
    Ok(text.to_string_lossy().into_owned())
}

/// Reads what the child writes until it exits.
fn hear(answers: &OwnedFd, opened: &str) -> Result<String, String> {
    let (end, mut text, mut room) = (Instant::now() + PATIENCE, Vec::new(), [0; 4096]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let limit =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(answers, PollFlags::IN)], Some(&limit)) {
            Ok(0) => {
                let seconds = PATIENCE.as_secs();
                return Err(format!(
                    "the library, or {opened}, did not answer within {seconds} seconds"
                ));
            }
            Ok(_) => {}
            // Nothing may have been written yet, and a read would wait without a limit.
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.to_string()),
        }
        match retry_on_intr(|| rustix::io::read(answers, &mut room)) {
            Ok(0) => return Ok(String::from_utf8_lossy(&text).into_owned()),
            Ok(count) => text.extend_from_slice(&room[..count]),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_what_is_none_is_left_out() {
        let read = row("provider tcp\t  tcp\tif named\ton eth0").unwrap();
        assert!(read.key == "provider tcp" && read.cells[0].1 == CellValue::text("if named"));
        assert!(row("of another\tversion").is_none() && row("").is_none());
    }

    #[test]
    fn a_library_that_is_missing_or_none_costs_a_sentence() {
        let missing = ask(Path::new("/nowhere/libmpi_abi.so.1"), &DEVICES).unwrap_err();
        assert!(missing.ends_with("is not there"), "{missing}");
        let text = text_of(c"/dev/null", DEVICES.symbol).unwrap_err();
        assert!(text.contains("/dev/null"), "{text}");
    }
}
