//! Why a host takes no part in frames where nobody asked for them, and what it publishes in the
//! place of a card.

/// More processes of the job than this on a host use connections unless they are told otherwise:
/// the kernel shows every frame below IP to every process, and those who have to share it lose what
/// frames win. docs/design/networks.md has the figures.
pub(super) const MOST_RANKS: usize = 4;

/// Why a host takes no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absence {
    /// It has too many processes of the job.
    Crowded,
    /// Its processes share processors: then the system moves bytes for a connection while frames
    /// wait for their process.
    Shared,
    /// The system gives its processes no packet sockets.
    Refused,
    /// It has no Ethernet.
    NoEthernet,
    /// It is on a fabric, which others are not on.
    OnFabric,
}

impl Absence {
    const ALL: [Absence; 5] =
        [Absence::Crowded, Absence::Shared, Absence::Refused, Absence::NoEthernet, Absence::OnFabric];

    /// What a host publishes.
    pub(super) fn word(self) -> &'static str {
        match self {
            Absence::Crowded => "crowded",
            Absence::Shared => "shared",
            Absence::Refused => "refused",
            Absence::NoEthernet => "no-ethernet",
            Absence::OnFabric => "on-fabric",
        }
    }

    /// What another host has published, if it is none of its cards.
    pub(super) fn parse(text: &str) -> Option<Absence> {
        Absence::ALL.into_iter().find(|absence| absence.word() == text)
    }

    /// The reason, in words that follow on `host`: "this host", "that host".
    pub(super) fn reason(self, host: &str) -> String {
        match self {
            Absence::Crowded => format!("{host} has more than {MOST_RANKS} ranks of the job"),
            Absence::Shared => format!("ranks of {host} share processors"),
            Absence::Refused => format!("{host} gives its ranks no packet sockets (CAP_NET_RAW)"),
            Absence::NoEthernet => format!("{host} has no Ethernet"),
            Absence::OnFabric => format!("{host} is on a fabric that others are not on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absence_is_read_back_and_a_card_is_none() {
        for absence in Absence::ALL {
            assert_eq!(Absence::parse(absence.word()), Some(absence));
            assert!(absence.reason("this host").contains("this host"));
        }
        assert_eq!(Absence::parse("02aabbccddee/10.77.0.1/24/4000/4001/1500/10000;4000:4001"), None);
    }
}
