//! The table of all wires of a process: which peer is reached how. It is itself a [`Wire`].

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{CopyAcross, Source, Target};

use crate::error::Error;
use crate::loopback::Loopback;
use crate::shm::board::Board;
use crate::shm::{Section, Segment, Settings, Shm};
use crate::strict::{self, Strict};
use crate::{Choice, Header, NoResource, RegionKey, Sink, Wire};

/// How a peer is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Loopback,
    Shm { rank: u32 },
    Strict { rank: u32 },
}

/// All wires of a process.
pub struct Wires {
    routes: Vec<Route>,
    loopback: Loopback,
    shm: Shm,
    /// In the strict mode, what leads to the other processes in the place of `shm`.
    strict: Option<Box<Strict>>,
}

impl Wires {
    /// The wires of a job on one host: peer i is local rank i of the segment, and the segment's own rank is this
    /// process.
    pub fn single_host(segment: Segment) -> Wires {
        Wires::with_settings(segment, Settings::default())
    }

    /// As [`Wires::single_host`] with chosen settings.
    pub fn with_settings(segment: Segment, settings: Settings) -> Wires {
        let own = segment.own_rank();
        let peers: Vec<PeerIndex> = (0..segment.ranks() as u32).map(PeerIndex).collect();
        let route = |rank: &PeerIndex| if rank.slot() == own { Route::Loopback } else { Route::Shm { rank: rank.0 } };
        Wires {
            routes: peers.iter().map(route).collect(),
            loopback: Loopback::new(PeerIndex(own as u32)),
            shm: Shm::new(segment, peers, settings),
            strict: None,
        }
    }

    /// As [`Wires::single_host`], by the strict mode.
    pub fn strict(segment: Segment, settings: &strict::Settings) -> Result<Wires, Error> {
        let mut wires = Wires::single_host(segment.clone());
        let peers = (0..segment.ranks() as u32).map(PeerIndex).collect();
        wires.strict = Some(Box::new(Strict::new(segment, peers, settings)?));
        for route in &mut wires.routes {
            if let Route::Shm { rank } = *route {
                *route = Route::Strict { rank };
            }
        }
        Ok(wires)
    }

    /// As [`Wires::single_host`], by the channel that the environment asks for.
    pub fn chosen(segment: Segment) -> Result<Wires, Error> {
        match strict::chosen()? {
            Some(settings) => Wires::strict(segment, &settings),
            None => Ok(Wires::single_host(segment)),
        }
    }

    /// What copies from strides to strides; see [`Shm::set_across`].
    pub fn set_across(&mut self, across: CopyAcross) {
        self.shm.set_across(across);
    }

    /// The wire of the strict mode, where it is in use.
    pub fn strictness(&self) -> Option<&Strict> {
        self.strict.as_deref()
    }

    /// # Panics
    /// Where the strict mode is not in use: then no route leads to it.
    #[cold]
    fn strict_wire(&mut self) -> &mut Strict {
        self.strict.as_mut().expect("a route of the strict mode")
    }

    /// The segment that the processes of this host share.
    pub fn segment(&self) -> &Segment {
        self.shm.segment()
    }

    /// The process `peer` is gone: see [`Shm::mark_lost`]. [`Sink::lost`] follows at the next progress.
    pub fn mark_lost(&mut self, peer: PeerIndex) {
        match self.route(peer) {
            Route::Shm { rank } => self.shm.mark_lost(rank as usize),
            Route::Strict { rank } => self.strict_wire().mark_lost(rank as usize),
            Route::Loopback => {}
        }
    }

    /// A topology named `key` declares that these peers send to this process, each with a weight: those on this host get
    /// larger shares of its memory; see [`Shm::declare`] and [`Strict::declare`].
    pub fn declare(&mut self, key: u64, sources: &[(PeerIndex, u64)]) {
        let near = sources.iter().filter_map(|&(peer, weight)| Some((self.local_rank(peer)? as usize, weight)));
        let near: Vec<(usize, u64)> = near.collect();
        match &mut self.strict {
            Some(strict) => strict.declare(key, &near),
            None => self.shm.declare(key, &near),
        }
    }

    /// The topology named `key` is gone.
    pub fn undeclare(&mut self, key: u64) {
        match &mut self.strict {
            Some(strict) => strict.undeclare(key),
            None => self.shm.undeclare(key),
        }
    }

    /// How the own channel in shared memory is laid out; see [`Shm::sections`] and [`Strict::sections`].
    pub fn sections(&self) -> Vec<Section> {
        match &self.strict {
            Some(strict) => strict.sections(),
            None => self.shm.sections(),
        }
    }

    /// True when all that the topology named `key` grants is on its way; needs progress until then.
    pub fn has_granted(&self, key: u64) -> bool {
        match &self.strict {
            Some(strict) => strict.has_granted(),
            None => self.shm.has_granted(key),
        }
    }

    /// Makes a board for a team; see [`Shm::make_board`]. `None` too when a member is on another host, and in the strict
    /// mode, which has no memory beside its budget.
    pub fn make_board(&mut self, team: &[PeerIndex]) -> Option<usize> {
        let near = self.strict.is_none() && team.iter().all(|&peer| self.local_rank(peer).is_some());
        if near { self.shm.make_board(team.len()) } else { None }
    }

    /// The board at a place that member 0 of the team, who made it, has told.
    ///
    /// # Panics
    /// When a member of the team is on another host.
    pub fn join_board(&self, place: usize, team: &[PeerIndex], own: usize) -> Board {
        let member = |&peer| self.local_rank(peer).expect("a board has members on one host");
        self.shm.join_board(place, team.iter().map(member).collect(), own, own == 0)
    }

    /// The local rank of a peer on this host.
    fn local_rank(&self, peer: PeerIndex) -> Option<u32> {
        match self.route(peer) {
            Route::Shm { rank } | Route::Strict { rank } => Some(rank),
            Route::Loopback => Some(self.shm.segment().own_rank() as u32),
        }
    }

    #[inline]
    fn route(&self, peer: PeerIndex) -> Route {
        self.routes[peer.slot()]
    }
}

impl Wire for Wires {
    fn own(&self) -> PeerIndex {
        self.loopback.own()
    }

    #[inline(always)]
    unsafe fn short(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        // SAFETY: handed through.
        unsafe {
            match self.route(to) {
                Route::Shm { rank } => self.shm.short(rank as usize, header, payload, length),
                Route::Strict { rank } => self.strict_wire().short(rank as usize, header, payload, length),
                Route::Loopback => self.loopback.short(to, header, payload, length),
            }
        }
    }

    #[inline]
    fn copied_limit(&self, to: PeerIndex) -> usize {
        match self.route(to) {
            Route::Shm { rank } => self.shm.copied_limit(rank as usize),
            Route::Strict { .. } => strict::COPIED_LIMIT,
            Route::Loopback => self.loopback.copied_limit(to),
        }
    }

    #[inline]
    fn copied(
        &mut self,
        to: PeerIndex,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        match self.route(to) {
            Route::Shm { rank } => self.shm.copied(rank as usize, header, length, fill),
            Route::Strict { rank } => self.strict_wire().copied(rank as usize, header, length, fill),
            Route::Loopback => self.loopback.copied(to, header, length, fill),
        }
    }

    #[inline]
    fn row_limit(&self, to: PeerIndex) -> usize {
        match self.route(to) {
            Route::Shm { rank } => self.shm.row_limit(rank as usize),
            Route::Strict { .. } | Route::Loopback => self.copied_limit(to),
        }
    }

    #[inline]
    unsafe fn copied_row(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if let Route::Shm { rank } = self.route(to) {
            // SAFETY: handed through.
            return unsafe { self.shm.copied_row(rank as usize, header, payload, length) };
        }
        // SAFETY: the wire lends `length` bytes; the caller vouches for the payload.
        self.copied(to, header, length, |slot| unsafe { std::ptr::copy_nonoverlapping(payload, slot, length) })
    }

    unsafe fn publish(&mut self, to: PeerIndex, token: u64, source: Source) -> RegionKey {
        // SAFETY: handed through.
        unsafe {
            match self.route(to) {
                Route::Shm { rank } => self.shm.publish(rank as usize, token, source),
                Route::Strict { rank } => self.strict_wire().publish(rank as usize, token, source),
                Route::Loopback => self.loopback.publish(to, token, source),
            }
        }
    }

    fn withdraw(&mut self, to: PeerIndex, key: RegionKey) -> bool {
        match self.route(to) {
            Route::Shm { .. } => self.shm.withdraw(key),
            Route::Strict { .. } => self.strict_wire().withdraw(key),
            Route::Loopback => self.loopback.withdraw(to, key),
        }
    }

    unsafe fn pull(&mut self, from: PeerIndex, key: RegionKey, token: u64, target: Target) {
        // SAFETY: handed through.
        unsafe {
            match self.route(from) {
                Route::Shm { rank } => self.shm.pull(rank as usize, key, token, target),
                Route::Strict { rank } => self.strict_wire().pull(rank as usize, key, token, target),
                Route::Loopback => self.loopback.pull(from, key, token, target),
            }
        }
    }

    #[inline]
    fn sift(&mut self, take: impl FnMut(PeerIndex, &Header, *const u8, usize) -> Choice) -> bool {
        let beyond = self.shm.sift(take);
        beyond || self.strict.is_some() || !self.loopback.is_empty()
    }

    #[inline]
    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        let by_shm = self.shm.progress(sink);
        let by_loopback = self.loopback.progress(sink);
        let by_strict = self.strict.as_mut().is_some_and(|strict| strict.progress(sink));
        by_shm | by_loopback | by_strict
    }

    fn busy(&self) -> bool {
        self.shm.busy() || self.loopback.busy() || self.strict.as_ref().is_some_and(|strict| strict.busy())
    }
}
