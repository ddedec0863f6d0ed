//! The settings that say which transport leads to other hosts, and how large messages go beside
//! frames.

use towpath_base::config;

use crate::error::{Result, fail};

/// The setting that says which transport leads to other hosts.
pub(super) const SETTING: &str = "TOWPATH_NETWORK";

/// The setting that says how large messages go to hosts that frames reach.
const BULK: &str = "TOWPATH_CLIC_BULK";

/// How large messages go to hosts that frames reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Bulk {
    /// By frames over several rails or slow ones, which they share out and keep busy though frames
    /// get lost; else by connections, which cost the processor less.
    #[default]
    Best,
    Frames,
    Stream,
}

impl Bulk {
    /// As the environment says.
    pub(super) fn of_settings() -> Result<Bulk> {
        match config::setting(BULK).as_deref() {
            None | Some("best") => Ok(Bulk::Best),
            Some("frames") => Ok(Bulk::Frames),
            Some("stream") => Ok(Bulk::Stream),
            Some(text) => fail!(ERR_OTHER, "MPI cannot start: {BULK} is best, frames or stream, not '{text}'"),
        }
    }
}

/// What may lead to other hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Choice {
    /// A fabric where all are on one; else frames below IP to hosts where they have shown to work
    /// and pay, and connections to the others.
    #[default]
    Best,
    /// Frames, below IP where that works, or by UDP.
    Clic,
    /// Frames by UDP.
    Udp,
    /// Connections.
    Tcp,
    /// libfabric.
    Ofi,
}

impl Choice {
    /// As the environment says.
    pub(super) fn of_settings() -> Result<Choice> {
        let Some(text) = config::setting(SETTING) else { return Ok(Choice::default()) };
        match [Choice::Best, Choice::Clic, Choice::Udp, Choice::Tcp, Choice::Ofi]
            .into_iter()
            .find(|choice| choice.name() == text)
        {
            Some(choice) => Ok(choice),
            None => fail!(ERR_OTHER, "MPI cannot start: {SETTING} is best, clic, udp, tcp or ofi, not '{text}'"),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Choice::Best => "best",
            Choice::Clic => "clic",
            Choice::Udp => "udp",
            Choice::Tcp => "tcp",
            Choice::Ofi => "ofi",
        }
    }

    /// Whether a fabric may be used.
    pub(super) fn fabric(self) -> bool {
        matches!(self, Choice::Best | Choice::Ofi)
    }

    /// Whether frames may be used.
    pub(super) fn frames(self) -> bool {
        matches!(self, Choice::Best | Choice::Clic | Choice::Udp)
    }

    /// Whether frames must be used: a host that they do not reach ends the start.
    pub(super) fn only_frames(self) -> bool {
        matches!(self, Choice::Clic | Choice::Udp)
    }

    /// Whether frames may go below IP.
    pub(super) fn raw(self) -> bool {
        matches!(self, Choice::Best | Choice::Clic)
    }

    /// Whether frames may go by UDP. That is never chosen unasked: it takes longer than a
    /// connection (docs/design/networks.md has the figures).
    pub(super) fn udp(self) -> bool {
        self.only_frames()
    }
}
