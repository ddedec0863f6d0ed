//! The message to the user when a rank waits long because a receiver has no room for its messages.
//!
//! The standard allows a send to wait for its receive, but a program that relies on buffering then
//! hangs without an explanation. One rank of each host prints the message, once.

use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_machine::wait::watchdog::LONG;
use towpath_shm::Segment;

use crate::process;

/// Tells the user that this process waits for room at `peer`, unless a rank of this host has done
/// so already. `wire` is true if the wire is full because the peer has not read earlier messages,
/// and false if this process lacks credit.
pub(crate) fn tell(segment: &Segment, peer: PeerIndex, wire: bool) {
    if segment.head().told_of_wait.swap(1, Ordering::Relaxed) == 0 {
        let why = if wire {
            why_it_takes_none(process::call_of(peer))
        } else {
            "keeps as many that it has not received as its memory allows".to_owned()
        };
        process::say(&sentence(&process::name_of(process::me()), &process::name_of(peer), &why));
    }
}

/// Explains why a peer takes no messages. `call` is the MPI function that the peer called last and
/// whether it is still in it; `None` for a peer on another host.
fn why_it_takes_none(call: Option<Option<(&str, bool)>>) -> String {
    match call {
        None => "takes none, most likely because it computes and calls no MPI function".to_owned(),
        Some(None) => "takes none, because it has not called MPI_Init yet".to_owned(),
        Some(Some((name, false))) => {
            format!("takes none, because it has called no MPI function since {name}")
        }
        Some(Some((name, true))) => format!("takes none, though it is in {name}"),
    }
}

fn sentence(me: &str, peer: &str, why: &str) -> String {
    format!(
        "{me} has waited for {} seconds to send a message to {peer}: {peer} {why}. It goes on when {peer} receives. How \
         much a rank keeps for each sender can be set by TOWPATH_UNEXPECTED_BYTES.",
        LONG.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_ranks_and_setting() {
        let said = sentence("rank 3", "rank 0", "has no room");
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
