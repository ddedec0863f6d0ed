//! Setup of CLIC frames between hosts: opens interfaces, exchanges cards, probes paths, and keeps
//! what works.
//!
//! If frames were requested, they must reach all hosts. Otherwise, each pair of hosts that reaches
//! each other below IP uses them, and other pairs use connections. Hosts that frames would not
//! serve well ([`Ineligibility`]) open nothing and are not probed.

use std::collections::BTreeSet;

use towpath_base::config;
use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_clic::key::FrameKey;
use towpath_clic::rails::MOST_RAILS;
use towpath_clic_wire::port::{Interface, Port, RawSide, interfaces};
use towpath_clic_wire::{
    Clic, ClicContact, Facing, HostCard, Identity, Opposite, Ports, RAW, TrialTerms, UDP, Verdicts,
    try_ways,
};
use towpath_launch::client::{Job, Launcher};
use towpath_launch::resources::JobResources;
use towpath_machine::{cgroup, cores};
use towpath_shm::Segment;

use super::choice::{BulkTransport, SETTING, TransportChoice};
use super::ineligibility::{Ineligibility, MOST_RANKS};
use super::probing::{ProbeRound, WorkingPaths};
use super::{INTERFACES, host_of, key_of, others, text_of, unknown};
use crate::error::{Error, Result};
use crate::jobs::Jobs;

/// On a host with more ranks of the job than this, frames use UDP: the kernel delivers every frame
/// below IP to every process, but finds the owner of a datagram directly.
const RAW_RANKS: usize = 8;
/// The setting that makes the sender copy large messages before it sends them.
const COPY: &str = "TOWPATH_CLIC_COPY";
/// Link speed in Mbit/s up to which the link, not the processor, is the bottleneck.
const SLOW: u32 = 1000;
/// The incarnation of every process of a job; jobs are distinguished by their key.
const LIFE: u32 = 1;

/// The path to another host.
#[derive(Clone, Debug)]
struct HostWay {
    card: HostCard,
    /// Once the paths have been probed, the rails that both hosts have found to work: their
    /// interfaces, and what works over them, as a combination of [`RAW`] and [`UDP`].
    rails: Vec<(Facing, u8)>,
    /// Why there are no rails.
    why: String,
}

/// The state of frames during startup.
pub(super) struct FrameSetup {
    choice: TransportChoice,
    bulk: BulkTransport,
    /// Whether this host has more than [`RAW_RANKS`] ranks of the job.
    exceeds_raw: bool,
    /// Why this host does not take part; it then has no ports.
    ineligibility: Option<Ineligibility>,
    /// The system's error when it refused a socket to this process.
    refusal: String,
    /// Whether the ranks of this host are oversubscribed.
    shares: bool,
    ports: Vec<Port>,
    key: FrameKey,
    /// Indexed by host; `None` for this host, and without rails for hosts that frames do not reach.
    ways: Vec<Option<HostWay>>,
    /// Whether all hosts reach each other by frames.
    everywhere: bool,
}

impl FrameSetup {
    /// Opens the interfaces, and publishes their ports to the host's other ranks in the control
    /// page.
    pub(super) fn open(
        choice: TransportChoice,
        segment: &Segment,
        on_fabric: bool,
    ) -> Result<FrameSetup> {
        let (ranks, forced) = (segment.ranks(), choice.only_frames());
        let ineligibility = match forced {
            true => None,
            false if on_fabric => Some(Ineligibility::OnFabric),
            false if ranks > MOST_RANKS => Some(Ineligibility::TooManyRanks),
            false if ranks > cores::online() => Some(Ineligibility::Shared),
            false => None,
        };
        let exceeds_raw = ranks > RAW_RANKS;
        let raw = if choice.raw() && !exceeds_raw { RawSide::Small } else { RawSide::Closed };
        let mut frames = FrameSetup {
            exceeds_raw,
            ineligibility,
            ..FrameSetup::without_ports(choice, BulkTransport::of_settings()?)
        };
        if ineligibility.is_none() {
            frames.open_ports(interfaces(config::setting(INTERFACES).as_deref()), raw)?;
        }
        for (port, place) in frames.ports.iter().zip(&segment.own_control().interfaces) {
            let address = port.address();
            place.store(
                u32::from(address.port) | u32::from(address.bulk_port) << 16,
                Ordering::Release,
            );
        }
        Ok(frames)
    }

    fn without_ports(choice: TransportChoice, bulk: BulkTransport) -> FrameSetup {
        FrameSetup {
            choice,
            bulk,
            exceeds_raw: false,
            ineligibility: None,
            refusal: String::new(),
            shares: false,
            ports: Vec::new(),
            key: FrameKey([0; 2]),
            ways: Vec::new(),
            everywhere: false,
        }
    }

    /// Opens the usable ones of these interfaces. Skips an interface without UDP sockets, unless
    /// frames were requested.
    fn open_ports(&mut self, mut all: Vec<Interface>, raw: RawSide) -> Result<()> {
        if !self.choice.udp() {
            all.retain(|interface| {
                interface.hardware.is_some() && !interface.network.address.is_loopback()
            });
            self.ineligibility = all.is_empty().then_some(Ineligibility::NoEthernet);
        }
        for interface in all.iter().take(MOST_RAILS) {
            let endpoint = self.ports.first().map(Port::endpoint);
            let port = match Port::open(interface, endpoint, raw) {
                Ok(port) => port,
                Err(error) if !self.choice.only_frames() => {
                    self.refusal = in_brackets(&error);
                    continue;
                }
                Err(error) => return Err(Error::new(error)),
            };
            if let Some(error) = port.without_raw().filter(|_| !self.choice.udp()) {
                self.refusal = in_brackets(error);
                self.ports.clear();
                self.ineligibility = Some(Ineligibility::Refused);
                return Ok(());
            }
            self.ports.push(port);
        }
        if self.ports.is_empty() && !self.choice.only_frames() {
            self.ineligibility.get_or_insert(Ineligibility::Refused);
        }
        Ok(())
    }

    /// Decides whether this host takes part; all its ranks come to the same decision. To be called
    /// after all of them have opened their ports.
    pub(super) fn decide_participation(&mut self, segment: &Segment) {
        let ranks = segment.ranks();
        self.shares = cores::are_shared(segment.head(), ranks as u32, cgroup::processor_quota);
        if self.choice.only_frames()
            || matches!(self.ineligibility, Some(Ineligibility::TooManyRanks))
        {
            return;
        }
        let ports = |rank: usize| {
            let places = segment.control(rank).interfaces.iter();
            places.filter(|place| place.load(Ordering::Acquire) != 0).count()
        };
        let some = ports(0);
        if self.shares {
            self.ineligibility = Some(Ineligibility::Shared);
        } else if some == 0 || (1..ranks).any(|rank| ports(rank) != some) {
            self.ineligibility.get_or_insert(Ineligibility::Refused);
        }
        if self.ineligibility.is_some() {
            self.ports.clear();
        }
    }

    /// The card of this host, with the ports of all its ranks.
    fn card(&self, job: &Job, segment: &Segment) -> HostCard {
        let of_rank = |rank: usize| -> Vec<Ports> {
            let places = segment.control(rank).interfaces.iter().take(self.ports.len());
            places
                .map(|place| place.load(Ordering::Acquire))
                .map(|both| [both as u16, (both >> 16) as u16])
                .collect()
        };
        HostCard {
            interfaces: self.ports.iter().map(Port::address).collect(),
            ports: (0..job.local_ranks.len()).map(of_rank).collect(),
        }
    }

    /// Publishes the host's card, or the reason why it does not take part.
    pub(super) fn publish(
        &self,
        launcher: &mut dyn Launcher,
        job: &Job,
        segment: &Segment,
    ) -> Result<()> {
        let host = host_of(job, job.rank);
        let text = match self.ineligibility {
            Some(ineligibility) => ineligibility.word().to_owned(),
            None => self.card(job, segment).to_text(),
        };
        launcher.put(&key_of("frames", host), &text).map_err(Error::new)
    }

    /// Finds out which hosts frames reach, and how; `resources` are the job's. Collective over the
    /// job.
    pub(super) fn meet(
        &mut self,
        launcher: &mut dyn Launcher,
        job: &Job,
        secret: &[u8],
        resources: &JobResources,
    ) -> Result<()> {
        self.key = FrameKey::of_secret(secret);
        let (hosts, own_host) = (job.hosts() as u32, host_of(job, job.rank));
        // A host cannot know by itself which others are containers on its kernel.
        let shares = |host: u32| !self.choice.only_frames() && resources.sharers[host as usize] > 1;
        let shared = |host| shares(host).then_some(Ineligibility::Shared);
        if let (None, Some(reason)) = (self.ineligibility, shared(own_host)) {
            self.ineligibility = Some(reason);
            self.ports.clear();
        }
        let mut present = Vec::new();
        for host in 0..hosts {
            let text = text_of(launcher, job, &key_of("frames", host), host)?;
            let ineligibility = Ineligibility::parse(&text).or_else(|| shared(host));
            if ineligibility.is_none() {
                present.push(host);
            }
            let way = match ineligibility {
                _ if host == own_host => None,
                Some(ineligibility) => Some(self.apart(ineligibility.reason("that host"))),
                None => {
                    let card = HostCard::parse(&text).ok_or_else(|| unknown(job.first_of(host)))?;
                    Some(self.facing(card))
                }
            };
            self.ways.push(way);
        }
        // All processes come to the same decision, so none waits in vain.
        if present.len() > 1 {
            self.try_and_agree(launcher, job, &present)?;
        }
        self.check(job)
    }

    /// The entry of a host that frames do not reach. The reason is this host's, if it has one,
    /// otherwise `why`.
    fn apart(&self, why: String) -> HostWay {
        let why = match self.ineligibility {
            Some(Ineligibility::Refused) => {
                Ineligibility::Refused.reason("this host") + &self.refusal
            }
            Some(ineligibility) => ineligibility.reason("this host"),
            None => why,
        };
        HostWay { card: HostCard::default(), rails: Vec::new(), why }
    }

    /// The rails over which a host may be reached, from its card. They have not been probed yet.
    fn facing(&self, card: HostCard) -> HostWay {
        if self.ineligibility.is_some() {
            return self.apart(String::new());
        }
        let own = HostCard {
            interfaces: self.ports.iter().map(Port::address).collect(),
            ports: Vec::new(),
        };
        let both = own.facing(&card).into_iter().filter(|facing| facing.near || self.choice.udp());
        let rails: Vec<(Facing, u8)> = both.map(|facing| (facing, 0)).collect();
        let why = if rails.is_empty() {
            "it shares no network with this host"
        } else {
            "no frames arrive"
        };
        HostWay { card, rails, why: why.to_owned() }
    }

    /// Probes the paths and keeps those that both ends have found to work.
    fn try_and_agree(
        &mut self,
        launcher: &mut dyn Launcher,
        job: &Job,
        present: &[u32],
    ) -> Result<()> {
        let requested = self.choice.only_frames();
        let paths =
            WorkingPaths::find(present, requested, &mut |round| self.probe(launcher, job, round))?;
        let own_host = host_of(job, job.rank);
        for &host in present.iter().filter(|host| **host != own_host) {
            self.keep_what_works(host, |rail| paths.of(own_host, host, rail));
        }
        let wanted = self.wanted();
        let reach = |one: &u32, other: &u32| {
            (0..MOST_RAILS).any(|rail| paths.of(*one, *other, rail) & wanted == wanted)
        };
        self.everywhere = present.len() == job.hosts()
            && present
                .iter()
                .all(|one| present.iter().all(|other| one == other || reach(one, other)));
        self.close_unused();
        Ok(())
    }

    /// Performs a round of probes, and exchanges what works. The results are indexed by host.
    fn probe(
        &mut self,
        launcher: &mut dyn Launcher,
        job: &Job,
        round: &ProbeRound,
    ) -> Result<Vec<Verdicts>> {
        let own_host = host_of(job, job.rank);
        if job.local_rank == 0 && round.hosts().any(|host| host == own_host) {
            let verdicts = self.probe_hosts(job, round);
            launcher
                .put(&key_of(round.name(), own_host), &verdicts.to_text())
                .map_err(Error::new)?;
        }
        launcher.fence().map_err(Error::new)?;
        let mut verdicts = vec![Verdicts::default(); job.hosts()];
        for host in round.hosts() {
            let text = text_of(launcher, job, &key_of(round.name(), host), host)?;
            verdicts[host as usize] = Verdicts::parse(&text);
        }
        Ok(verdicts)
    }

    /// Probes the paths to other hosts, on the first rank of each host. The results are indexed by
    /// host, including this one.
    fn probe_hosts(&mut self, job: &Job, round: &ProbeRound) -> Verdicts {
        let hosts: Vec<u32> = round.opposites(host_of(job, job.rank)).collect();
        let mut opposites = Vec::new();
        for (host, way) in (0u32..).zip(&self.ways) {
            let rank = job.first_of(host);
            let (mut rails, mut endpoint) = (Vec::new(), 0);
            let way = way.as_ref().filter(|_| hosts.contains(&host));
            if let Some(HostWay { card, rails: facing, .. }) = way {
                endpoint = card.endpoint(0).unwrap_or(0);
                for (Facing { own, other, near }, _) in facing {
                    let address = card.address(0, *other);
                    let raw = address
                        .filter(|there| *near && self.choice.raw() && there.hardware.is_some());
                    let port = &mut self.ports[*own];
                    let raw = raw
                        .filter(|_| port.without_raw().is_none())
                        .map(|there| port.way(&there, true));
                    rails.push((*own, [raw, address.map(|there| port.way(&there, false))]));
                }
            }
            opposites.push(Opposite { rank, endpoint, rails });
        }
        let needed = if self.choice.only_frames() { self.wanted() } else { 0 };
        let terms = TrialTerms { number: round.number, needed, patience: round.patience };
        try_ways(&self.identity(job), &mut self.ports, &opposites, terms)
    }

    /// Keeps the rails to a host that both ends have found to work.
    fn keep_what_works(&mut self, host: u32, works: impl Fn(usize) -> u8) {
        let (wanted, Some(Some(way))) = (self.wanted(), self.ways.get_mut(host as usize)) else {
            return;
        };
        let rails = std::mem::take(&mut way.rails).into_iter().enumerate();
        let tried = rails.map(|(rail, (facing, _))| (facing, works(rail)));
        let (good, bad): (Vec<_>, Vec<_>) = tried.partition(|(_, works)| works & wanted == wanted);
        way.rails = good;
        if let Some(worked) = bad.iter().map(|(_, works)| *works).max() {
            let why = match worked {
                UDP => "Ethernet frames of the type 0x88b5 do not arrive, while UDP does",
                RAW => "UDP does not arrive, while Ethernet frames of the type 0x88b5 do",
                _ => "UDP does not arrive, or not at all ports",
            };
            why.clone_into(&mut way.why);
        }
    }

    /// What must work over a rail. Frames below IP need both, because batches of frames are sent
    /// over UDP even if single frames are sent below IP.
    fn wanted(&self) -> u8 {
        if self.choice.udp() { UDP } else { RAW | UDP }
    }

    /// Closes interfaces over which no host is reached.
    fn close_unused(&mut self) {
        let facings = self
            .ways
            .iter()
            .flatten()
            .flat_map(|way| way.rails.iter().map(|(facing, _)| facing.own));
        let used: BTreeSet<usize> = facings.collect();
        let place: Vec<Option<usize>> = (0..self.ports.len())
            .map(|port| used.iter().position(|other| *other == port))
            .collect();
        for (facing, _) in self.ways.iter_mut().flatten().flat_map(|way| &mut way.rails) {
            facing.own = place[facing.own].unwrap_or(0);
        }
        let mut kept = place.iter().map(Option::is_some);
        self.ports.retain(|_| kept.next() == Some(true));
    }

    /// Checks that all hosts are reached as the settings require.
    fn check(&self, job: &Job) -> Result<()> {
        let lacks = |way: &Option<HostWay>| way.as_ref().is_some_and(|way| way.rails.is_empty());
        match self.ways.iter().position(lacks).filter(|_| self.choice.only_frames()) {
            Some(host) => {
                let rank = job.first_of(host as u32);
                Err(Error::new(format_args!(
                    "frames do not reach the host of rank {rank}, and {SETTING}={} allows nothing else",
                    self.choice.name()
                )))
            }
            None => Ok(()),
        }
    }

    fn identity(&self, job: &Job) -> Identity {
        let endpoint = self.ports.first().map_or(0, Port::endpoint);
        Identity {
            own: PeerIndex(job.rank),
            endpoint,
            incarnation: LIFE,
            key: self.key,
            drowsy: self.shares,
        }
    }

    /// The wire to all processes that frames reach; `None` if there are none.
    pub(super) fn into_wire(self, job: &Job, jobs: &Jobs) -> Result<Option<Clic>> {
        let contact = |(rank, host, local): (u32, u32, usize)| {
            let way = self.ways.get(host as usize)?.as_ref().filter(|way| !way.rails.is_empty())?;
            let rail = |(facing, works): &(Facing, u8)| {
                Some((facing.own, way.card.address(local, facing.other)?, works & RAW != 0))
            };
            Some(ClicContact {
                peer: jobs.own_peer(rank),
                endpoint: way.card.endpoint(local)?,
                incarnation: LIFE,
                rails: way.rails.iter().map(rail).collect::<Option<_>>()?,
            })
        };
        let contacts: Vec<ClicContact> = others(job).filter_map(contact).collect();
        if contacts.is_empty() {
            return Ok(None);
        }
        let copies = config::number(COPY) == Some(1);
        let (identity, everywhere) = (self.identity(job), self.everywhere);
        let clic = Clic::new(identity, self.ports, &contacts).map_err(Error::new)?;
        Ok(Some(clic.copying(copies).reaching_all(everywhere)))
    }

    /// Whether large messages to a host use a connection.
    fn is_streamed(&self, way: &HostWay) -> bool {
        let [(facing, _)] = way.rails[..] else { return self.bulk == BulkTransport::Stream };
        let speeds =
            [self.ports[facing.own].address().speed, way.card.interfaces[facing.other].speed];
        let slow = speeds.iter().any(|speed| (1..=SLOW).contains(speed));
        self.bulk == BulkTransport::Stream || (self.bulk == BulkTransport::Best && !slow)
    }

    /// Indexed by rank: whether large messages use a connection.
    pub(super) fn streams(&self, job: &Job) -> Vec<bool> {
        let of = |rank| self.ways.get(host_of(job, rank) as usize).and_then(Option::as_ref);
        (0..job.size).map(|rank| of(rank).is_some_and(|way| self.is_streamed(way))).collect()
    }

    /// A description of how each other host is reached.
    pub(super) fn routes(&self, job: &Job) -> Vec<String> {
        let word = |(host, way): (u32, &HostWay)| {
            let rank = job.first_of(host);
            let name = |(facing, works): &(Facing, u8)| {
                let by = if works & RAW != 0 { "Ethernet frames" } else { "UDP" };
                format!("{} by {by}", self.ports[facing.own].interface().name)
            };
            let rails: Vec<String> = way.rails.iter().map(name).collect();
            if rails.is_empty() {
                return format!("host {host} (rank {rank}): tcp, since {}", way.why);
            }
            let (rails, why) = (rails.join(" and "), self.why_not_raw(way));
            let bulk = if self.is_streamed(way) { "; large messages by tcp" } else { "" };
            format!("host {host} (rank {rank}): clic over {rails}{why}{bulk}")
        };
        (0..).zip(&self.ways).filter_map(|(host, way)| Some(word((host, way.as_ref()?)))).collect()
    }

    /// Why frames to a host use UDP; empty if they do not, or if the settings require UDP.
    fn why_not_raw(&self, way: &HostWay) -> String {
        let udp = way.rails.iter().find(|(_, works)| works & RAW == 0);
        let Some((facing, _)) = udp.filter(|_| self.choice.raw()) else { return String::new() };
        match self.ports[facing.own].without_raw() {
            Some(_) if self.exceeds_raw => format!(" (a host has more than {RAW_RANKS} ranks)"),
            Some(error) => format!(" ({error})"),
            None => " (the other host takes no others)".to_owned(),
        }
    }
}

/// Formats an error to be appended to a sentence.
fn in_brackets(error: &impl std::fmt::Display) -> String {
    format!(" ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_without_sockets_is_left_out_unless_frames_were_asked_for() {
        let mut interface = interfaces(Some("lo")).remove(0);
        // An address reserved for documentation (RFC 5737): no socket can be bound to it.
        interface.network.address = std::net::Ipv4Addr::new(192, 0, 2, 1).into();
        let mut best = FrameSetup::without_ports(TransportChoice::Best, BulkTransport::Best);
        assert!(best.open_ports(vec![interface.clone()], RawSide::Small).is_ok());
        assert_eq!((best.ports.len(), best.ineligibility), (0, Some(Ineligibility::Refused)));
        let mut forced = FrameSetup::without_ports(TransportChoice::Clic, BulkTransport::Best);
        assert!(forced.open_ports(vec![interface], RawSide::Small).is_err());
    }
}
