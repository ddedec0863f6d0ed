//! The lines of several hosts on one output: what a host prints while another is in the middle of a
//! long line is held until that line ends. A host holds back itself what `mpiexec` has not
//! acknowledged, so what is held here is bounded.
#![forbid(unsafe_code)]

/// What is held of a host.
#[derive(Clone, Default)]
struct Held {
    bytes: Vec<u8>,
    /// It ends in the middle of a long line.
    more: bool,
}

/// One output of all hosts.
#[derive(Default)]
pub(super) struct Merger {
    hosts: Vec<Held>,
    /// The host in whose long line the output is.
    owner: Option<usize>,
}

impl Merger {
    /// Of so many hosts.
    pub(super) fn new(hosts: usize) -> Merger {
        Merger { hosts: vec![Held::default(); hosts], owner: None }
    }

    /// Takes what a host has printed (`more`: its line goes on), and returns what comes out now,
    /// with the hosts it is of.
    pub(super) fn take(&mut self, host: usize, bytes: Vec<u8>, more: bool) -> Vec<(usize, Vec<u8>)> {
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

    /// Nothing comes from a host any more; returns what comes out now.
    pub(super) fn leave(&mut self, host: usize) -> Vec<(usize, Vec<u8>)> {
        self.hosts[host].more = false;
        self.owner = self.owner.filter(|&owner| owner != host);
        let mut out = Vec::new();
        self.next(&mut out);
        out
    }

    /// Lets out what is held, until a host is in a long line.
    fn next(&mut self, out: &mut Vec<(usize, Vec<u8>)>) {
        for (host, held) in self.hosts.iter_mut().enumerate() {
            if self.owner.is_some() {
                return;
            }
            if !held.bytes.is_empty() || held.more {
                let Held { bytes, more } = std::mem::take(held);
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
        out.iter().map(|(host, bytes)| format!("{host}:{} ", String::from_utf8_lossy(bytes))).collect()
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
