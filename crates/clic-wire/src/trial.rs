//! Tests which paths between hosts work. The first process of each host runs this when the job
//! starts, before any traffic depends on the paths.
//!
//! Over every pair of interfaces, in raw frames and by UDP, a probe is sent every few milliseconds
//! until it is answered. The probe is as long as the longest packet, since some switches pass only
//! shorter ones. A train and a bulk frame, which use other ports, are sent with it, and the answer
//! reports which of the three have arrived, because a firewall may pass only some of them. A
//! process whose probes are all answered stays as long as it receives frames from others, since
//! they may still wait for its answers. Once a host has answered over one path, the others are not
//! waited for long, unless one of them is needed. A path is used only if both hosts find that it
//! works; the launcher exchanges their verdicts.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::Identity;
use crate::port::{Arrivals, OutgoingFrame, Places, Port, Way};
use towpath_clic::frame::{FrameHeader, HeaderBytes, Kind};
use towpath_clic::key::FrameKey;

/// Interval between two probes of a path.
const AGAIN: Duration = Duration::from_millis(5);
/// How long to wait for further paths once a host has answered over one, as a fraction of the
/// patience, but at least 20 ms. The host probes and polls all paths at the same time, so if it
/// answers over only one, it has not seen the others; but any network loses some frames. Also how
/// long the first process of a host stays without receiving anything after its last probe was
/// answered, if other hosts have not reported that theirs were.
const GRACE: u32 = 20;
const LEAST_GRACE: Duration = Duration::from_millis(20);

/// Raw Ethernet frames work.
pub const RAW: u8 = 1;
/// UDP works.
pub const UDP: u8 = 2;

/// What a path must carry: a single frame, a train, bulk.
const ALONE: u8 = 1;
const TRAIN: u8 = 2;
const BULK: u8 = 4;

/// Which carriers work, by host and rail: [`RAW`], [`UDP`], both or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdicts(Vec<Vec<u8>>);

/// The first process of another host.
#[derive(Clone)]
pub struct Opposite {
    /// Its rank in the job.
    pub rank: u32,
    /// The endpoint number that its packet filter matches.
    pub endpoint: u16,
    /// By rail: the local port that faces it, and the paths there, in raw frames and by UDP.
    pub rails: Vec<(usize, [Option<Way>; 2])>,
}

impl Opposite {
    /// True if there is a path to test; there is none to this host.
    fn is_tried(&self) -> bool {
        self.rails.iter().any(|(_, ways)| ways.iter().any(Option::is_some))
    }
}

/// How to test paths.
#[derive(Clone, Copy)]
pub struct TrialTerms {
    /// The same on all hosts, and different in two trials of a job, each of which ignores the
    /// frames of the other.
    pub number: u8,
    /// Carriers, such as [`UDP`] (whose first packet may wait a second for address resolution if
    /// the request gets lost), over which a host must have answered to be waited for no longer,
    /// unless it has answered over all its paths.
    pub needed: u8,
    /// For at most as many rounds of probes as fit into it.
    pub patience: Duration,
}

/// Tests the paths to all these hosts.
pub fn try_ways(
    identity: &Identity,
    ports: &mut [Port],
    opposites: &[Opposite],
    terms: TrialTerms,
) -> Verdicts {
    let mut trial = WayTrial {
        identity,
        opposites,
        works: opposites.iter().map(|opposite| vec![0; opposite.rails.len()]).collect(),
        came: opposites.iter().map(|opposite| vec![[0; 2]; opposite.rails.len()]).collect(),
        met: vec![None; opposites.len()],
        is_done: vec![false; opposites.len()],
        others_are_done: opposites.iter().map(|opposite| !opposite.is_tried()).collect(),
        terms,
        grace: (terms.patience / GRACE).max(LEAST_GRACE),
        zeros: vec![0; usize::from(u16::MAX)],
    };
    let mut heard_at = Instant::now();
    let mut rounds = ProbeRounds::new(terms.patience, heard_at);
    loop {
        let now = Instant::now();
        if rounds.is_due(now) {
            trial.probe(ports);
        }
        let moved = trial.listen(ports, now);
        trial.finish_complete_hosts(ports, now);
        if moved {
            heard_at = now;
        }
        let all = |are: &[bool]| are.iter().all(|is| *is);
        let is_over = all(&trial.is_done)
            && (all(&trial.others_are_done) && !moved || now >= heard_at + trial.grace);
        if is_over || rounds.are_over(now) {
            return Verdicts(trial.works);
        }
        if !moved {
            std::thread::yield_now();
        }
    }
}

/// The rounds of probes that fit into the patience. They are counted because time alone proves
/// nothing: a process that did not run for a while (on a busy machine, or a paused virtual one) has
/// sent no probes, and has not polled for answers.
struct ProbeRounds {
    left: u128,
    next_at: Instant,
}

impl ProbeRounds {
    fn new(patience: Duration, now: Instant) -> ProbeRounds {
        ProbeRounds { left: patience.as_nanos().div_ceil(AGAIN.as_nanos()), next_at: now }
    }

    /// Starts a round if one is due.
    fn is_due(&mut self, now: Instant) -> bool {
        if self.left == 0 || now < self.next_at {
            return false;
        }
        self.left -= 1;
        self.next_at = now + AGAIN;
        true
    }

    /// True if the last round is over.
    fn are_over(&self, now: Instant) -> bool {
        self.left == 0 && now >= self.next_at
    }
}

struct WayTrial<'a> {
    identity: &'a Identity,
    opposites: &'a [Opposite],
    /// By host and rail: paths over which probes of this process were answered.
    works: Vec<Vec<u8>>,
    /// By host, rail and path: which of its probes have arrived.
    came: Vec<Vec<[u8; 2]>>,
    /// By host: when it first answered, whether this process is done with it, and whether it is
    /// done with this process.
    met: Vec<Option<Instant>>,
    is_done: Vec<bool>,
    others_are_done: Vec<bool>,
    terms: TrialTerms,
    /// How long to wait for further paths once the needed ones of a host work.
    grace: Duration,
    /// Contents of the longest frame.
    zeros: Vec<u8>,
}

impl WayTrial<'_> {
    /// True if nothing that is worth waiting for is missing from a host.
    fn is_complete(&self, host: usize, now: Instant) -> bool {
        let all = |ways: &[Option<Way>; 2]| ways[0].map_or(0, |_| RAW) | ways[1].map_or(0, |_| UDP);
        let needed = self.terms.needed;
        let suffices = self.works[host].iter().any(|works| works & needed == needed);
        (suffices && self.met[host].is_some_and(|at| now >= at + self.grace))
            || self.opposites[host]
                .rails
                .iter()
                .zip(&self.works[host])
                .all(|((_, ways), works)| *works == all(ways))
    }

    /// Determines which hosts are complete, and notifies them.
    fn finish_complete_hosts(&mut self, ports: &mut [Port], now: Instant) {
        for host in 0..self.opposites.len() {
            if !self.is_done[host] && self.is_complete(host, now) {
                self.is_done[host] = true;
                self.send_all(ports, Kind::Echo, host, true);
            }
        }
    }

    /// Sends to a host over every path that works, or, if `works` is false, over every other path.
    fn send_all(&self, ports: &mut [Port], kind: Kind, host: usize, works: bool) {
        for (rail, which) in (0..self.works[host].len()).flat_map(|rail| [(rail, 0), (rail, 1)]) {
            if (self.works[host][rail] >> which & 1 != 0) == works {
                self.send(ports, kind, host, rail, which);
            }
        }
    }

    fn send(&self, ports: &mut [Port], kind: Kind, host: usize, rail: usize, which: usize) {
        let opposite = &self.opposites[host];
        let Some((port, ways)) = opposite.rails.get(rail) else { return };
        let (Some(way), Some(port)) = (ways.get(which).copied().flatten(), ports.get_mut(*port))
        else {
            return;
        };
        let header = |parts: u8| {
            let header = FrameHeader {
                sequence: 0,
                source: self.identity.own.0,
                endpoint: opposite.endpoint,
                length: 0,
                kind,
                rail: rail as u8,
                flags: 0,
                session: 0,
                acknowledged: 0,
                words: [
                    u32::from_le_bytes([which as u8, parts, self.terms.number, 0]),
                    u32::from(self.is_done[host]),
                ],
            };
            header.encode(&self.identity.key, &[])
        };
        // The header declares an empty body: the bytes that follow are treated as padding, like
        // Ethernet's own padding of short frames.
        let body = self.zeros.as_ptr();
        let two =
            |parts: u8, length: usize| [OutgoingFrame { header: header(parts), body, length }; 2];
        let output = port.output();
        // SAFETY: `zeros` has `u16::MAX` bytes, and neither `longest_body` nor `payload` exceeds
        // that. (A probe that cannot be sent counts as one without an answer.)
        unsafe {
            if kind == Kind::Echo {
                output.send(&way, &header(self.came[host][rail][which]), body, 0);
            } else {
                output.send(&way, &header(ALONE), body, usize::from(way.longest_body()));
                output.send_train(&way, &two(TRAIN, 0));
                output.send_bulk(&way, &two(BULK, usize::from(way.payload())));
            }
        }
    }

    /// Probes paths that have not answered, and notifies hosts that have answered but still wait
    /// for this one.
    fn probe(&self, ports: &mut [Port]) {
        for host in 0..self.opposites.len() {
            match (self.is_done[host], self.others_are_done[host]) {
                (false, _) => self.send_all(ports, Kind::Probe, host, false),
                (true, false) => self.send_all(ports, Kind::Echo, host, true),
                (true, true) => {}
            }
        }
    }

    /// Receives and answers what has arrived; true if anything has.
    fn listen(&mut self, ports: &mut [Port], now: Instant) -> bool {
        let mut heard = Heard { key: self.identity.key, headers: Vec::new() };
        for port in ports.iter_mut() {
            port.receive(64, &mut |frame| heard.note(frame));
            port.receive_bulk(64, &mut heard);
        }
        let mut probed = BTreeSet::new();
        for header in &heard.headers {
            let host = self.opposites.iter().position(|opposite| opposite.rank == header.source);
            let Some(host) = host.filter(|_| header.endpoint == self.identity.endpoint) else {
                continue;
            };
            let [which, parts, number, _] = header.words[0].to_le_bytes();
            let rail = usize::from(header.rail);
            let is_known = rail < self.opposites[host].rails.len() && which <= 1;
            if number != self.terms.number || !is_known {
                continue;
            }
            self.others_are_done[host] |= header.words[1] != 0;
            match header.kind {
                Kind::Probe => {
                    self.came[host][rail][usize::from(which)] |= parts;
                    probed.insert((host, rail, usize::from(which)));
                }
                Kind::Echo => {
                    let whole = parts == ALONE | TRAIN | BULK;
                    self.works[host][rail] |= u8::from(whole) << which;
                    self.met[host].get_or_insert(now);
                }
                _ => {}
            }
        }
        for (host, rail, which) in probed {
            self.send(ports, Kind::Echo, host, rail, which);
        }
        !heard.headers.is_empty()
    }
}

/// Headers of this job that arrived.
struct Heard {
    key: FrameKey,
    headers: Vec<FrameHeader>,
}

impl Heard {
    fn note(&mut self, frame: &[u8]) {
        self.headers.extend(FrameHeader::decode(&self.key, frame).ok().map(|(header, _)| header));
    }
}

impl Arrivals for Heard {
    fn predict(&mut self, _: &mut Places) {}

    fn take(&mut self, header: &HeaderBytes, _: *const u8, _: usize) {
        self.note(header);
    }
}

impl Verdicts {
    /// Encodes the verdicts as text: for each host, in order, a digit for each rail.
    pub fn to_text(&self) -> String {
        let digits = |ways: &Vec<u8>| ways.iter().map(u8::to_string).collect::<String>();
        self.0.iter().map(digits).collect::<Vec<_>>().join(",")
    }

    /// Parses verdicts; a missing or invalid digit means that the path does not work.
    pub fn parse(text: &str) -> Verdicts {
        let ways =
            |part: &str| part.bytes().map(|digit| digit.wrapping_sub(b'0') & (RAW | UDP)).collect();
        Verdicts(text.split(',').map(ways).collect())
    }

    /// Which carriers work to a host, by rail; empty if no path to it was tested.
    pub fn rails(&self, host: usize) -> &[u8] {
        self.0.get(host).map_or(&[], Vec::as_slice)
    }
}

impl FromIterator<Vec<u8>> for Verdicts {
    /// From the carriers that work, by host and rail.
    fn from_iter<I: IntoIterator<Item = Vec<u8>>>(works: I) -> Verdicts {
        Verdicts(works.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use towpath_base::ids::PeerIndex;

    use super::*;
    use crate::port::{RawSide, interfaces};
    use towpath_clic::key::FrameKey;

    /// Far longer than two hosts need to answer, as is even the fraction of it that is spent
    /// waiting for further paths.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn whoever_has_all_answers_waits_for_no_host_without_ways() {
        let interface = interfaces(Some("lo")).remove(0);
        let ports = [(); 2].map(|()| Port::open(&interface, None, RawSide::Closed).unwrap());
        let ends = [0, 1].map(|rank: usize| (ports[rank].endpoint(), ports[rank].address()));
        let begin = Instant::now();
        let trials: Vec<_> = (0..)
            .zip(ports)
            .map(|(own, port)| {
                let opposite = |rank: usize| Opposite {
                    rank: rank as u32,
                    endpoint: ends[rank].0,
                    rails: if rank == own {
                        vec![]
                    } else {
                        vec![(0, [None, Some(port.way(&ends[rank].1, false))])]
                    },
                };
                let opposites = [0, 1].map(opposite);
                let (own, endpoint) = (PeerIndex(own as u32), ends[own].0);
                let identity = Identity {
                    own,
                    endpoint,
                    incarnation: 1,
                    key: FrameKey([1, 2]),
                    drowsy: false,
                };
                std::thread::spawn(move || {
                    let terms = TrialTerms { number: 0, needed: 0, patience: PATIENCE };
                    try_ways(&identity, &mut [port], &opposites, terms)
                })
            })
            .collect();
        let verdicts: Vec<_> =
            trials.into_iter().map(|trial| trial.join().unwrap().to_text()).collect();
        assert_eq!(verdicts, [",2", "2,"]);
        assert!(begin.elapsed() < PATIENCE / GRACE / 2, "it took {:?}", begin.elapsed());
    }

    #[test]
    fn whoever_has_all_answers_stays_while_another_still_asks() {
        const LONG: Duration = Duration::from_secs(1);
        let interface = interfaces(Some("lo")).remove(0);
        let mut ports = [(); 2].map(|()| Port::open(&interface, None, RawSide::Closed).unwrap());
        let ends = [0, 1].map(|rank: usize| (ports[rank].endpoint(), ports[rank].address()));
        let opposites = [0, 1].map(|own: usize| {
            let (endpoint, address) = &ends[1 - own];
            let rails = vec![(0, [None, Some(ports[own].way(address, false))])];
            [Opposite { rank: 1 - own as u32, endpoint: *endpoint, rails }]
        });
        let identities = [0, 1].map(|own: usize| {
            let (rank, endpoint) = (PeerIndex(own as u32), ends[own].0);
            Identity { own: rank, endpoint, incarnation: 1, key: FrameKey([1, 2]), drowsy: false }
        });
        let terms = TrialTerms { number: 0, needed: UDP, patience: LONG };
        let mut trial = WayTrial {
            identity: &identities[1],
            opposites: &opposites[1],
            works: vec![vec![0]],
            came: vec![vec![[0; 2]]],
            met: vec![None],
            is_done: vec![false],
            others_are_done: vec![false],
            terms,
            grace: LONG,
            zeros: vec![0; usize::from(u16::MAX)],
        };
        let [port, other] = &mut ports;
        std::thread::scope(|scope| {
            let begin = Instant::now();
            scope.spawn(|| {
                try_ways(&identities[0], std::slice::from_mut(port), &opposites[0], terms)
            });
            // As if all answers so far had been lost: it keeps asking for five times as long as the
            // other host stays without traffic.
            let mut answered = None;
            while begin.elapsed() < LONG / 4 {
                trial.probe(std::slice::from_mut(other));
                std::thread::sleep(AGAIN);
                trial.listen(std::slice::from_mut(other), Instant::now());
                if std::mem::take(&mut trial.works[0][0]) != 0 {
                    answered = Some(begin.elapsed());
                }
            }
            assert!(answered.is_some_and(|at| at > 3 * LONG / GRACE), "it left after {answered:?}");
        });
    }

    #[test]
    fn a_way_that_is_needed_is_waited_for_though_another_has_answered() {
        let interface = interfaces(Some("lo")).remove(0);
        let port = Port::open(&interface, None, RawSide::Closed).unwrap();
        let way = Some(port.way(&port.address(), false));
        let opposites =
            [Opposite { rank: 1, endpoint: port.endpoint(), rails: vec![(0, [way; 2])] }];
        let own = PeerIndex(0);
        let identity =
            Identity { own, endpoint: 1, incarnation: 1, key: FrameKey([1, 2]), drowsy: false };
        let met = Instant::now();
        let late = met + LEAST_GRACE;
        for (needed, works, is_complete) in
            [(0, RAW, true), (UDP, RAW, false), (UDP, UDP, true), (UDP, RAW | UDP, true)]
        {
            let trial = WayTrial {
                identity: &identity,
                opposites: &opposites,
                works: vec![vec![works]],
                came: vec![vec![[0; 2]]],
                met: vec![Some(met)],
                is_done: vec![false],
                others_are_done: vec![false],
                terms: TrialTerms { number: 0, needed, patience: LEAST_GRACE },
                grace: LEAST_GRACE,
                zeros: vec![0; usize::from(u16::MAX)],
            };
            assert_eq!(trial.is_complete(0, late), is_complete, "{needed} {works}");
        }
    }

    #[test]
    fn answers_of_another_trial_do_not_count() {
        let interface = interfaces(Some("lo")).remove(0);
        let port = Port::open(&interface, None, RawSide::Closed).unwrap();
        let rails = vec![(0, [None, Some(port.way(&port.address(), false))])];
        let opposites = [Opposite { rank: 0, endpoint: port.endpoint(), rails }];
        let (own, key) = (PeerIndex(0), FrameKey([1, 2]));
        let endpoint = port.endpoint();
        let identity = Identity { own, endpoint, incarnation: 1, key, drowsy: false };
        let mut ports = [port];
        let mut works_after_answer_to = |number: u8| {
            let terms = TrialTerms { number, needed: 0, patience: PATIENCE };
            let mut trial = WayTrial {
                identity: &identity,
                opposites: &opposites,
                works: vec![vec![UDP]],
                came: vec![vec![[0, ALONE | TRAIN | BULK]]],
                met: vec![None],
                is_done: vec![false],
                others_are_done: vec![false],
                terms,
                grace: LEAST_GRACE,
                zeros: Vec::new(),
            };
            trial.send_all(&mut ports, Kind::Echo, 0, true);
            trial.works[0][0] = 0;
            trial.terms.number = 7;
            let begin = Instant::now();
            while begin.elapsed() < LEAST_GRACE {
                trial.listen(&mut ports, begin);
            }
            trial.works[0][0]
        };
        assert_eq!([7, 6].map(&mut works_after_answer_to), [UDP, 0]);
    }

    #[test]
    fn a_process_that_did_not_run_has_the_rest_of_its_rounds() {
        let begin = Instant::now();
        let mut rounds = ProbeRounds::new(4 * AGAIN, begin);
        assert!(rounds.is_due(begin) && !rounds.is_due(begin + AGAIN / 2));
        let mut now = begin + Duration::from_secs(40);
        for _ in 0..3 {
            assert!(!rounds.are_over(now) && rounds.is_due(now) && !rounds.is_due(now));
            assert!(!rounds.are_over(now), "the last round has its time too");
            now += AGAIN;
        }
        assert!(!rounds.is_due(now) && rounds.are_over(now));
    }

    #[test]
    fn verdicts_are_read_back() {
        let verdicts = Verdicts(vec![vec![3, 1], vec![], vec![2]]);
        assert_eq!(verdicts.to_text(), "31,,2");
        assert_eq!(Verdicts::parse("31,,2"), verdicts);
        assert_eq!((verdicts.rails(0), verdicts.rails(1)), (&[3, 1][..], &[][..]));
        assert!(verdicts.rails(9).is_empty());
        assert_eq!(Verdicts::parse("x").rails(0)[0] & !3, 0);
    }
}
