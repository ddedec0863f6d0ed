//! Merges the output of several hosts into one stream. While one host is in the middle of a long
//! line, the output of the others is held back until that line ends. A host stops sending at the
//! limit of unacknowledged bytes, so the memory used here is bounded.
#![forbid(unsafe_code)]

/// Output of a host that is held back.
#[derive(Clone, Default)]
struct HeldOutput {
    bytes: Vec<u8>,
    /// It ends in the middle of a long line.
    more: bool,
}

/// One stream of all hosts.
#[derive(Default)]
pub(super) struct Merger {
    hosts: Vec<HeldOutput>,
    /// The host whose long line is being printed.
    owner: Option<usize>,
}

impl Merger {
    /// Creates a merger for this many hosts.
    pub(super) fn new(hosts: usize) -> Merger {
        Merger { hosts: vec![HeldOutput::default(); hosts], owner: None }
    }

    /// Takes output of a host (`more`: its line continues). Returns what can be printed now, with
    /// the host of each piece.
    pub(super) fn take(
        &mut self,
        host: usize,
        bytes: Vec<u8>,
        more: bool,
    ) -> Vec<(usize, Vec<u8>)> {
        if self.owner.is_some_and(|owner| owner != host) {
            let held = &mut self.hosts[host];
            held.bytes.extend_from_slice(&bytes);
            held.more = more;
            return Vec::new();
        }
        self.owner = more.then_some(host);
        let mut out = vec![(host, bytes)];
        self.next(&mut out);
        out
    }

    /// A host is finished; returns what can be printed now.
    pub(super) fn leave(&mut self, host: usize) -> Vec<(usize, Vec<u8>)> {
        self.hosts[host].more = false;
        self.owner = self.owner.filter(|&owner| owner != host);
        let mut out = Vec::new();
        self.next(&mut out);
        out
    }

    /// Releases held output until a host is in a long line.
    fn next(&mut self, out: &mut Vec<(usize, Vec<u8>)>) {
        for (host, held) in self.hosts.iter_mut().enumerate() {
            if self.owner.is_some() {
                return;
            }
            if !held.bytes.is_empty() || held.more {
                let HeldOutput { bytes, more } = std::mem::take(held);
                out.push((host, bytes));
                self.owner = more.then_some(host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(out: &[(usize, Vec<u8>)]) -> String {
        out.iter()
            .map(|(host, bytes)| format!("{host}:{} ", String::from_utf8_lossy(bytes)))
            .collect()
    }

    #[test]
    fn a_long_line_stays_whole() {
        let mut merger = Merger::new(3);
        assert_eq!(text(&merger.take(0, b"a".to_vec(), false)), "0:a ");
        assert_eq!(text(&merger.take(1, b"long ".to_vec(), true)), "1:long  ");
        assert_eq!(text(&merger.take(0, b"b".to_vec(), true)), "");
        assert_eq!(text(&merger.take(2, b"c".to_vec(), false)), "");
        assert_eq!(text(&merger.take(0, b"b".to_vec(), true)), "");
        assert_eq!(text(&merger.take(1, b"line".to_vec(), false)), "1:line 0:bb ");
        assert_eq!(text(&merger.leave(0)), "2:c ");
        assert_eq!(text(&merger.take(2, b"d".to_vec(), false)), "2:d ");
    }
}
