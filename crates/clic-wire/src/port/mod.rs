//! The sockets of CLIC. A port is one interface of this process: it sends and receives frames, and
//! knows nothing of what they mean.
//!
//! ```text
//!               small frames                      bulk (frames of kind Data)
//!  raw side     a ring that the kernel fills,     a socket that scatters bodies to where they
//!               polled without a system call      are expected; frames one by one
//!  UDP side     a socket; trains of several       a socket; super-frames of up to 64 KiB, cut
//!               frames are super-frames too       by the interface or the kernel
//! ```
//!
//! The raw side needs the capability CAP_NET_RAW; the UDP side is always there. Frames on the raw
//! side have an ethertype of their own, and a filter in the kernel lets only those of this endpoint
//! in. Which way to take to a peer is decided with its [`Address`] ([`Port::way`]); it receives on
//! all of them. Raw frames reach hosts on the same segment only, and so do crafted ones
//! ([`Carrier::Crafted`]): UDP datagrams in super-frames whose headers are written here, past the
//! system's IP but not past the receiver's packet filter. [`Port::way`] takes them for bulk where
//! it takes raw frames, because they are the fastest (veth, 1 MB in blocks of 64 chunks, GB/s,
//! 2026-11-22, two slow processors; `examples/clic_ports.rs`):
//!
//! | | raw frames | UDP | crafted | 1 B one way, raw | UDP |
//! |---|---|---|---|---|---|
//! | MTU 1500 | 0.56 | 3.2 | 3.3 | 2.4 us | 4.5 us |
//! | MTU 9000 | 2.1 | 7.7 | 9.2 | 2.1 us | 4.2 us |
//!
//! Nothing received has been checked. What strangers can do: cost a look at each frame, and fill
//! rings and buffers of fixed size, so that frames get lost. Super-frames that a queue of the host
//! cuts may lose a part there unnoticed, like any frame on its way. Sockets belong to the network
//! namespace in which they were opened. Small path: [`Port::send`] and [`Port::receive`].

mod address;
mod bulk;
mod craft;
mod datagram;
mod filter;
mod group;
mod interface;
mod raw;
mod ring;
mod system;
mod way;

pub use address::Address;
pub use bulk::{Arrivals, MOST_PLACES, Places};
pub use datagram::super_frames;
pub use group::GroupAddress;
pub use interface::{Interface, interfaces};
pub use way::{Carrier, Frame, Way};

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use craft::End;
use interface::Now;
use system::{Name, Sent};
use towpath_clic::endpoint::EVERYBODY;
use towpath_clic::frame::HEADER_BYTES;
use towpath_transport::error::Error;
use way::Route;

/// CLIC's ethertype: the first of the two that are left for local experiments (IEEE 802).
pub const ETHERTYPE: u16 = 0x88b5;

/// While nobody seems to use the UDP side beside a raw one, it is looked at every so many times.
const SELDOM: u32 = 32;
/// After a datagram it is looked at every time, until so many looks have found nothing.
const USED: u32 = 5_000;
/// Errors that wait at the sockets are cleared every so many looks.
const ERRORS_SELDOM: u32 = 1024;

/// What is opened for frames below IP. Each of these sockets looks at every frame for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawSide {
    /// Nothing.
    Closed,
    /// What small frames and super-frames of bulk need.
    Small,
    /// That, and what receives bulk in frames one by one.
    Whole,
}

/// What got lost at this end, since the port was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames received that were cut off or had no header.
    pub truncated: u64,
    /// Frames that the kernel had to drop, because this process did not receive them in time (raw
    /// side only).
    pub dropped: u64,
    /// Frames that the system refused to send for another reason than lack of room.
    pub unsent: u64,
    /// Errors that the system reported when something was to be received.
    pub errors: u64,
}

/// One interface of this process.
#[derive(Debug)]
pub struct Port {
    interface: Interface,
    endpoint: u16,
    refusal: Option<Error>,
    output: Output,
    input: Input,
}

/// What sends over an interface.
#[derive(Debug)]
pub struct Output {
    /// The interface's number, and its longest packet, when the port was opened and now.
    index: u32,
    mtu: u16,
    mtu_now: u16,
    /// Where crafted frames come from, if there can be any.
    end: Option<End>,
    datagrams: datagram::Outgoing,
    raw: Option<raw::Outgoing>,
    unsent: u64,
    /// Routes that have refused a frame and taken none since.
    faults: Vec<Fault>,
    /// Frames that are too long for the interface go in fragments.
    fragments: bool,
}

/// A route that refuses frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fault {
    route: Route,
    /// With what, the last time, and how many frames.
    error: i32,
    refused: u64,
}

/// What receives from an interface.
#[derive(Debug)]
pub struct Input {
    /// The interface's number.
    index: u32,
    datagrams: datagram::Incoming,
    raw: Option<raw::Incoming>,
    counters: Counters,
    /// For so many more times the UDP side is looked at every time.
    used: u32,
    /// How often it has not been looked at.
    quiet: u32,
    /// How often anything has been looked at.
    looks: u32,
}

impl Port {
    /// Opens a port on an interface. Without `endpoint` a number for the process is chosen, which
    /// no other process of the host has; the first port of a process finds it, the others are told.
    /// Where the raw side is not opened, [`Port::without_raw`] says why.
    ///
    /// # Errors
    /// [`Error::Network`] when not even UDP sockets can be opened.
    pub fn open(interface: &Interface, endpoint: Option<u16>, raw: RawSide) -> Result<Port, Error> {
        let fail = |error: std::io::Error| Error::network("open a UDP socket", &error);
        let (to_sockets, from_sockets) = datagram::open(interface.network.address, interface.index).map_err(fail)?;
        // A port has one owner on an address, and never has the number that is everybody's.
        let endpoint = endpoint.unwrap_or(from_sockets.ports()[0]);
        if endpoint == EVERYBODY {
            return Port::open(interface, None, raw);
        }
        let raw = match interface.hardware {
            Some(_) if raw != RawSide::Closed => {
                raw::open(interface.index, endpoint, usize::from(interface.mtu), raw == RawSide::Whole)
                    .map_err(|error| Error::network("open a packet socket", &error))
            }
            _ => Err(Error::network("open a packet socket", &std::io::ErrorKind::Unsupported.into())),
        };
        let (to_raw, from_raw, refusal) = match raw {
            Ok((outgoing, incoming)) => (Some(outgoing), Some(incoming), None),
            Err(refusal) => (None, None, Some(refusal)),
        };
        let (counters, index) = (Counters::default(), interface.index);
        let end = match (interface.hardware, interface.network.address) {
            (Some(hardware), IpAddr::V4(address)) if to_raw.is_some() => {
                Some(End { hardware, address, port: from_sockets.ports()[1] })
            }
            _ => None,
        };
        Ok(Port {
            interface: interface.clone(),
            endpoint,
            refusal,
            output: Output {
                index,
                mtu: interface.mtu,
                mtu_now: interface.mtu,
                end,
                datagrams: to_sockets,
                raw: to_raw,
                unsent: 0,
                faults: Vec::new(),
                fragments: false,
            },
            input: Input { index, datagrams: from_sockets, raw: from_raw, counters, used: 0, quiet: 0, looks: 0 },
        })
    }

    /// What sends and what receives, for those who do one while they do the other.
    pub fn split(self) -> (Output, Input) {
        (self.output, self.input)
    }

    /// The number of the process on its host.
    pub fn endpoint(&self) -> u16 {
        self.endpoint
    }

    /// The interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Why there is no raw side; `None` when there is one.
    pub fn without_raw(&self) -> Option<&Error> {
        self.refusal.as_ref()
    }

    /// Where others reach this port.
    pub fn address(&self) -> Address {
        let Interface { hardware, network, mtu, speed, .. } = self.interface;
        let [port, bulk_port] = self.input.datagrams.ports();
        Address { hardware: hardware.filter(|_| self.output.raw.is_some()), network, port, bulk_port, mtu, speed }
    }

    /// As [`Output::send`].
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub unsafe fn send(&mut self, way: &Way, header: &[u8; HEADER_BYTES], body: *const u8, length: usize) -> bool {
        // SAFETY: promised by the caller.
        unsafe { self.output.send(way, header, body, length) }
    }

    /// As [`Output::send_train`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn send_train(&mut self, way: &Way, frames: &[Frame]) -> usize {
        // SAFETY: promised by the caller.
        unsafe { self.output.send_train(way, frames) }
    }

    /// As [`Output::send_bulk`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn send_bulk(&mut self, way: &Way, frames: &[Frame]) -> usize {
        // SAFETY: promised by the caller.
        unsafe { self.output.send_bulk(way, frames) }
    }

    /// As [`Input::receive`].
    #[inline]
    pub fn receive(&mut self, most: usize, take: &mut impl FnMut(&[u8])) -> bool {
        self.input.receive(most, take)
    }

    /// As [`Input::receive_bulk`].
    pub fn receive_bulk(&mut self, most: usize, arrivals: &mut impl Arrivals) -> bool {
        self.input.receive_bulk(most, arrivals)
    }

    /// As [`Input::join`].
    ///
    /// # Errors
    /// As there.
    pub fn join(&mut self, group: &GroupAddress, by: Carrier) -> Result<(), Error> {
        self.input.join(group, by)
    }

    /// As [`Input::leave`].
    pub fn leave(&mut self, group: &GroupAddress, by: Carrier) {
        self.input.leave(group, by);
    }

    /// As [`Input::descriptors`].
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.input.descriptors()
    }

    /// What got lost at this end.
    pub fn counters(&mut self) -> Counters {
        Counters { unsent: self.output.unsent, ..self.input.counters() }
    }
}

impl Output {
    /// Sends a frame. False when the interface is full now: nothing has happened then. A frame that
    /// cannot be sent at all counts as lost on the way.
    ///
    /// # Safety
    /// `body` must be readable for `length` bytes, at most [`Way::payload`].
    #[inline]
    pub unsafe fn send(&mut self, way: &Way, header: &[u8; HEADER_BYTES], body: *const u8, length: usize) -> bool {
        // SAFETY: promised by the caller.
        let sent = unsafe {
            match (&way.small, &self.raw) {
                (Route::Raw(to), Some(raw)) => raw.send(to, header, body, length),
                (Route::Udp(to), _) => self.datagrams.send(to, header, body, length),
                _ => Sent::Error(0),
            }
        };
        match sent {
            Sent::Taken => {
                if !self.faults.is_empty() {
                    self.works(&way.small);
                }
                true
            }
            Sent::Full => false,
            Sent::Error(error) => {
                let frame = [Frame { header: *header, body, length }];
                // SAFETY: promised by the caller.
                unsafe { self.refused(&way.small, &way.by_udp[0], error, &frame) > 0 }
            }
        }
    }

    /// Sends frames of kind Data, best of one length each but for the last, as many as the
    /// interface takes now; says how many.
    ///
    /// # Safety
    /// The bodies must be readable, and be of at most [`Way::payload`] bytes each.
    pub unsafe fn send_bulk(&mut self, way: &Way, frames: &[Frame]) -> usize {
        // SAFETY: promised by the caller.
        unsafe { self.send_by(&way.bulk, &way.by_udp[1], frames) }
    }

    /// As [`Output::send_bulk`], for several frames of other kinds: what [`Output::send`] would
    /// send one by one.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn send_train(&mut self, way: &Way, frames: &[Frame]) -> usize {
        // SAFETY: promised by the caller.
        unsafe {
            match frames {
                [frame] => usize::from(self.send(way, &frame.header, frame.body, frame.length)),
                _ => self.send_by(&way.train, &way.by_udp[0], frames),
            }
        }
    }

    /// # Safety
    /// The bodies must be readable, and be of at most [`Way::payload`] bytes each.
    unsafe fn send_by(&mut self, route: &Route, by_udp: &Name, frames: &[Frame]) -> usize {
        let mut taken = 0;
        while taken < frames.len() {
            let rest = &frames[taken..];
            let is_too_long = self.is_too_long(rest[0].length);
            // SAFETY: promised by the caller.
            let (count, sent) = unsafe {
                match (route, &mut self.raw) {
                    // Nobody says so of a super-frame that an interface cuts.
                    (Route::Crafted(_), _) if is_too_long => (1, Sent::Error(libc::EMSGSIZE)),
                    (Route::Raw(to), Some(raw)) => raw.send_bulk(to, rest),
                    (Route::Crafted(template), Some(raw)) if raw.crafter.cut.is_some() => {
                        raw.crafter.send_bulk(template, rest)
                    }
                    (Route::Crafted(template), _) => self.datagrams.send_bulk(&template.name(), rest),
                    (Route::Udp(to), _) => self.datagrams.send_bulk(to, rest),
                    _ => (0, Sent::Error(0)),
                }
            };
            match sent {
                Sent::Taken => {
                    if count > 0 && !self.faults.is_empty() {
                        self.works(route);
                    }
                    taken += count;
                }
                Sent::Full => break,
                Sent::Error(error) => {
                    // SAFETY: promised by the caller.
                    let gone = unsafe { self.refused(route, by_udp, error, &rest[..count.max(1)]) };
                    if gone == 0 {
                        break;
                    }
                    taken += gone;
                }
            }
        }
        taken
    }

    /// From now on frames that are too long for the interface go as datagrams that IP cuts into
    /// fragments. Whoever tries how long frames may be wants none of that.
    pub fn permit_fragments(&mut self) {
        self.fragments = true;
    }

    /// The interface refuses frames. What is too long for it may go in fragments; what does not go
    /// counts as lost. Says how many frames are done with: none when the interface is full.
    ///
    /// # Safety
    /// The bodies must be readable.
    #[cold]
    unsafe fn refused(&mut self, route: &Route, by_udp: &Name, mut error: i32, frames: &[Frame]) -> usize {
        if error == libc::EMSGSIZE && self.fragments {
            for (gone, frame) in frames.iter().enumerate() {
                // SAFETY: promised by the caller.
                match unsafe { self.datagrams.send_in_fragments(by_udp, frame) } {
                    Sent::Taken => {}
                    Sent::Full => return gone,
                    Sent::Error(other) => {
                        error = other;
                        self.count(route, error, 1);
                    }
                }
            }
            return frames.len();
        }
        self.count(route, error, frames.len() as u64);
        frames.len()
    }

    /// Whether a datagram with such a body is longer than the packets that the interface sends now.
    fn is_too_long(&self, body: usize) -> bool {
        self.mtu_now < self.mtu && body > usize::from(way::ipv4_payload(self.mtu_now))
    }

    /// Looks at the interface again, which is the one of this port. Why others reach it no more,
    /// for a person; `None` when they do.
    pub fn look(&mut self, interface: &Interface) -> Option<String> {
        match interface.now(self.datagrams.socket()) {
            Now::Same(mtu) => {
                self.mtu_now = mtu;
                None
            }
            Now::Other(sentence) => Some(sentence),
        }
    }

    /// Counts frames that a route has refused.
    fn count(&mut self, route: &Route, error: i32, frames: u64) {
        self.unsent += frames;
        if !system::is_of_route(error) {
            return;
        }
        match self.faults.iter_mut().find(|fault| fault.route == *route) {
            Some(fault) => (fault.error, fault.refused) = (error, fault.refused + frames),
            None => self.faults.push(Fault { route: *route, error, refused: frames }),
        }
    }

    /// A route has taken a frame.
    #[cold]
    fn works(&mut self, route: &Route) {
        self.faults.retain(|fault| fault.route != *route);
    }

    /// Whether some route refuses frames.
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// The error with which routes of this way refuse frames since they took one last, if some do,
    /// and how many they have refused.
    pub fn fault(&self, way: &Way) -> Option<(i32, u64)> {
        let is_of_way = |fault: &&Fault| [way.small, way.train, way.bulk].contains(&fault.route);
        let of_way = self.faults.iter().filter(is_of_way);
        of_way.map(|fault| (fault.error, fault.refused)).reduce(|(_, sum), (error, refused)| (error, sum + refused))
    }
}

impl Input {
    /// Lends the small frames that are here to `take`, at most so many of each side; true if there
    /// was one. Costs no system call while nothing comes by the raw side and nobody uses the UDP
    /// side.
    #[inline]
    pub fn receive(&mut self, most: usize, take: &mut impl FnMut(&[u8])) -> bool {
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(ERRORS_SELDOM) {
            self.clear_errors();
        }
        let Some(raw) = &mut self.raw else {
            let came = self.datagrams.receive(most, &mut self.counters, take);
            return self.receive_groups(most, take) || came;
        };
        let mut came = raw.receive(most, &mut self.counters, take);
        if self.quiet < SELDOM {
            self.quiet += 1;
            return came;
        }
        came |= self.datagrams.receive_groups(most, &mut self.counters, take);
        if self.datagrams.receive(most, &mut self.counters, take) {
            self.used = USED;
            return true;
        }
        self.used = self.used.saturating_sub(1);
        self.quiet = if self.used == 0 { 0 } else { SELDOM };
        came
    }

    /// The next [`Input::receive`] looks at the UDP side too, in any case.
    pub fn look_everywhere(&mut self) {
        self.quiet = SELDOM;
    }

    /// Clears errors of sockets that nothing is read from, such as that the interface was down:
    /// they would wake sleepers for ever.
    #[cold]
    fn clear_errors(&mut self) {
        let raw = self.raw.iter().flat_map(raw::Incoming::sockets);
        self.counters.errors += raw.map(|socket| u64::from(system::take_error(socket) != 0)).sum::<u64>();
        self.counters.errors += self.datagrams.clear_errors();
    }

    /// Receives bulk, in at most so many calls of the system; true if some came. Worth a call while
    /// bulk is expected only.
    pub fn receive_bulk(&mut self, most: usize, arrivals: &mut impl Arrivals) -> bool {
        let mut came = false;
        for _ in 0..most {
            let by_udp = self.datagrams.receive_bulk(&mut self.counters, arrivals);
            let by_raw =
                self.raw.as_mut().is_some_and(|raw| raw.receive_bulk(usize::MAX, &mut self.counters, arrivals));
            if !by_udp && !by_raw {
                break;
            }
            came = true;
        }
        came
    }

    /// Lends the frames to groups that came by UDP to `take`, at most so many super-frames; true if
    /// there was one. [`Input::receive`] looks for them seldom, where there is a raw side.
    pub fn receive_groups(&mut self, most: usize, take: &mut impl FnMut(&[u8])) -> bool {
        self.datagrams.receive_groups(most, &mut self.counters, take)
    }

    /// Lets frames to a group in, by the raw side or by UDP, until [`Input::leave`].
    ///
    /// # Errors
    /// [`Error::Network`] when this side is not there or the system has no room for another group:
    /// then there are no broadcasts.
    pub fn join(&mut self, group: &GroupAddress, by: Carrier) -> Result<(), Error> {
        self.change(group, by, true).map_err(|error| Error::network("join a multicast group", &error))
    }

    /// Lets frames to a group in no longer.
    pub fn leave(&mut self, group: &GroupAddress, by: Carrier) {
        // A group that was not joined need not be left.
        let _ = self.change(group, by, false);
    }

    fn change(&mut self, group: &GroupAddress, by: Carrier, joins: bool) -> std::io::Result<()> {
        match (by, &self.raw) {
            (Carrier::Raw, Some(raw)) => group::change_raw(raw.small(), self.index, group.hardware, joins),
            (Carrier::Raw, None) => Err(std::io::ErrorKind::Unsupported.into()),
            // Crafted frames arrive as UDP.
            _ => self.datagrams.change(group, self.index, joins),
        }
    }

    /// What to sleep on for frames to groups by UDP; there is something once such a group was
    /// joined.
    pub fn group_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.datagrams.group_socket().map(AsFd::as_fd)
    }

    /// What to sleep on: readable when there is something to receive.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let raw = self.raw.iter().flat_map(raw::Incoming::sockets);
        self.datagrams.sockets().chain(raw).map(AsFd::as_fd)
    }

    fn counters(&mut self) -> Counters {
        self.counters.dropped += self.raw.as_ref().map_or(0, raw::Incoming::dropped);
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Counts frames.
    struct Count(usize);

    impl Arrivals for Count {
        fn predict(&mut self, _: &mut Places) {}
        fn take(&mut self, _: &[u8; HEADER_BYTES], _: *const u8, _: usize) {
            self.0 += 1;
        }
    }

    #[test]
    fn frames_go_by_udp_where_the_kernel_cuts_no_crafted_ones() {
        let interface = interfaces(Some("lo")).remove(0);
        let [mut one, mut other] = [(); 2].map(|()| Port::open(&interface, None, RawSide::Small).unwrap());
        let Some(raw) = &mut one.output.raw else {
            println!("skipped: {:?}", one.without_raw());
            return;
        };
        // What no kernel knows.
        raw.crafter.cut = Some(77);
        let way = one.way_by(&other.address(), Carrier::Raw, Carrier::Crafted);
        let body = [7; 1000];
        let frames = [Frame { header: [0; HEADER_BYTES], body: body.as_ptr(), length: body.len() }; 5];
        // SAFETY: the body lives.
        unsafe {
            assert_eq!(one.send_bulk(&way, &frames), 5);
            assert_eq!(one.send_train(&way, &frames[..3]), 3);
        }
        let (mut bulk, mut small, begin) = (Count(0), 0, Instant::now());
        while (bulk.0, small) != (5, 3) {
            other.receive_bulk(1, &mut bulk);
            other.receive(1, &mut |_| small += 1);
            assert!(begin.elapsed() < Duration::from_secs(10), "{} and {small} frames came", bulk.0);
        }
        assert_eq!(one.counters().unsent, 0);
    }
}
