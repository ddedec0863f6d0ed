//! Describes what the ranks of a job are doing, with one line for all ranks in the same call.
//! `mpiexec` prints it when the user or --timeout ends the job, and at SIGQUIT.
//!
//! The contents of a rank's control page and the reports of a proxy are not trusted: unknown
//! numbers are omitted, names are truncated and lose their control characters.
#![forbid(unsafe_code)]

use towpath_base::control::{Awaited, BlockedCall, COMMUNICATOR, ControlPage, RankState};
use towpath_base::sync::Ordering;

use super::calls;

/// Maximum number of lines to print. If there would be more, ranks that wait for different peers
/// share a line.
const MOST_LINES: usize = 16;
/// Maximum number of ranks and ranges of ranks that a line names.
const MOST_NAMED: usize = 12;

/// The contents of a rank's control page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Activity {
    /// State of the rank.
    pub(super) state: u32,
    /// Number of its last MPI call.
    pub(super) last_call: u32,
    /// Not 0 if the rank is inside that call.
    pub(super) in_call: u32,
    /// The call in which the rank is blocked, and for how many seconds.
    pub(super) blocked: Option<(BlockedCall, u32)>,
}

/// What is known about a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RankPlace {
    /// Its process has ended.
    Ended,
    /// Its host has not answered.
    Unknown,
    /// Its process is running. `initializing`: the rank has contacted the PMI server and not
    /// finalized, so it has at least called MPI_Init.
    Runs { activity: Activity, initializing: bool },
}

impl Activity {
    /// Reads the control page of a rank on this host.
    pub(super) fn read(page: &ControlPage) -> Activity {
        let blocked = page.blocked().map(|blocked| {
            let nanoseconds = towpath_machine::clock::nanoseconds().saturating_sub(blocked.since);
            let seconds = u32::try_from(nanoseconds / 1_000_000_000).unwrap_or(u32::MAX);
            (BlockedCall { since: 0, ..blocked }, seconds)
        });
        Activity {
            state: page.state.load(Ordering::Acquire),
            last_call: page.last_call.load(Ordering::Relaxed),
            in_call: page.in_call.load(Ordering::Relaxed),
            blocked,
        }
    }

    fn is_running(&self) -> bool {
        self.state == RankState::Running as u32
    }

    /// Returns a description, and the time in it if known. `peers`: whether to name the ranks and
    /// tags that the rank waits for.
    fn in_words(&self, initializing: bool, peers: bool) -> (String, Option<u32>) {
        let plain = |text: &str| (text.to_owned(), None);
        match self.state {
            state if state == RankState::Finalized as u32 => plain("after MPI_Finalize"),
            state if state == RankState::Aborted as u32 => plain("after MPI_Abort"),
            _ if !self.is_running() && initializing => plain("in MPI_Init"),
            _ if !self.is_running() => plain("before MPI_Init"),
            _ => match (&self.blocked, calls::name(self.last_call)) {
                (Some((blocked, seconds)), _) => (blocked_in_words(blocked, peers), Some(*seconds)),
                (None, Some(name)) if self.in_call != 0 => (format!("in {name}"), None),
                (None, Some(name)) => {
                    (format!("computing, outside of MPI; last call {name}"), None)
                }
                (None, None) => plain("computing, outside of MPI; no call since MPI_Init"),
            },
        }
    }
}

fn blocked_in_words(blocked: &BlockedCall, peers: bool) -> String {
    let name = calls::name(blocked.call).unwrap_or("MPI");
    let is = |awaited: Awaited| blocked.awaited == awaited as u32;
    let waits = match blocked.awaited {
        _ if is(Awaited::Receive) => message(" from", blocked, peers),
        _ if is(Awaited::Send) => message(" to", blocked, peers),
        _ if is(Awaited::ReceiveRequest) => message(" for a receive from", blocked, peers),
        _ if is(Awaited::SendRequest) => message(" for a send to", blocked, peers),
        _ if is(Awaited::CollectiveRequest) => " for a collective operation".to_owned(),
        _ if is(Awaited::GeneralizedRequest) => " for a generalized request".to_owned(),
        _ => String::new(),
    };
    let communicator = printable(&blocked.communicator);
    match communicator.is_empty() {
        true => format!("in {name}{waits}"),
        false if waits.contains(',') => format!("in {name}{waits}, on {communicator}"),
        false => format!("in {name}{waits} on {communicator}"),
    }
}

fn message(way: &str, blocked: &BlockedCall, peers: bool) -> String {
    if !peers {
        return format!("{way} another rank");
    }
    let peer = if blocked.peer < 0 { "any source".to_owned() } else { blocked.peer.to_string() };
    let tag = if blocked.tag < 0 { "any tag".to_owned() } else { format!("tag {}", blocked.tag) };
    format!("{way} {peer}, {tag}")
}

/// The description of a communicator, safe to print.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(COMMUNICATOR)]).into_owned();
    text.chars().map(|sign| if sign.is_control() { '?' } else { sign }).collect()
}

/// Ranks whose activity has the same description; they share one line of the report.
struct RankGroup {
    text: String,
    seconds: Option<(u32, u32)>,
    ranks: Vec<usize>,
}

/// The lines about all ranks, in the order of their first ranks.
pub(super) fn report(ranks: &[RankPlace]) -> String {
    let exact = groups(ranks, true);
    let groups = if exact.len() > MOST_LINES { groups(ranks, false) } else { exact };
    let mut text: String = groups.iter().take(MOST_LINES).map(RankGroup::line).collect();
    if groups.len() > MOST_LINES {
        let others: usize = groups[MOST_LINES..].iter().map(|group| group.ranks.len()).sum();
        text.push_str(&format!(
            "mpiexec: {others} other ranks are in {} other places.\n",
            groups.len() - MOST_LINES
        ));
    }
    text
}

/// True if some rank is in MPI, so that there is something to report.
pub(super) fn is_worth_telling(ranks: &[RankPlace]) -> bool {
    ranks.iter().any(|place| match place {
        RankPlace::Runs { activity, initializing } => activity.is_running() || *initializing,
        RankPlace::Ended | RankPlace::Unknown => false,
    })
}

fn groups(ranks: &[RankPlace], peers: bool) -> Vec<RankGroup> {
    let mut groups: Vec<RankGroup> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    for (rank, place) in ranks.iter().enumerate() {
        let (text, seconds) = match place {
            RankPlace::Ended => ("ended".to_owned(), None),
            RankPlace::Unknown => ("unknown, because the host does not answer".to_owned(), None),
            RankPlace::Runs { activity, initializing } => activity.in_words(*initializing, peers),
        };
        let number = *numbers.entry(text).or_insert_with_key(|text| {
            groups.push(RankGroup { text: text.clone(), seconds: None, ranks: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[number];
        group.ranks.push(rank);
        if let Some(seconds) = seconds {
            let (least, most) = group.seconds.unwrap_or((seconds, seconds));
            group.seconds = Some((least.min(seconds), most.max(seconds)));
        }
    }
    groups
}

impl RankGroup {
    fn line(&self) -> String {
        let time = match self.seconds {
            None => String::new(),
            Some((least, most)) if least == most => format!(" for {most} s"),
            Some((least, most)) => format!(" for {least} to {most} s"),
        };
        format!("mpiexec: {}: {}{time}\n", named(&self.ranks), self.text)
    }
}

/// Names ascending ranks: `rank 3`, `ranks 0, 2 and 5 to 9`.
fn named(ranks: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let mut pieces: Vec<String> = Vec::new();
    let mut unnamed = ranks.len();
    for &(first, last) in ranges.iter().take(MOST_NAMED) {
        unnamed -= last - first + 1;
        match last - first {
            0 => pieces.push(first.to_string()),
            1 => pieces.extend([first.to_string(), last.to_string()]),
            _ => pieces.push(format!("{first} to {last}")),
        }
    }
    if unnamed > 0 {
        pieces.push(format!("{unnamed} others"));
    }
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    match pieces.split_last() {
        Some((last, [])) => format!("{word} {last}"),
        Some((last, before)) => format!("{word} {} and {last}", before.join(", ")),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> u32 {
        towpath_base::calls::NAMES.iter().position(|other| *other == name).unwrap() as u32
    }

    fn runs(activity: Activity) -> RankPlace {
        RankPlace::Runs { activity, initializing: false }
    }

    fn outside(last: &str) -> RankPlace {
        runs(Activity { state: 1, last_call: call(last), ..Activity::default() })
    }

    fn blocked(name: &str, awaited: Awaited, (peer, tag): (i32, i32), seconds: u32) -> RankPlace {
        let communicator = b"MPI_COMM_WORLD".to_vec();
        let blocked = BlockedCall {
            call: call(name),
            awaited: awaited as u32,
            peer,
            tag,
            communicator,
            ..BlockedCall::default()
        };
        runs(Activity {
            state: 1,
            last_call: call(name),
            in_call: 1,
            blocked: Some((blocked, seconds)),
        })
    }

    #[test]
    fn ranks_in_the_same_call_share_a_line() {
        let mut ranks = vec![blocked("MPI_Recv", Awaited::Receive, (3, 7), 12)];
        ranks
            .extend((0..3).map(|more| blocked("MPI_Barrier", Awaited::Members, (0, 0), 11 + more)));
        ranks.extend([
            RankPlace::Ended,
            outside("MPI_Send"),
            RankPlace::Ended,
            runs(Activity::default()),
        ]);
        assert_eq!(
            report(&ranks),
            "mpiexec: rank 0: in MPI_Recv from 3, tag 7, on MPI_COMM_WORLD for 12 s\n\
             mpiexec: ranks 1 to 3: in MPI_Barrier on MPI_COMM_WORLD for 11 to 13 s\n\
             mpiexec: ranks 4 and 6: ended\n\
             mpiexec: rank 5: computing, outside of MPI; last call MPI_Send\n\
             mpiexec: rank 7: before MPI_Init\n"
        );
        assert!(
            is_worth_telling(&ranks)
                && !is_worth_telling(&[RankPlace::Ended, runs(Activity::default())])
        );
    }

    #[test]
    fn what_is_waited_for_is_told_of_each_kind() {
        for (name, awaited, message, words) in [
            (
                "MPI_Probe",
                Awaited::Receive,
                (-1, -1),
                "MPI_Probe from any source, any tag, on MPI_COMM_WORLD",
            ),
            ("MPI_Ssend", Awaited::Send, (1, 2), "MPI_Ssend to 1, tag 2, on MPI_COMM_WORLD"),
            (
                "MPI_Wait",
                Awaited::ReceiveRequest,
                (1, 2),
                "MPI_Wait for a receive from 1, tag 2, on MPI_COMM_WORLD",
            ),
            (
                "MPI_Waitall",
                Awaited::SendRequest,
                (1, 2),
                "MPI_Waitall for a send to 1, tag 2, on MPI_COMM_WORLD",
            ),
            (
                "MPI_Wait",
                Awaited::CollectiveRequest,
                (0, 0),
                "MPI_Wait for a collective operation on MPI_COMM_WORLD",
            ),
        ] {
            let line = report(&[blocked(name, awaited, message, 0)]);
            assert_eq!(line, format!("mpiexec: rank 0: in {words} for 0 s\n"));
        }
    }

    #[test]
    fn many_different_waits_are_told_together() {
        let ring: Vec<_> =
            (0..100).map(|rank| blocked("MPI_Recv", Awaited::Receive, (rank, 0), 5)).collect();
        assert_eq!(
            report(&ring),
            "mpiexec: ranks 0 to 99: in MPI_Recv from another rank on MPI_COMM_WORLD for 5 s\n"
        );
        let numbers: Vec<usize> = (0..40).map(|rank| 2 * rank).collect();
        assert!(named(&numbers).ends_with("20, 22 and 28 others"), "{}", named(&numbers));
        let after = |last_call| runs(Activity { state: 1, last_call, ..Activity::default() });
        let different: Vec<_> = (1..60).map(after).collect();
        assert_eq!(report(&different).lines().count(), MOST_LINES + 1);
    }

    #[test]
    fn nothing_that_a_rank_wrote_is_trusted() {
        let communicator = b"\x1b[2J\n\xff".repeat(999);
        let wild = BlockedCall {
            call: u32::MAX,
            awaited: 99,
            peer: i32::MIN,
            tag: i32::MIN,
            communicator,
            ..BlockedCall::default()
        };
        let activity =
            Activity { state: 1, last_call: u32::MAX, in_call: 7, blocked: Some((wild, u32::MAX)) };
        let line = report(&[runs(activity), runs(Activity { state: 77, ..Activity::default() })]);
        assert!(
            line.starts_with("mpiexec: rank 0: in MPI on ?[2J?") && line.lines().count() == 2,
            "{line:?}"
        );
        assert!(
            line.len() < 1000 && line.chars().filter(|sign| sign.is_control()).count() == 2,
            "{line:?}"
        );
    }
}
