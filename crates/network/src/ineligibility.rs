//! Why a host does not take part in CLIC frames unless they are requested, and what it publishes
//! instead of a card.

/// A host with more ranks of the job than this uses TCP unless told otherwise. The kernel delivers
/// every frame below IP to every process, and on shared processors that costs more than frames
/// save. docs/design/networks.md has the figures.
pub(super) const MOST_RANKS: usize = 4;

/// Why a host does not take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ineligibility {
    /// It has too many ranks of the job.
    TooManyRanks,
    /// Its ranks are oversubscribed: for a TCP connection the kernel moves bytes, whereas frames
    /// wait until their process runs.
    Shared,
    /// The system refuses packet sockets to its processes.
    Refused,
    /// It has no Ethernet interface.
    NoEthernet,
    /// It is on a fabric that not all hosts are on.
    OnFabric,
}

impl Ineligibility {
    const ALL: [Ineligibility; 5] = [
        Ineligibility::TooManyRanks,
        Ineligibility::Shared,
        Ineligibility::Refused,
        Ineligibility::NoEthernet,
        Ineligibility::OnFabric,
    ];

    /// The word that a host publishes.
    pub(super) fn word(self) -> &'static str {
        match self {
            Ineligibility::TooManyRanks => "crowded",
            Ineligibility::Shared => "shared",
            Ineligibility::Refused => "refused",
            Ineligibility::NoEthernet => "no-ethernet",
            Ineligibility::OnFabric => "on-fabric",
        }
    }

    /// Parses what a host has published; `None` if it is a card.
    pub(super) fn parse(text: &str) -> Option<Ineligibility> {
        Ineligibility::ALL.into_iter().find(|reason| reason.word() == text)
    }

    /// The reason as a clause; `host` is "this host" or "that host".
    pub(super) fn reason(self, host: &str) -> String {
        match self {
            Ineligibility::TooManyRanks => {
                format!("{host} has more than {MOST_RANKS} ranks of the job")
            }
            Ineligibility::Shared => format!("ranks of {host} share processors"),
            Ineligibility::Refused => {
                format!("{host} does not allow its ranks packet sockets (CAP_NET_RAW)")
            }
            Ineligibility::NoEthernet => format!("{host} has no Ethernet interface"),
            Ineligibility::OnFabric => format!("{host} is on a fabric that other hosts are not on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absence_is_read_back_and_a_card_is_none() {
        for ineligibility in Ineligibility::ALL {
            assert_eq!(Ineligibility::parse(ineligibility.word()), Some(ineligibility));
            assert!(ineligibility.reason("this host").contains("this host"));
        }
        assert_eq!(
            Ineligibility::parse("02aabbccddee/10.77.0.1/24/4000/4001/1500/10000;4000:4001"),
            None
        );
    }
}
