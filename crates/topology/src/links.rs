//! Links of hosts, uplinks of groups, and the paths that they form.

use std::cmp::Reverse;

use crate::error::{Error, Result};
use crate::figures::{Figure, FigureOrigin, Stated};
use crate::{DEFAULT_LATENCY, DEFAULT_RATE};

/// What the file states about a link or an uplink.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LinkFacts {
    pub(crate) rate: Option<Stated<u64>>,
    pub(crate) latency: Option<Stated<u64>>,
    pub(crate) half_duplex: Option<Stated<bool>>,
}

/// The link of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLink {
    /// Bytes per second, in each direction.
    pub rate: Figure<u64>,
    /// Nanoseconds that a short message takes over this link, in one direction.
    pub latency: Figure<u64>,
    /// Whether both directions share the rate.
    pub half_duplex: Figure<bool>,
}

/// What joins a group to the group around it. What the file does not state limits nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uplink {
    /// Bytes per second, in each direction; `None`: as fast as the links of the members.
    pub rate: Option<Figure<u64>>,
    /// Nanoseconds in one direction; `None`: nothing is added.
    pub latency: Option<Figure<u64>>,
    /// Whether both directions share the rate; `None`: not stated.
    pub half_duplex: Option<Figure<bool>>,
}

/// What a message passes from one host to another: two links, and the uplinks of the groups that
/// contain only one of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPath {
    /// The narrowest rate, in bytes per second, with the origin of that figure.
    pub rate: Figure<u64>,
    /// The sum of all latencies in nanoseconds, with the least certain of their origins.
    pub latency: Figure<u64>,
    /// Whether some part of the path is half duplex, with the origin of that figure.
    pub half_duplex: Figure<bool>,
}

impl LinkFacts {
    /// The link of a host; `usual` holds what the file, which is of this origin, states about all
    /// hosts.
    pub(crate) fn as_link(&self, usual: &LinkFacts, file: FigureOrigin) -> HostLink {
        let (rate, latency) = (self.rate.or(usual.rate), self.latency.or(usual.latency));
        HostLink {
            rate: Stated::figure(rate, file, DEFAULT_RATE),
            latency: Stated::figure(latency, file, DEFAULT_LATENCY),
            half_duplex: Stated::figure(self.half_duplex.or(usual.half_duplex), file, false),
        }
    }

    /// The uplink of a group.
    pub(crate) fn as_uplink(&self, file: FigureOrigin) -> Uplink {
        Uplink {
            rate: Stated::known(self.rate, file),
            latency: Stated::known(self.latency, file),
            half_duplex: Stated::known(self.half_duplex, file),
        }
    }

    /// Adds what a table in `line` states about the link of `host`.
    ///
    /// # Errors
    /// If another table states something else.
    pub(crate) fn add(&mut self, other: &LinkFacts, host: &str, line: usize) -> Result<()> {
        let kept = [
            ("rate", Stated::keep(&mut self.rate, other.rate)),
            ("latency", Stated::keep(&mut self.latency, other.latency)),
            ("half_duplex", Stated::keep(&mut self.half_duplex, other.half_duplex)),
        ];
        for (key, kept) in kept {
            kept.map_err(|first| contradiction(host, key, first, line))?;
        }
        Ok(())
    }
}

/// The error for a host about which two tables state different values of a key.
pub(crate) fn contradiction(host: &str, key: &str, first: usize, line: usize) -> Error {
    Error::new(
        line,
        format!("{key} of host {host} differs from what line {first} says; state it once."),
    )
}

impl HostLink {
    /// This link with the rate that the host's system reports, if nobody states one.
    pub fn or_reported(self, rate: Option<u64>) -> HostLink {
        self.or_better(rate, FigureOrigin::System)
    }

    /// This link with the rate that a running job has measured, if no file states one.
    pub fn or_measured(self, rate: Option<u64>) -> HostLink {
        self.or_better(rate, FigureOrigin::Measured)
    }

    /// This link with another rate, if that is more certain.
    fn or_better(self, rate: Option<u64>, origin: FigureOrigin) -> HostLink {
        match rate.filter(|_| self.rate.origin < origin) {
            Some(value) => HostLink { rate: Figure { value, origin }, ..self },
            None => self,
        }
    }
}

impl HostPath {
    /// The path over the links of two hosts.
    pub(crate) fn between(one: HostLink, other: HostLink) -> HostPath {
        let mut path =
            HostPath { rate: one.rate, latency: one.latency, half_duplex: one.half_duplex };
        path.pass(&Uplink {
            rate: Some(other.rate),
            latency: Some(other.latency),
            half_duplex: Some(other.half_duplex),
        });
        path
    }

    /// Extends the path by an uplink.
    pub(crate) fn pass(&mut self, uplink: &Uplink) {
        // Of equal figures the more certain one counts, so that both directions have one path.
        let key = |figure: Figure<u64>| (figure.value, Reverse(figure.origin));
        if let Some(rate) = uplink.rate.filter(|&rate| key(rate) < key(self.rate)) {
            self.rate = rate;
        }
        if let Some(latency) = uplink.latency {
            self.latency.value = self.latency.value.saturating_add(latency.value);
            self.latency.origin = self.latency.origin.min(latency.origin);
        }
        if let Some(half_duplex) = uplink.half_duplex {
            let (own, other) = (self.half_duplex, half_duplex);
            self.half_duplex = Figure {
                value: own.value || other.value,
                origin: match (own.value, other.value) {
                    (true, false) => own.origin,
                    (false, true) => other.origin,
                    (true, true) => own.origin.max(other.origin),
                    (false, false) => own.origin.min(other.origin),
                },
            };
        }
    }
}
