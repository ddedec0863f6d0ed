//! Why a send waits long, in words.

use std::time::Duration;

/// Why a peer without credit for this process takes no messages.
pub const NO_ROOM: &str = "keeps as many that it has not received as its memory allows";

/// Explains why a peer takes no messages. `call` is the MPI function that the peer called last and
/// whether it is still in it; `None` for a peer on another host.
pub fn why_it_takes_none(call: Option<Option<(&str, bool)>>) -> String {
    match call {
        None => "takes none, most likely because it computes and calls no MPI function".to_owned(),
        Some(None) => "takes none, because it has not called MPI_Init yet".to_owned(),
        Some(Some((name, false))) => {
            format!("takes none, because it has called no MPI function since {name}")
        }
        Some(Some((name, true))) => format!("takes none, though it is in {name}"),
    }
}

/// The sentence for the user when `me` has waited so long to send to `peer`.
pub fn sentence(me: &str, peer: &str, why: &str, waited: Duration) -> String {
    format!(
        "{me} has waited for {} seconds to send a message to {peer}: {peer} {why}. It goes on when \
         {peer} receives. How much a rank keeps for each sender can be set by \
         TOWPATH_UNEXPECTED_BYTES.",
        waited.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_ranks_and_setting() {
        let said = sentence("rank 3", "rank 0", "has no room", Duration::from_secs(5));
        assert!(
            said.starts_with("rank 3 has waited for 5 seconds") && said.contains("to rank 0"),
            "{said}"
        );
        assert!(
            said.contains("rank 0 has no room.") && said.contains("TOWPATH_UNEXPECTED_BYTES"),
            "{said}"
        );
    }

    #[test]
    fn only_a_rank_outside_of_mpi_is_said_to_compute() {
        let why = [
            None,
            Some(None),
            Some(Some(("MPI_Barrier", false))),
            Some(Some(("MPI_Barrier", true))),
        ]
        .map(why_it_takes_none);
        let words = [
            "computes",
            "not called MPI_Init",
            "no MPI function since MPI_Barrier",
            "is in MPI_Barrier",
        ];
        for (why, words) in why.iter().zip(words) {
            assert!(why.contains(words), "{why}");
        }
    }
}
