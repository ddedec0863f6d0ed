//! Fuzz entry points for the decoders of this crate. `make fuzz` runs them with arbitrary bytes,
//! the tests of this crate run them briefly. Each function asserts the invariants of its decoder.

use towpath_base::ids::JobId;

use crate::key::JobKey;
use crate::ticket::RankTicket;
use crate::wire::{LONGEST_LINE, LineReader, PmiMessage, escape, records, unescape};
use crate::{client, hosts, mpiexec};

/// PMI-1: a stream of lines in pieces of any size, each line also a request to the server of
/// `mpiexec`.
pub fn pmi_lines(bytes: &[u8]) {
    let Some((&cut, stream)) = bytes.split_first() else { return };
    let mut server =
        mpiexec::server::Server::new(JobId(1), &JobKey([7; 32]), None, &[0, 1], &[0, 0]);
    let (mut reader, mut answers) = (LineReader::default(), Vec::new());
    for (number, piece) in stream.chunks(usize::from(cut).max(1)).enumerate() {
        reader.push(piece);
        while let Ok(Some(line)) = reader.next_line() {
            assert!(!line.contains(&b'\n'));
            let message = PmiMessage::parse(&line);
            if let Ok(written) = message.to_line() {
                assert_eq!(PmiMessage::parse(&written), message);
            }
            server.line(number % 2, &line, &mut answers);
        }
        // Two ranks: the second one that enters the barrier releases both.
        assert!(answers.len() <= 2 * piece.len() + 2);
        for answer in answers.drain(..) {
            if let mpiexec::server::Event::Answer(rank, line) = answer {
                assert!(rank < 2 && line.last() == Some(&b'\n') && line.len() <= LONGEST_LINE);
            }
        }
    }
    assert_eq!(unescape(&escape(stream)), stream);
    let _ = unescape(&String::from_utf8_lossy(stream));
}

/// PMI-2: a stream of records in pieces of any size.
pub fn pmi_records(bytes: &[u8]) {
    let Some((&cut, stream)) = bytes.split_first() else { return };
    let mut reader = records::RecordReader::default();
    for piece in stream.chunks(usize::from(cut).max(1)) {
        reader.push(piece);
        while let Ok(Some(record)) = reader.next_record() {
            assert!(record.len() <= stream.len());
            let message = records::parse(&record);
            if let Ok(written) = records::write(&message) {
                let mut again = records::RecordReader::default();
                again.push(&written);
                let record = again.next_record().unwrap_or_default().unwrap_or_default();
                assert_eq!(records::write(&records::parse(&record)).as_ref(), Ok(&written));
            }
        }
    }
}

/// The frames between `mpiexec` and its proxies.
pub fn proxy_frames(bytes: &[u8]) {
    mpiexec::frames::fuzz(bytes);
}

/// Host descriptions: process mappings, host lists, host files and Slurm's node lists, and the
/// ticket, which carries a process mapping.
pub fn host_texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for text in [&text, &*format!("(vector,{text})")] {
        for size in [1, 5, 300] {
            let Some(nodes) = hosts::parse_mapping(text, size) else { continue };
            assert_eq!(nodes.len(), size);
            assert_eq!(hosts::parse_mapping(&hosts::write_mapping(&nodes), size), Some(nodes));
        }
    }
    mpiexec::host_list::fuzz(&text);
    if let Some(ticket) = RankTicket::parse(&text) {
        assert_eq!(RankTicket::parse(&ticket.to_text()), Some(ticket));
    }
    if let Some(key) = JobKey::parse(&text) {
        assert_eq!(key.to_text(), text.to_ascii_lowercase());
    }
}

/// The sheets that ranks publish through PMIx.
pub fn pmix_sheets(bytes: &[u8]) {
    client::pmix::fuzz(&String::from_utf8_lossy(bytes));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pmi_lines(cut in any::<u8>(), lines in proptest::collection::vec(
            "(cmd=)?(init|get|put|barrier_in|abort|spawn|finalize|[a-z_]{0,9})?( (pmi_version|key|value|endcmd|exitcode)=[ -~]{0,9}){0,3}", 0..9,
        ), noise in any::<Vec<u8>>()) {
            super::pmi_lines(&[&[cut], lines.join("\n").as_bytes(), b"\n", &noise].concat());
        }

        #[test]
        fn pmi_records(cut in any::<u8>(), records in proptest::collection::vec("[a-z=;]{0,30}", 0..6), noise in any::<Vec<u8>>()) {
            let records: String = records.iter().map(|record| format!("{:<6}{record}", record.len())).collect();
            super::pmi_records(&[&[cut], records.as_bytes(), &noise].concat());
        }

        #[test]
        fn proxy_frames(first in any::<u8>(), kind in 0u8..30, body in proptest::collection::vec(0u8..4, 0..40), noise in any::<Vec<u8>>()) {
            let frame = [&[kind, body.len() as u8, 0, 0, 0], &body[..], b"\n"].concat();
            super::proxy_frames(&[&[first], &frame[..], &noise].concat());
        }

        #[test]
        fn host_texts(text in "[an0-9,\\[\\]():x=#.\\n-]{0,60}") {
            super::host_texts(text.as_bytes());
        }

        #[test]
        fn pmix_sheets(text in "([a-z]{0,3} [0-9+]{0,900}\n){0,5}[ -~\n]{0,20}") {
            super::pmix_sheets(text.as_bytes());
        }
    }
}
