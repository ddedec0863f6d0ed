//! How far a checkpoint is, for the person who waits.

use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How long a checkpoint takes before somebody is told who sees no terminal, and then the time
/// between two lines.
const LONG: Duration = Duration::from_secs(3);
/// Time between two lines of a terminal, where one replaces the other.
const SHORT: Duration = Duration::from_millis(200);

/// Tells the person on stderr how much rank 0 has written of its part of a checkpoint, which is
/// about as far as the others are: at once in a terminal, else if it takes long.
#[derive(Debug, Default)]
pub struct CheckpointProgress {
    under_way: RefCell<Option<Told>>,
}

/// A checkpoint that is being written.
#[derive(Debug)]
struct Told {
    begun: Instant,
    is_terminal: bool,
    /// When the person was told last, since the begin.
    last: Option<Duration>,
}

impl CheckpointProgress {
    /// This rank has written so many bytes of about so many, or 0 if that is not known; both are
    /// equal at the end. For [`towpath_actors::Chares::checkpoint_progress`].
    pub fn written(&self, rank: u32, written: u64, all: u64) {
        if rank != 0 {
            return;
        }
        let mut under_way = self.under_way.borrow_mut();
        let told = under_way.get_or_insert_with(|| Told {
            begun: Instant::now(),
            is_terminal: std::io::stderr().is_terminal(),
            last: None,
        });
        if let Some(line) = told.line(told.begun.elapsed(), written, all) {
            // Nobody needs to know that nobody can be told.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
        if written == all {
            *under_way = None;
        }
    }
}

impl Told {
    /// What the person is told at this time.
    fn line(&mut self, now: Duration, written: u64, all: u64) -> Option<String> {
        let is_end = written == all;
        let pause = if self.is_terminal { SHORT } else { LONG };
        let is_due = match self.last {
            Some(last) => is_end || now - last >= pause,
            None => !is_end && now >= if self.is_terminal { Duration::ZERO } else { LONG },
        };
        if !is_due {
            return None;
        }
        self.last = Some(now);
        let amount = amount(written, all);
        // In a terminal, a line replaces the one before.
        let begin = if self.is_terminal { "\r\x1b[K" } else { "" };
        let end = if self.is_terminal && !is_end { "" } else { "\n" };
        Some(format!("{begin}towpath: checkpoint: rank 0 has written {amount}{end}"))
    }
}

/// `24 MiB of about 1024 MiB (2 %)`.
fn amount(written: u64, all: u64) -> String {
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    match all {
        _ if written == all => format!("all of its {} MiB", mebibytes(all)),
        0 => format!("{} MiB", mebibytes(written)),
        _ => {
            let percent = u128::from(written) * 100 / u128::from(all);
            let (written, all) = (mebibytes(written), mebibytes(all));
            format!("{written} MiB of about {all} MiB ({} %)", percent.min(99))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(is_terminal: bool, milliseconds: &[u64]) -> Vec<String> {
        let mut told = Told { begun: Instant::now(), is_terminal, last: None };
        let times = milliseconds.iter().enumerate();
        let lines = times.filter_map(|(number, time)| {
            let written = (number as u64 + 1) << 20;
            let all = (milliseconds.len() as u64) << 20;
            told.line(Duration::from_millis(*time), written, all)
        });
        lines.collect()
    }

    #[test]
    fn nobody_is_told_of_a_short_checkpoint() {
        assert!(said(false, &[0, 1000, 2900]).is_empty());
    }

    #[test]
    fn a_long_checkpoint_is_told_now_and_then_and_at_its_end() {
        let begin = "towpath: checkpoint: rank 0 has written";
        let expected = [
            format!("{begin} 3 MiB of about 6 MiB (50 %)\n"),
            format!("{begin} 5 MiB of about 6 MiB (83 %)\n"),
            format!("{begin} all of its 6 MiB\n"),
        ];
        assert_eq!(said(false, &[0, 2900, 3000, 5000, 6100, 6200]), expected);
    }

    #[test]
    fn a_terminal_shows_one_line() {
        let lines = said(true, &[0, 100, 200, 900, 950]);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines.iter().all(|line| line.starts_with('\r')));
        assert!(lines[..3].iter().all(|line| !line.ends_with('\n')) && lines[3].ends_with('\n'));
    }

    #[test]
    fn sizes_that_are_not_known_or_too_small_are_no_percentages() {
        assert_eq!(amount(5 << 20, 0), "5 MiB");
        assert_eq!(amount(5 << 20, 4 << 20), "5 MiB of about 4 MiB (99 %)");
    }

    #[test]
    fn only_rank_0_tells() {
        let progress = CheckpointProgress::default();
        progress.written(1, 1 << 20, 0);
        assert!(progress.under_way.borrow().is_none());
        progress.written(0, 1 << 20, 2 << 20);
        assert!(progress.under_way.borrow().is_some());
        progress.written(0, 2 << 20, 2 << 20);
        assert!(progress.under_way.borrow().is_none());
    }
}
