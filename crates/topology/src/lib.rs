//! What joins the hosts of a job: their links, the groups that they form, such as racks and sites,
//! and which of them should lead or are slow. A topology file (docs/topology-file.md) states it,
//! and whatever it leaves out has a default.
//!
//! Hosts are named. Each has one link to its group, and each group an uplink to the group around
//! it; an unnamed network joins the outermost groups and the hosts outside all groups. Every figure
//! has an origin, so that a report can say where it comes from. Wrong figures make a job slower,
//! but its results stay right: a plan is built from them on all processes alike.
//!
//! This crate has no I/O. It builds one description from one text, and two descriptions of the
//! same text are equal.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod assembly;
mod error;
mod figures;
mod links;
pub mod measurement;
pub mod names;
mod network;
mod table;
pub mod tournament;
mod units;

pub use error::{Error, Result};
pub use figures::{Figure, FigureOrigin};
pub use links::{HostLink, HostPath, Uplink};
pub use network::{HostNetwork, NetworkHost, NetworkLink, USUAL_OVERHEAD, USUAL_SPEED};
pub use units::{readable_latency, readable_rate};

use assembly::{Assembly, GroupFacts, HostFacts};
use figures::Stated;
use links::LinkFacts;
use towpath_machine::levels::MachineDescription;

/// Longest topology file in bytes. It bounds what each process of a job receives at the start.
pub const LONGEST: usize = 64 << 10;

/// Rate of a host's link about which nothing is known: 10 Gbit/s, in bytes per second. Interfaces
/// whose rate the system does not report are those of virtual machines and containers.
pub const DEFAULT_RATE: u64 = 1_250_000_000;

/// Latency of a host's link about which nothing is known, in nanoseconds: two of them are what a
/// short message takes over TCP and a switch.
pub const DEFAULT_LATENCY: u64 = 20_000;

/// Links, groups and properties of hosts. [`NetworkTopology::default`] knows no host and no group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkTopology {
    /// Links of hosts about which the file says nothing.
    usual: LinkFacts,
    /// Levels of hosts about whose levels the file says nothing.
    usual_levels: Option<MachineDescription>,
    hosts: Vec<HostFacts>,
    groups: Vec<GroupFacts>,
    names: names::NameIndex,
    /// The file is the result of a measurement.
    measured: bool,
}

/// The number of a group of hosts: the groups of a file are numbered from 0, in its order.
pub type GroupNumber = usize;

impl NetworkTopology {
    /// Parses the text of a topology file.
    ///
    /// # Errors
    /// The first mistake, as a sentence with its line.
    pub fn parse(text: &str) -> Result<NetworkTopology> {
        if text.len() > LONGEST {
            return Err(Error::new(1, format!("the file has more than {LONGEST} bytes.")));
        }
        Assembly::of_text(text)?.finish()
    }

    /// This description, whose file is the result of a measurement.
    pub fn measured(self) -> NetworkTopology {
        NetworkTopology { measured: true, ..self }
    }

    /// The origin of the figures that the file states.
    pub fn origin(&self) -> FigureOrigin {
        if self.measured { FigureOrigin::Measured } else { FigureOrigin::File }
    }

    /// The hosts that the file names, in the order of their first appearance.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|host| host.name.as_str())
    }

    /// The name by which the file calls a host; `None` if it does not name the host.
    pub fn known_name(&self, host: &str) -> Option<&str> {
        self.facts(host).map(|host| host.name.as_str())
    }

    /// The name of a group.
    pub fn group_name(&self, group: GroupNumber) -> &str {
        &self.groups[group].name
    }

    /// The hosts that are in this group and in none of the groups inside it.
    pub fn members(&self, group: GroupNumber) -> impl Iterator<Item = &str> {
        self.groups[group].hosts.iter().map(|&host| self.hosts[host].name.as_str())
    }

    /// The groups directly inside a group, or the outermost groups.
    pub fn inside(&self, group: Option<GroupNumber>) -> impl Iterator<Item = GroupNumber> {
        (0..self.groups.len()).filter(move |&inner| self.groups[inner].parent == group)
    }

    /// The groups around a host, innermost first.
    pub fn around(&self, host: &str) -> impl Iterator<Item = GroupNumber> {
        let first = self.facts(host).and_then(|host| host.group);
        std::iter::successors(first, |&group| self.groups[group].parent)
    }

    /// What joins a group to the group around it.
    pub fn uplink(&self, group: GroupNumber) -> Uplink {
        self.groups[group].uplink.as_uplink(self.origin())
    }

    /// The link of a host to its group.
    pub fn link(&self, host: &str) -> HostLink {
        match self.facts(host) {
            Some(facts) => facts.link.as_link(&self.usual, self.origin()),
            None => self.usual_link(),
        }
    }

    /// The link of a host that the file does not name.
    pub fn usual_link(&self) -> HostLink {
        LinkFacts::default().as_link(&self.usual, self.origin())
    }

    /// Whether a process of this host should lead others.
    pub fn leads(&self, host: &str) -> Figure<bool> {
        Stated::figure(self.facts(host).and_then(|facts| facts.leads), self.origin(), true)
    }

    /// The speed of a host's processors, relative to 1 for an ordinary host.
    pub fn processor(&self, host: &str) -> Figure<f64> {
        let stated = self.facts(host).and_then(|facts| facts.processor);
        Stated::figure(stated, self.origin(), 1.0)
    }

    /// The levels of a host, if the file states them.
    pub fn levels(&self, host: &str) -> Option<&MachineDescription> {
        let stated = self.facts(host).and_then(|facts| facts.levels.as_ref());
        stated.map(|levels| &levels.value).or(self.usual_levels())
    }

    /// The levels of a host that the file does not name, if it states any.
    pub fn usual_levels(&self) -> Option<&MachineDescription> {
        self.usual_levels.as_ref()
    }

    /// True if the file states the levels of some host.
    pub fn states_levels(&self) -> bool {
        self.usual_levels.is_some() || self.hosts.iter().any(|host| host.levels.is_some())
    }

    /// The innermost group that contains both hosts; `None` if only the network around all groups
    /// does.
    fn common_group(&self, one: &str, other: &str) -> Option<GroupNumber> {
        let around: Vec<GroupNumber> = self.around(one).collect();
        self.around(other).find(|group| around.contains(group))
    }

    /// The path of a message from one host to another; `None` if both names mean the same host.
    pub fn path(&self, one: &str, other: &str) -> Option<HostPath> {
        self.path_over((one, self.link(one)), (other, self.link(other)))
    }

    /// Like [`NetworkTopology::path`] for hosts with these links.
    pub fn path_over(
        &self,
        (one, own): (&str, HostLink),
        (other, others): (&str, HostLink),
    ) -> Option<HostPath> {
        if names::agree(one, other) {
            return None;
        }
        let common = self.common_group(one, other);
        let uplinks = [one, other].into_iter().flat_map(|host| {
            let below = self.around(host).take_while(move |group| Some(*group) != common);
            below.map(|group| self.uplink(group))
        });
        let mut path = HostPath::between(own, others);
        for uplink in uplinks {
            path.pass(&uplink);
        }
        Some(path)
    }

    fn facts(&self, host: &str) -> Option<&HostFacts> {
        self.names.find(host).map(|index| &self.hosts[index])
    }
}

#[cfg(test)]
mod tests;
