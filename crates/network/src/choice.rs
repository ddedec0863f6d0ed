//! The settings that select the transport to other hosts, and the one for large messages to hosts
//! that frames reach.

use towpath_base::config;

use crate::error::{Error, Result};

/// The setting that selects the transport to other hosts.
pub(super) const SETTING: &str = "TOWPATH_NETWORK";

/// The setting that selects how large messages are sent to hosts that frames reach.
const BULK: &str = "TOWPATH_CLIC_BULK";

/// How large messages are sent to hosts that frames reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BulkTransport {
    /// Frames if there are several rails or a slow one, because frames use all rails and keep them
    /// busy even if some frames are lost. Otherwise connections, which use less processor time.
    #[default]
    Best,
    Frames,
    Stream,
}

impl BulkTransport {
    /// Reads the environment.
    pub(super) fn of_settings() -> Result<BulkTransport> {
        match config::setting(BULK).as_deref() {
            None | Some("best") => Ok(BulkTransport::Best),
            Some("frames") => Ok(BulkTransport::Frames),
            Some("stream") => Ok(BulkTransport::Stream),
            Some(text) => Err(Error::new(format_args!(
                "{BULK}={text} is not a method; use best, frames or stream"
            ))),
        }
    }
}

/// Which transports to other hosts are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TransportChoice {
    /// libfabric if all processes are on a fabric. Otherwise CLIC frames directly over Ethernet to
    /// hosts where they work and pay off, and TCP to the others.
    #[default]
    Best,
    /// CLIC frames, directly over Ethernet where that works, otherwise over UDP.
    Clic,
    /// CLIC frames over UDP.
    Udp,
    /// TCP connections.
    Tcp,
    /// libfabric.
    Ofi,
}

impl TransportChoice {
    /// Reads the environment.
    pub(super) fn of_settings() -> Result<TransportChoice> {
        let Some(text) = config::setting(SETTING) else { return Ok(TransportChoice::default()) };
        match [
            TransportChoice::Best,
            TransportChoice::Clic,
            TransportChoice::Udp,
            TransportChoice::Tcp,
            TransportChoice::Ofi,
        ]
        .into_iter()
        .find(|choice| choice.name() == text)
        {
            Some(choice) => Ok(choice),
            None => Err(Error::new(format_args!(
                "{SETTING}={text} is not a network; use best, clic, udp, tcp or ofi"
            ))),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            TransportChoice::Best => "best",
            TransportChoice::Clic => "clic",
            TransportChoice::Udp => "udp",
            TransportChoice::Tcp => "tcp",
            TransportChoice::Ofi => "ofi",
        }
    }

    /// Whether a fabric may be used.
    pub(super) fn fabric(self) -> bool {
        matches!(self, TransportChoice::Best | TransportChoice::Ofi)
    }

    /// Whether frames may be used.
    pub(super) fn frames(self) -> bool {
        matches!(self, TransportChoice::Best | TransportChoice::Clic | TransportChoice::Udp)
    }

    /// Whether frames are mandatory: a host that they do not reach makes startup fail.
    pub(super) fn only_frames(self) -> bool {
        matches!(self, TransportChoice::Clic | TransportChoice::Udp)
    }

    /// Whether frames may be sent below IP.
    pub(super) fn raw(self) -> bool {
        matches!(self, TransportChoice::Best | TransportChoice::Clic)
    }

    /// Whether frames may be sent over UDP. Never chosen by default: its latency is higher than
    /// that of a connection (docs/design/networks.md has the figures).
    pub(super) fn udp(self) -> bool {
        self.only_frames()
    }
}
