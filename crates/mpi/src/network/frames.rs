//! Meeting the processes of other hosts by frames: interfaces are opened, cards exchanged, ways tried, and what works is used.

use std::time::Duration;

use towpath_base::config;
use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_launch::client::{Job, Launcher};
use towpath_transport::clic::key::JobKey;
use towpath_transport::clic::port::{Port, RawSide, interfaces};
use towpath_transport::clic::rails::MOST_RAILS;
use towpath_transport::clic::wire::{Facing, HostCard, Opposite, Ports, RAW, UDP, Verdicts, try_ways};
use towpath_transport::clic::{Clic, Contact, Identity};
use towpath_transport::shm::Segment;

use super::choice::{Bulk, Choice, SETTING};
use super::{INTERFACES, first_of, host_of, key_of, others, read};
use crate::error::{Result, fail};
use crate::world::failed_start;

/// How long ways are tried that do not answer.
const PATIENCE: Duration = Duration::from_millis(300);
/// On a host with more processes of the job than this, frames go by UDP: the kernel shows every frame below IP to every
/// process, and finds the owner of a datagram at once.
const RAW_RANKS: usize = 8;
/// The setting that makes senders copy.
const COPY: &str = "TOWPATH_CLIC_COPY";
/// Mbit/s up to which a link is slower than the processes.
const SLOW: u32 = 1000;
/// Every process of a job has its first life: the key of the job tells jobs apart.
const LIFE: u32 = 1;

/// The way to another host that both hosts have found good.
#[derive(Clone, Debug)]
struct Way {
    card: HostCard,
    /// By rail: the interfaces, and whether frames go below IP.
    rails: Vec<(Facing, bool)>,
}

/// What this process has of frames while it starts.
pub(super) struct Frames {
    choice: Choice,
    bulk: Bulk,
    /// This host has too many processes for frames below IP.
    crowded: bool,
    ports: Vec<Port>,
    key: JobKey,
    /// By host; `None` for the own one, and without rails for those that frames do not reach.
    ways: Vec<Option<Way>>,
}

impl Frames {
    /// Opens the interfaces, and tells the host's first rank by the control page at which ports.
    pub(super) fn open(choice: Choice, segment: &Segment) -> Result<Frames> {
        let crowded = segment.ranks() > RAW_RANKS;
        let raw = if choice.raw() && !crowded { RawSide::Small } else { RawSide::Closed };
        let mut ports: Vec<Port> = Vec::new();
        for interface in interfaces(config::setting(INTERFACES).as_deref()).iter().take(MOST_RAILS) {
            let endpoint = ports.first().map(Port::endpoint);
            ports.push(Port::open(interface, endpoint, raw).map_err(failed_start)?);
        }
        for (port, place) in ports.iter().zip(&segment.own_control().interfaces) {
            let address = port.address();
            place.store(u32::from(address.port) | u32::from(address.bulk_port) << 16, Ordering::Release);
        }
        Ok(Frames { choice, bulk: Bulk::of_settings()?, crowded, ports, key: JobKey([0; 2]), ways: Vec::new() })
    }

    /// The own host's card, with the ports of all its ranks.
    fn card(&self, job: &Job, segment: &Segment) -> HostCard {
        let of_rank = |rank: usize| -> Vec<Ports> {
            let places = segment.control(rank).interfaces.iter().take(self.ports.len());
            places.map(|place| place.load(Ordering::Acquire)).map(|both| [both as u16, (both >> 16) as u16]).collect()
        };
        HostCard {
            interfaces: self.ports.iter().map(Port::address).collect(),
            ports: (0..job.local_ranks.len()).map(of_rank).collect(),
        }
    }

    /// Publishes the host's card.
    pub(super) fn publish(&self, launcher: &mut dyn Launcher, job: &Job, segment: &Segment) -> Result<()> {
        let host = host_of(job, job.rank);
        launcher.put(&key_of("frames", host), &self.card(job, segment).to_text()).map_err(failed_start)
    }

    /// Finds out which hosts frames reach, and how. Collective over the job.
    pub(super) fn meet(&mut self, launcher: &mut dyn Launcher, job: &Job, secret: &[u8]) -> Result<()> {
        self.key = JobKey::of_secret(secret);
        let own_host = host_of(job, job.rank);
        let own = HostCard { interfaces: self.ports.iter().map(Port::address).collect(), ports: Vec::new() };
        let hosts: Vec<u32> = (0..job.hosts() as u32).collect();
        for &host in &hosts {
            self.ways.push(if host == own_host {
                None
            } else {
                let card = read(launcher, job, "frames", host, HostCard::parse)?;
                let rails = own.facing(&card).into_iter().map(|facing| (facing, false)).collect();
                Some(Way { card, rails })
            });
        }
        if job.local_rank == 0 {
            let verdicts = self.try_all(job);
            launcher.put(&key_of("ways", own_host), &verdicts.to_text()).map_err(failed_start)?;
        }
        launcher.fence().map_err(failed_start)?;
        let verdicts =
            |launcher: &mut dyn Launcher, host| read(launcher, job, "ways", host, |text| Some(Verdicts::parse(text)));
        let ours = verdicts(launcher, own_host)?;
        for &host in &hosts {
            if host != own_host {
                let theirs = verdicts(launcher, host)?;
                self.keep_what_works(host, |rail| ours.of(host as usize, rail) & theirs.of(own_host as usize, rail));
            }
        }
        self.check(job)
    }

    /// The first rank of each host tries the ways to all other hosts. The verdicts have a place for each host, the own one too.
    fn try_all(&mut self, job: &Job) -> Verdicts {
        let mut opposites = Vec::new();
        for (host, way) in (0u32..).zip(&self.ways) {
            let rank = first_of(job, host);
            let (mut rails, mut endpoint) = (Vec::new(), 0);
            if let Some(Way { card, rails: facing }) = way {
                endpoint = card.endpoint(0).unwrap_or(0);
                for (Facing { own, other, near }, _) in facing {
                    let address = card.address(0, *other);
                    let raw = address.filter(|there| *near && self.choice.raw() && there.hardware.is_some());
                    let port = &mut self.ports[*own];
                    let raw = raw.filter(|_| port.without_raw().is_none()).map(|there| port.way(&there, true));
                    rails.push((*own, [raw, address.map(|there| port.way(&there, false))]));
                }
            }
            opposites.push(Opposite { rank, endpoint, rails });
        }
        try_ways(&self.identity(job), &mut self.ports, &opposites, PATIENCE)
    }

    /// Keeps the rails to a host that both ends have found good; below IP where that works.
    fn keep_what_works(&mut self, host: u32, works: impl Fn(usize) -> u8) {
        let Some(Some(way)) = self.ways.get_mut(host as usize) else { return };
        let rails = std::mem::take(&mut way.rails).into_iter().enumerate();
        let usable = rails.filter(|(rail, _)| works(*rail) & (RAW | UDP) != 0);
        way.rails = usable.map(|(rail, (facing, _))| (facing, works(rail) & RAW != 0)).collect();
    }

    /// Whether all hosts are reached as the settings want it.
    fn check(&self, job: &Job) -> Result<()> {
        let lacks = |way: &Option<Way>| way.as_ref().is_some_and(|way| way.rails.is_empty());
        match self.ways.iter().position(lacks) {
            Some(host) => {
                let rank = first_of(job, host as u32);
                fail!(
                    ERR_OTHER,
                    "MPI cannot start: frames do not reach the host of rank {rank}, and {SETTING}={} allows nothing else",
                    self.choice.name()
                )
            }
            None => Ok(()),
        }
    }

    fn identity(&self, job: &Job) -> Identity {
        let endpoint = self.ports.first().map_or(0, Port::endpoint);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let drowsy = job.local_ranks.len() > cores;
        Identity { own: PeerIndex(job.rank), endpoint, incarnation: LIFE, key: self.key, drowsy }
    }

    /// The wire to all processes that frames reach, if there are any.
    pub(super) fn into_wire(self, job: &Job) -> Result<Option<Clic>> {
        let contact = |(rank, host, local): (u32, u32, usize)| {
            let way = self.ways.get(host as usize)?.as_ref().filter(|way| !way.rails.is_empty())?;
            let rail =
                |(facing, raw): &(Facing, bool)| Some((facing.own, way.card.address(local, facing.other)?, *raw));
            Some(Contact {
                peer: PeerIndex(rank),
                endpoint: way.card.endpoint(local)?,
                incarnation: LIFE,
                rails: way.rails.iter().map(rail).collect::<Option<_>>()?,
            })
        };
        let contacts: Vec<Contact> = others(job).filter_map(contact).collect();
        if contacts.is_empty() {
            return Ok(None);
        }
        let copies = config::number(COPY) == Some(1);
        let clic = Clic::new(self.identity(job), self.ports, &contacts).map_err(failed_start)?;
        Ok(Some(clic.copying(copies)))
    }

    /// Whether large messages to a host go by a connection.
    fn is_streamed(&self, way: &Way) -> bool {
        let [(facing, _)] = way.rails[..] else { return self.bulk == Bulk::Stream };
        let speeds = [self.ports[facing.own].address().speed, way.card.interfaces[facing.other].speed];
        let slow = speeds.iter().any(|speed| (1..=SLOW).contains(speed));
        self.bulk == Bulk::Stream || (self.bulk == Bulk::Best && !slow)
    }

    /// By rank: whether large messages go by a connection.
    pub(super) fn streams(&self, job: &Job) -> Vec<bool> {
        let of = |rank| self.ways.get(host_of(job, rank) as usize).and_then(Option::as_ref);
        (0..job.size).map(|rank| of(rank).is_some_and(|way| self.is_streamed(way))).collect()
    }

    /// How each other host is reached, in words.
    pub(super) fn routes(&self, job: &Job) -> Vec<String> {
        let word = |(host, way): (u32, &Way)| {
            let rank = first_of(job, host);
            let name = |(facing, raw): &(Facing, bool)| {
                let by = if *raw { "Ethernet frames" } else { "UDP" };
                format!("{} by {by}", self.ports[facing.own].interface().name)
            };
            let rails: Vec<String> = way.rails.iter().map(name).collect();
            if rails.is_empty() {
                return format!("host {host} (rank {rank}): tcp, since no frames arrive");
            }
            let (rails, why) = (rails.join(" and "), self.why_not_raw(way));
            let bulk = if self.is_streamed(way) { "; large messages by tcp" } else { "" };
            format!("host {host} (rank {rank}): clic over {rails}{why}{bulk}")
        };
        (0..).zip(&self.ways).filter_map(|(host, way)| Some(word((host, way.as_ref()?)))).collect()
    }

    /// Why frames do not go below IP, where they do not.
    fn why_not_raw(&self, way: &Way) -> String {
        let udp = way.rails.iter().find(|(_, raw)| !raw);
        let Some((facing, _)) = udp.filter(|_| self.choice.raw()) else { return String::new() };
        match self.ports[facing.own].without_raw() {
            Some(_) if self.crowded => format!(" (a host has more than {RAW_RANKS} ranks)"),
            Some(error) => format!(" ({error})"),
            None => " (the other host takes no others)".to_owned(),
        }
    }
}
