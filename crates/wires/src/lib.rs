//! The table of all wires of a process, which routes each peer to its transport. It is a [`Wire`]
//! itself.

mod apart;
mod channel;
mod memory;
mod rows;
#[cfg(feature = "strict")]
mod strict;

use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_base::transfer::{CopyAcross, Source, Target};

use apart::Apart;
use channel::Channel;
use rows::{each_remote, on_route};
use towpath_clic_wire::Clic;
use towpath_ofi::Ofi;
use towpath_shm::board::Board;
use towpath_shm::loopback::Loopback;
use towpath_shm::{Segment, Settings, Shm};
#[cfg(feature = "strict")]
use towpath_strict::Strict;
use towpath_tcp::{ConnectionKey, PullRequest, Tcp, TcpContact};
use towpath_transport::error::Error;
use towpath_transport::{
    Choice, Cost, Header, JobWire, MessageWire, NoResource, RegionKey, RegionWire, Section, Sink,
    Wire,
};

/// Consecutive polls of TCP and libfabric that find nothing before these polls become rare, if
/// messages may also arrive by another wire. Each poll costs a system call, which takes longer than
/// a message in shared memory.
const LOOKS_IN_VAIN: u32 = 64;
/// Rounds of progress without such a poll once they are rare.
const PASSES: u32 = 7;

/// How a peer is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// Unreachable: the peer was never named. It counts as lost, and everything sent to it is
    /// dropped.
    None,
    Loopback,
    Shm {
        rank: u32,
    },
    #[cfg(feature = "strict")]
    Strict {
        rank: u32,
    },
    /// On another host, over TCP.
    Tcp {
        index: u32,
    },
    /// On another host, over CLIC. `line` is its index in the TCP wire, if there is a connection as
    /// well; `streams` is true if large messages use that connection.
    Clic {
        index: u32,
        line: Option<u32>,
        streams: bool,
    },
    /// On another host, over libfabric.
    Ofi {
        index: u32,
    },
}

/// All wires of a process.
pub struct Wires {
    routes: Vec<Route>,
    loopback: Loopback,
    shm: Shm,
    /// In the strict mode, replaces `shm` for the other processes of this host.
    #[cfg(feature = "strict")]
    strict: Option<Box<Strict>>,
    /// The wires to processes of other hosts.
    tcp: Option<Box<Tcp>>,
    clic: Option<Box<Clic>>,
    ofi: Option<Box<Ofi>>,
    /// Regions of TCP that peers have requested by CLIC messages.
    asked: Vec<(PeerIndex, PullRequest)>,
    /// True if any wire other than `shm` and `loopback` exists, so that it must be polled too.
    further: bool,
    /// How many more times `tcp` and `ofi` are skipped before they are polled again.
    pass: u32,
    /// Consecutive polls of `tcp` and `ofi` that found nothing.
    vain: u32,
    /// Peers that both CLIC and TCP reach and that one of the two has lost.
    parting: Vec<PeerIndex>,
    /// Peers without a route to which something was sent; their loss is still to be reported.
    unreachable: Vec<PeerIndex>,
}

impl Wires {
    /// The wires of a job on one host: peer i is local rank i of the segment, and the segment's own
    /// rank is this process.
    pub fn single_host(segment: Segment) -> Wires {
        Wires::with_settings(segment, Settings::default())
    }

    /// Like [`Wires::single_host`], with the given settings.
    pub fn with_settings(segment: Segment, settings: Settings) -> Wires {
        let everybody = (0..segment.ranks() as u32).map(PeerIndex).collect();
        Wires::of_host(segment, everybody, settings)
    }

    /// The wires to the processes of this host only. `near[i]` is the peer with local rank i.
    ///
    /// # Panics
    /// If the number of peers is not the number of ranks in the segment.
    pub fn of_host(segment: Segment, near: Vec<PeerIndex>, settings: Settings) -> Wires {
        let own = segment.own_rank();
        let mut wires = Wires {
            routes: Vec::new(),
            loopback: Loopback::new(near[own]),
            shm: Shm::new(segment, near.clone(), settings),
            #[cfg(feature = "strict")]
            strict: None,
            tcp: None,
            clic: None,
            ofi: None,
            asked: Vec::new(),
            further: false,
            pass: 0,
            vain: 0,
            parting: Vec::new(),
            unreachable: Vec::new(),
        };
        for (rank, peer) in (0..).zip(near) {
            let is_own = rank == own as u32;
            wires.set_route(peer, if is_own { Route::Loopback } else { Route::Shm { rank } });
        }
        wires
    }

    /// Sets the route to a peer.
    fn set_route(&mut self, peer: PeerIndex, route: Route) {
        if self.routes.len() <= peer.slot() {
            self.routes.resize(peer.slot() + 1, Route::None);
        }
        self.routes[peer.slot()] = route;
    }

    /// Like [`Wires::of_host`], with the channel that the environment selects.
    ///
    /// # Errors
    /// [`Error::Setting`] if this library does not contain the channel, or if its settings do not
    /// fit the ranks of this host.
    pub fn chosen(segment: Segment, near: Vec<PeerIndex>) -> Result<Wires, Error> {
        match channel::chosen()? {
            Channel::Shared => Ok(Wires::of_host(segment, near, Settings::default())),
            #[cfg(feature = "strict")]
            Channel::Strict => {
                let settings = towpath_strict::Settings::from_environment()?;
                Wires::strict_of_host(segment, near, &settings)
            }
            #[cfg(not(feature = "strict"))]
            Channel::Strict => Err(channel::absent()),
        }
    }

    /// Sets the function that copies between strided layouts; see [`Shm::set_across`].
    pub fn set_across(&mut self, across: CopyAcross) {
        self.shm.set_across(across);
    }

    /// Adds a TCP wire to processes of other hosts.
    pub fn with_tcp(mut self, tcp: Tcp) -> Wires {
        self.tcp = Some(Box::new(tcp));
        self.further = true;
        self.set_tcp_routes(0);
        self
    }

    /// Adds peers that are reached over TCP, such as processes of another job; see
    /// [`Tcp::add_peers`]. False if this process has no TCP wire.
    ///
    /// # Panics
    /// If one of the contacts has the index of a known peer.
    #[must_use]
    pub fn add_peers(&mut self, contacts: Vec<TcpContact>, key: &ConnectionKey) -> bool {
        for TcpContact { peer, .. } in &contacts {
            assert_eq!(self.route(*peer), Route::None, "peer {} is known", peer.0);
        }
        let Some(tcp) = &mut self.tcp else { return false };
        let known = tcp.reached().len();
        tcp.add_peers(contacts, key);
        self.set_tcp_routes(known);
        true
    }

    /// Sets the routes to the peers of the TCP wire from index `first` on.
    fn set_tcp_routes(&mut self, first: usize) {
        let reached = self.tcp.as_ref().map_or_else(Vec::new, |tcp| tcp.reached());
        for (index, peer) in (0..).zip(reached).skip(first) {
            self.set_route(peer, Route::Tcp { index });
        }
    }

    /// Adds a CLIC wire to processes of other hosts. Must follow [`Wires::with_tcp`], which may
    /// reach the same processes: small messages then use CLIC, and large ones too unless `streams`
    /// returns true for the peer.
    pub fn with_clic(mut self, clic: Clic, streams: impl Fn(PeerIndex) -> bool) -> Wires {
        for (index, peer) in (0..).zip(clic.reached()) {
            let line = match self.routes.get(peer.slot()) {
                Some(Route::Tcp { index }) => Some(*index),
                _ => None,
            };
            let streams = line.is_some() && streams(peer);
            self.set_route(peer, Route::Clic { index, line, streams });
        }
        self.clic = Some(Box::new(clic));
        self.further = true;
        self
    }

    /// The CLIC wire, if there is one.
    pub fn clic(&self) -> Option<&Clic> {
        self.clic.as_deref()
    }

    /// The CLIC wire, if there is one, for sending to groups.
    pub fn clic_mut(&mut self) -> Option<&mut Clic> {
        self.clic.as_deref_mut()
    }

    /// True if large messages to a peer that CLIC reaches are sent over TCP.
    pub fn streams(&self, peer: PeerIndex) -> bool {
        matches!(self.route(peer), Route::Clic { streams: true, .. })
    }

    /// The TCP wire, if there is one.
    pub fn tcp(&self) -> Option<&Tcp> {
        self.tcp.as_deref()
    }

    /// Adds a libfabric wire to processes of other hosts.
    pub fn with_ofi(mut self, ofi: Ofi) -> Wires {
        for (index, peer) in (0..).zip(ofi.reached()) {
            self.set_route(peer, Route::Ofi { index });
        }
        self.ofi = Some(Box::new(ofi));
        self.further = true;
        self
    }

    /// Tells the processes of other hosts that this one leaves. [`Wire::busy`] is then true until
    /// they leave too. Nothing may be sent afterwards.
    pub fn leave(&mut self) {
        each_remote!(self, as_deref_mut, |wire| wire.leave());
    }

    /// Frees what only an orderly shutdown can free. Call it after [`Wires::leave`], when nothing
    /// is in flight any more.
    pub fn close(&mut self) {
        if let Some(ofi) = &mut self.ofi {
            ofi.close();
        }
    }

    /// Sends the regions that peers have requested by CLIC messages.
    fn answer_asked(&mut self) {
        for (from, ask) in std::mem::take(&mut self.asked) {
            if let (Route::Clic { line: Some(index), .. }, Some(tcp)) =
                (self.route(from), &mut self.tcp)
            {
                (self.pass, self.vain) = (0, 0);
                tcp.asked(index as usize, &ask);
            }
        }
    }

    /// Progress of all wires other than shared memory and loopback.
    #[inline(never)]
    fn progress_further(&mut self, sink: &mut impl Sink) -> bool {
        std::mem::take(&mut self.unreachable).into_iter().for_each(|peer| sink.lost(peer));
        #[cfg(not(feature = "strict"))]
        let by_strict = false;
        #[cfg(feature = "strict")]
        let by_strict = self.strict.as_mut().is_some_and(|strict| strict.progress(sink));
        let last_look = self.shm.segment().own_control().sleep.load(Ordering::Relaxed) != 0;
        let (routes, parting, asked) = (&self.routes, &mut self.parting, &mut self.asked);
        let mut apart = Apart { sink: &mut *sink, routes, parting, asked };
        let by_clic = self.clic.as_mut().is_some_and(|clic| {
            let moved = clic.progress(&mut apart);
            if last_look && !moved {
                clic.fall_asleep();
            }
            moved
        });
        if self.tcp.is_none() && self.ofi.is_none() {
            return by_strict | by_clic;
        }
        if !apart.asked.is_empty() {
            self.answer_asked();
        }
        if !last_look && self.pass > 0 {
            self.pass -= 1;
            return by_strict | by_clic;
        }
        let by_tcp = self.tcp.as_mut().is_some_and(|tcp| {
            if last_look {
                tcp.watch_all();
            }
            tcp.progress(&mut Apart {
                sink: &mut *sink,
                routes: &self.routes,
                parting: &mut self.parting,
                asked: &mut self.asked,
            })
        });
        let by_ofi = self
            .ofi
            .as_mut()
            .is_some_and(|ofi| ofi.progress(sink) || last_look && !ofi.may_sleep());
        self.vain = if by_tcp | by_ofi { 0 } else { self.vain.saturating_add(1) };
        let by_parting = !self.parting.is_empty();
        if by_parting && !self.take_last_frames(sink) {
            self.part(sink);
        }
        let others = self.shm.segment().ranks() > 1 || self.clic.is_some();
        // If progress calls are rare, so are the polls, and none of them is skipped.
        let seldom = self.tcp.as_ref().is_some_and(|tcp| tcp.was_late());
        if self.vain > LOOKS_IN_VAIN && others && !seldom {
            self.pass = PASSES;
        }
        by_strict | by_clic | by_tcp | by_ofi | by_parting
    }

    /// Takes the frames that have arrived on any socket of CLIC; true if there were some, since
    /// there may be more.
    #[cold]
    fn take_last_frames(&mut self, sink: &mut impl Sink) -> bool {
        let (routes, parting, asked) = (&self.routes, &mut self.parting, &mut self.asked);
        self.clic.as_mut().is_some_and(|clic| {
            clic.look_everywhere();
            clic.progress(&mut Apart { sink, routes, parting, asked })
        })
    }

    /// Handles peers that one of two wires has lost: the other wire loses them too, and when both
    /// have, the loss is reported. The end of a connection proves that the process has ended, which
    /// CLIC alone never can; but the frames that it sent before are taken first. A peer that has
    /// said goodbye over TCP may still be about to do so over CLIC, and is not lost.
    #[cold]
    fn part(&mut self, sink: &mut impl Sink) {
        for peer in std::mem::take(&mut self.parting) {
            let Route::Clic { index, line: Some(line), .. } = self.route(peer) else { continue };
            let (Some(clic), Some(tcp)) = (&mut self.clic, &mut self.tcp) else { continue };
            match (clic.is_lost(index as usize), tcp.is_lost(line as usize)) {
                (true, true) if tcp.has_left(line as usize) || clic.has_left(index as usize) => {
                    sink.left(peer)
                }
                (true, true) => sink.lost(peer),
                (true, false) => tcp.mark_lost(line as usize),
                (false, _) if tcp.has_left(line as usize) => {}
                (false, _) => clic.mark_lost(index as usize),
            }
        }
    }

    /// True if the strict mode is in use.
    pub fn is_strict(&self) -> bool {
        #[cfg(feature = "strict")]
        let strict = self.strict.is_some();
        #[cfg(not(feature = "strict"))]
        let strict = false;
        strict
    }

    /// The segment that the processes of this host share.
    pub fn segment(&self) -> &Segment {
        self.shm.segment()
    }

    /// A topology with key `key` declares that these peers send to this process, each with a
    /// weight. Those on this host get larger shares of the receiver's memory; see
    /// [`Shm::declare`].
    pub fn declare(&mut self, key: u64, sources: &[(PeerIndex, u64)]) {
        let near = sources
            .iter()
            .filter_map(|&(peer, weight)| Some((self.local_rank(peer)? as usize, weight)));
        let near: Vec<(usize, u64)> = near.collect();
        #[cfg(feature = "strict")]
        if let Some(strict) = &mut self.strict {
            return strict.declare(key, &near);
        }
        self.shm.declare(key, &near)
    }

    /// The topology with key `key` no longer exists.
    pub fn undeclare(&mut self, key: u64) {
        #[cfg(feature = "strict")]
        if let Some(strict) = &mut self.strict {
            return strict.undeclare(key);
        }
        self.shm.undeclare(key)
    }

    /// The layout of this process's channel in shared memory; see [`Shm::sections`].
    pub fn sections(&self) -> Vec<Section> {
        #[cfg(feature = "strict")]
        if let Some(strict) = &self.strict {
            return strict.sections();
        }
        self.shm.sections()
    }

    /// True if all grants for the topology with key `key` have been sent. Needs progress until
    /// then.
    pub fn has_granted(&self, key: u64) -> bool {
        #[cfg(feature = "strict")]
        if let Some(strict) = &self.strict {
            return strict.has_granted();
        }
        self.shm.has_granted(key)
    }

    /// Makes a board for a team; see [`Shm::make_board`]. Also `None` if a member is on another
    /// host, and in the strict mode, which has no memory outside its budget.
    pub fn make_board(&mut self, team: &[PeerIndex], longest: Option<usize>) -> Option<usize> {
        let near = !self.is_strict() && team.iter().all(|&peer| self.local_rank(peer).is_some());
        if near { self.shm.make_board(team.len(), longest) } else { None }
    }

    /// Joins the board at a location that member 0 of the team, which made it, has sent.
    ///
    /// # Panics
    /// If a member of the team is on another host.
    pub fn join_board(&self, location: usize, team: &[PeerIndex], own: usize) -> Board {
        let member = |&peer| self.local_rank(peer).expect("a board has members on one host");
        self.shm.join_board(location, team.iter().map(member).collect(), own, own == 0)
    }

    /// The local rank of a peer on this host.
    fn local_rank(&self, peer: PeerIndex) -> Option<u32> {
        match self.route(peer) {
            Route::Shm { rank } => Some(rank),
            #[cfg(feature = "strict")]
            Route::Strict { rank } => Some(rank),
            Route::Loopback => Some(self.shm.segment().own_rank() as u32),
            Route::Tcp { .. } | Route::Clic { .. } | Route::Ofi { .. } | Route::None => None,
        }
    }

    #[inline]
    fn route(&self, peer: PeerIndex) -> Route {
        self.routes.get(peer.slot()).copied().unwrap_or(Route::None)
    }

    /// Drops a message for a peer without a route. [`Sink::lost`] follows at the next progress.
    #[cold]
    fn drop_for(&mut self, peer: PeerIndex) {
        self.unreachable.push(peer);
        self.further = true;
    }

    /// The route of regions to a peer.
    #[inline]
    fn region_route(&self, peer: PeerIndex) -> Route {
        match self.route(peer) {
            Route::Clic { line: Some(index), streams: true, .. } => Route::Tcp { index },
            route => route,
        }
    }

    /// The wire over which a region moves is polled at once, even if its polls have become rare.
    #[inline]
    fn poll_soon(&mut self, route: Route) {
        if let Route::Tcp { .. } = route {
            (self.pass, self.vain) = (0, 0);
        }
    }

    /// [`MessageWire::short`] to a peer that is not reached through ordinary shared memory.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes, and `length` at most
    /// [`towpath_transport::SHORT_BYTES`].
    #[inline(never)]
    unsafe fn short_elsewhere(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        // SAFETY: `payload` is readable for `length` bytes, at most `SHORT_BYTES` (this function's
        // contract).
        unsafe {
            on_route!(&mut self, self.route(to), |wire, peer| wire.short(peer, header, payload, length), else {
                self.drop_for(to);
                Ok(())
            })
        }
    }
}

impl Wire for Wires {
    type Peer = PeerIndex;

    /// What a small message costs. A peer without a route costs nothing: what is sent to it is
    /// dropped.
    fn cost(&self, to: PeerIndex) -> Cost {
        let nothing =
            Cost { latency_ns: 0, bandwidth: u32::MAX, eager_limit: self.copied_limit(to) };
        on_route!(&self, self.route(to), |wire, peer| wire.cost(peer), else nothing)
    }

    fn mark_lost(&mut self, peer: PeerIndex) {
        if let (Route::Clic { line: Some(line), .. }, Some(tcp)) = (self.route(peer), &mut self.tcp)
        {
            tcp.mark_lost(line as usize);
        }
        on_route!(&mut self, self.route(peer), |wire, index| wire.mark_lost(index), else {});
    }

    #[inline]
    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        let by_shm = self.shm.progress(sink);
        let by_loopback = self.loopback.progress(sink);
        let by_further = self.further && self.progress_further(sink);
        by_shm | by_loopback | by_further
    }

    fn busy(&self) -> bool {
        let mut busy = self.shm.busy() || self.loopback.busy();
        #[cfg(feature = "strict")]
        if let Some(strict) = &self.strict {
            busy |= strict.busy();
        }
        each_remote!(self, as_deref, |wire| busy |= wire.busy());
        busy
    }
}

impl MessageWire for Wires {
    #[inline(always)]
    unsafe fn short(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if let Route::Shm { rank } = self.route(to) {
            // SAFETY: `payload` is readable for `length` bytes, at most `SHORT_BYTES` (the contract
            // of `MessageWire::short`).
            return unsafe { self.shm.short(rank as usize, header, payload, length) };
        }
        // SAFETY: `payload` is readable for `length` bytes, at most `SHORT_BYTES` (the contract of
        // `MessageWire::short`).
        unsafe { self.short_elsewhere(to, header, payload, length) }
    }

    #[inline]
    fn copied_limit(&self, to: PeerIndex) -> usize {
        on_route!(&self, self.route(to), |wire, peer| wire.copied_limit(peer), else self.loopback.copied_limit(0))
    }

    #[inline]
    fn copied(
        &mut self,
        to: PeerIndex,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        on_route!(&mut self, self.route(to), |wire, peer| wire.copied(peer, header, length, fill), else {
            self.drop_for(to);
            Ok(())
        })
    }

    #[inline]
    fn copied_contiguous_limit(&self, to: PeerIndex) -> usize {
        match self.route(to) {
            Route::Shm { rank } => self.shm.copied_contiguous_limit(rank as usize),
            _ => self.copied_limit(to),
        }
    }

    #[inline]
    unsafe fn copied_contiguous(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        // SAFETY: `payload` is readable for `length` bytes (the contract of
        // `MessageWire::copied_contiguous`).
        unsafe {
            on_route!(&mut self, self.route(to), |wire, peer| wire.copied_contiguous(peer, header, payload, length), else {
                self.drop_for(to);
                Ok(())
            })
        }
    }

    #[inline]
    fn poll_front(
        &mut self,
        take: impl FnMut(PeerIndex, &Header, *const u8, usize) -> Choice,
    ) -> bool {
        let beyond = self.shm.poll_front(take);
        beyond || self.further || !self.loopback.is_empty()
    }
}

impl RegionWire for Wires {
    unsafe fn publish(&mut self, to: PeerIndex, token: u64, source: Source) -> RegionKey {
        let route = self.region_route(to);
        self.poll_soon(route);
        // SAFETY: the memory behind `source` stays valid until it is released or withdrawn (the
        // contract of `RegionWire::publish`).
        unsafe {
            on_route!(&mut self, route, |wire, peer| wire.publish(peer, token, source), else {
                self.drop_for(to);
                RegionKey([0; 2])
            })
        }
    }

    fn withdraw(&mut self, to: PeerIndex, key: RegionKey) -> bool {
        on_route!(&mut self, self.region_route(to), |wire, peer| wire.withdraw(peer, key), else true)
    }

    unsafe fn pull(&mut self, from: PeerIndex, key: RegionKey, token: u64, target: Target) {
        let route = self.region_route(from);
        self.poll_soon(route);
        // SAFETY: the memory behind `target` stays valid until it is pulled (the contract of
        // `RegionWire::pull`).
        unsafe {
            if let (Route::Clic { index, .. }, Route::Tcp { index: line }) =
                (self.route(from), route)
                && let (Some(tcp), Some(clic)) = (&mut self.tcp, &mut self.clic)
            {
                return tcp.pull_asking(line as usize, key, token, target, |wanted| {
                    apart::ask(clic, index, wanted)
                });
            }
            on_route!(&mut self, route, |wire, peer| wire.pull(peer, key, token, target), else self.drop_for(from));
        }
    }
}

impl JobWire for Wires {
    fn own(&self) -> PeerIndex {
        self.loopback.own()
    }
}
