//! What the user is told when a rank waits long because a receiver has no room for its messages.
//!
//! The standard lets a send wait for its receive, but a program that relies on room stands still
//! then, and nothing else says why. One rank of each host says it, once.

use std::time::{Duration, Instant};

use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_shm::Segment;

use crate::waiting::Waiting;
use crate::world;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(900);
/// A wait of that length is told of.
const LONG: Duration = Duration::from_secs(5);

/// Knows how long a wait has lasted. Looks at the clock when it begins and after each sleep only.
#[derive(Default)]
pub(crate) struct Watchdog {
    /// How often the process had slept at the last look at the clock.
    sleeps: Option<u64>,
    /// When the wait began, and when it was looked at last.
    times: Option<(Instant, Instant)>,
}

impl Watchdog {
    /// Whether it is time to look at what is waited for.
    #[inline]
    pub(crate) fn is_due(&mut self, waiting: &Waiting) -> bool {
        let sleeps = Some(waiting.sleeps());
        sleeps != self.sleeps && self.is_due_now(sleeps)
    }

    #[cold]
    fn is_due_now(&mut self, sleeps: Option<u64>) -> bool {
        self.sleeps = sleeps;
        let now = Instant::now();
        let (_, looked) = self.times.get_or_insert((now, now));
        let due = now - *looked >= INTERVAL;
        if due {
            *looked = now;
        }
        due
    }

    /// Whether the wait has become a long one.
    pub(crate) fn waits_long(&self) -> bool {
        self.times.is_some_and(|(began, looked)| looked - began >= LONG)
    }
}

/// Tells the user that this process waits for room at a peer, unless somebody of this host has told
/// that already. `wire` says that the peer has not even taken what was sent before.
pub(crate) fn tell(segment: &Segment, peer: PeerIndex, wire: bool) {
    if segment.head().told_of_wait.swap(1, Ordering::Relaxed) == 0 {
        let why = if wire {
            why_it_takes_none(world::call_of(peer))
        } else {
            "keeps as many that it has not received as its memory allows".to_owned()
        };
        world::say(&sentence(world::me(), peer, &why));
    }
}

/// Why a peer takes no messages: `call` is the MPI function that it has called last, and whether it
/// is in that still. Of other hosts it is not known.
fn why_it_takes_none(call: Option<Option<(&str, bool)>>) -> String {
    match call {
        None => "takes none, most likely because it computes and calls no MPI function".to_owned(),
        Some(None) => "takes none, because it has not called MPI_Init yet".to_owned(),
        Some(Some((name, false))) => format!("takes none, because it has called no MPI function since {name}"),
        Some(Some((name, true))) => format!("takes none, though it is in {name}"),
    }
}

fn sentence(me: PeerIndex, peer: PeerIndex, why: &str) -> String {
    format!(
        "rank {} has waited for {} seconds to send a message to rank {peer}: rank {peer} {why}. It goes on when rank {peer} \
         receives. How much a rank keeps for each sender can be set by TOWPATH_UNEXPECTED_BYTES.",
        me.0,
        LONG.as_secs(),
        peer = peer.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_ranks_and_setting() {
        let said = sentence(PeerIndex(3), PeerIndex(0), "has no room");
        assert!(said.starts_with("rank 3 has waited for 5 seconds") && said.contains("to rank 0"), "{said}");
        assert!(said.contains("rank 0 has no room.") && said.contains("TOWPATH_UNEXPECTED_BYTES"), "{said}");
    }

    #[test]
    fn only_a_rank_outside_of_mpi_is_said_to_compute() {
        let why = [None, Some(None), Some(Some(("MPI_Barrier", false))), Some(Some(("MPI_Barrier", true)))]
            .map(why_it_takes_none);
        let words = ["computes", "not called MPI_Init", "no MPI function since MPI_Barrier", "is in MPI_Barrier"];
        for (why, words) in why.iter().zip(words) {
            assert!(why.contains(words), "{why}");
        }
    }
}
