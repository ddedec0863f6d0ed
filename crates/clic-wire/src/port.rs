//! The sockets of CLIC. A port is one interface of this process: it sends and receives frames, and
//! does not interpret them.
//!
//! ```text
//!               small frames                      bulk (frames of kind Data)
//!  raw side     a ring that the kernel fills,     a socket that scatters bodies to where they
//!               polled without a system call      are expected; frames one by one
//!  UDP side     a socket; trains of several       a socket; super-frames of up to 64 KiB,
//!               frames are super-frames too       segmented by the interface or the kernel
//! ```
//!
//! The raw side needs the capability CAP_NET_RAW; the UDP side is always available. Frames on the
//! raw side have their own ethertype, and a packet filter in the kernel accepts only those of this
//! endpoint. The [`Address`] of a peer determines how frames are sent to it ([`Port::way`]); the
//! peer receives on both sides. Raw frames reach only hosts on the same segment. So do crafted ones
//! ([`Carrier::Crafted`]): UDP datagrams in super-frames whose headers are built here, which bypass
//! the local IP stack but not the receiver's firewall. [`Port::way`] uses them for bulk wherever it
//! uses raw frames, because they are the fastest (veth, 1 MB in blocks of 64 chunks, GB/s,
//! 2026-11-22, two slow processors; `clic_ports` of tools/programs):
//!
//! | | raw frames | UDP | crafted | 1 B one way, raw | UDP |
//! |---|---|---|---|---|---|
//! | MTU 1500 | 0.56 | 3.2 | 3.3 | 2.4 us | 4.5 us |
//! | MTU 9000 | 2.1 | 7.7 | 9.2 | 2.1 us | 4.2 us |
//!
//! Received frames are not validated here. A stranger can cause no more than an inspection of each
//! of its frames, and full rings and buffers of fixed size, so that frames are lost. If a queue of
//! the host segments a super-frame, part of it may be dropped there silently, like any frame in
//! transit. Sockets belong to the network namespace in which they were opened. Fast path:
//! [`Port::send`] and [`Port::receive`].

mod address;
mod bulk;
mod craft;
mod datagram;
mod filter;
mod group;
mod interface;
mod raw;
mod ring;
mod segmentation;
mod system;
mod way;

pub use address::Address;
pub use bulk::{Arrivals, MOST_PLACES, Places};
pub use group::GroupAddress;
pub use interface::{Interface, interfaces};
pub use segmentation::super_frames;
pub use way::{Carrier, OutgoingFrame, Way};

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use craft::StreamEnd;
use interface::Now;
use system::{SendOutcome, SocketName};
use towpath_clic::endpoint::EVERYBODY;
use towpath_clic::frame::HeaderBytes;
use towpath_transport::error::Error;
use way::FrameRoute;

/// CLIC's ethertype: the first of the two reserved for local experiments (IEEE 802).
pub const ETHERTYPE: u16 = 0x88b5;

/// While the UDP side seems unused next to a raw one, it is polled once per this many calls.
const SELDOM: u32 = 32;
/// After a datagram, the UDP side is polled on every call, until this many polls have found
/// nothing.
const USED: u32 = 5_000;
/// Pending socket errors are cleared once per this many polls.
const ERRORS_SELDOM: u32 = 1024;

/// The sockets to open for raw frames. Each of them filters every frame that the host receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawSide {
    /// None.
    Closed,
    /// The sockets for small frames and for super-frames of bulk.
    Small,
    /// In addition, the socket that receives bulk in single frames.
    Whole,
}

/// Losses at this end since the port was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Received frames that were truncated or had no header.
    pub truncated: u64,
    /// Frames that the kernel dropped because this process did not receive them in time (raw side
    /// only).
    pub dropped: u64,
    /// Frames that the system refused to send for reasons other than lack of buffer space.
    pub unsent: u64,
    /// Errors that the system reported on reception.
    pub errors: u64,
}

/// One interface of this process.
#[derive(Debug)]
pub struct Port {
    interface: Interface,
    endpoint: u16,
    refusal: Option<Error>,
    output: PortOutput,
    input: PortInput,
}

/// The sending half of a port.
#[derive(Debug)]
pub struct PortOutput {
    /// The interface's index, and its MTU when the port was opened and now.
    index: u32,
    mtu: u16,
    mtu_now: u16,
    /// The source of crafted frames, if they are possible.
    end: Option<StreamEnd>,
    datagrams: datagram::DatagramOutput,
    raw: Option<raw::RawOutput>,
    unsent: u64,
    /// Routes that have rejected frames and accepted none since.
    faults: Vec<Fault>,
    /// True if frames that are too long for the interface are sent with IP fragmentation.
    fragments: bool,
}

/// A route that rejects frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fault {
    route: FrameRoute,
    /// The most recent error, and the number of rejected frames.
    error: i32,
    refused: u64,
}

/// The receiving half of a port.
#[derive(Debug)]
pub struct PortInput {
    /// The interface's index.
    index: u32,
    datagrams: datagram::DatagramInput,
    raw: Option<raw::RawInput>,
    counters: Counters,
    /// For this many more calls, the UDP side is polled on every call.
    used: u32,
    /// Number of calls since the UDP side was last polled.
    quiet: u32,
    /// Number of polls.
    looks: u32,
}

impl Port {
    /// Opens a port on an interface. Without `endpoint`, chooses a number for the process that no
    /// other process of the host has. The first port of a process chooses it, and the others are
    /// given it. If the raw side is not opened, [`Port::without_raw`] returns the reason.
    ///
    /// # Errors
    /// [`Error::Network`] if not even UDP sockets can be opened.
    pub fn open(interface: &Interface, endpoint: Option<u16>, raw: RawSide) -> Result<Port, Error> {
        let fail = |error: std::io::Error| Error::network("open a UDP socket", &error);
        let (to_sockets, from_sockets) =
            datagram::open(interface.network.address, interface.index).map_err(fail)?;
        // A UDP port is unique on its address; the broadcast endpoint number is excluded below.
        let endpoint = endpoint.unwrap_or(from_sockets.ports()[0]);
        if endpoint == EVERYBODY {
            return Port::open(interface, None, raw);
        }
        let raw = match interface.hardware {
            Some(_) if raw != RawSide::Closed => raw::open(
                interface.index,
                endpoint,
                usize::from(interface.mtu),
                raw == RawSide::Whole,
            )
            .map_err(|error| Error::network("open a packet socket", &error)),
            _ => {
                Err(Error::network("open a packet socket", &std::io::ErrorKind::Unsupported.into()))
            }
        };
        let (to_raw, from_raw, refusal) = match raw {
            Ok((outgoing, incoming)) => (Some(outgoing), Some(incoming), None),
            Err(refusal) => (None, None, Some(refusal)),
        };
        let (counters, index) = (Counters::default(), interface.index);
        let end = match (interface.hardware, interface.network.address) {
            (Some(hardware), IpAddr::V4(address)) if to_raw.is_some() => {
                Some(StreamEnd { hardware, address, port: from_sockets.ports()[1] })
            }
            _ => None,
        };
        Ok(Port {
            interface: interface.clone(),
            endpoint,
            refusal,
            output: PortOutput {
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
            input: PortInput {
                index,
                datagrams: from_sockets,
                raw: from_raw,
                counters,
                used: 0,
                quiet: 0,
                looks: 0,
            },
        })
    }

    /// Splits the port into halves that can be used at the same time.
    pub fn split(self) -> (PortOutput, PortInput) {
        (self.output, self.input)
    }

    /// The endpoint number of the process on its host.
    pub fn endpoint(&self) -> u16 {
        self.endpoint
    }

    /// The interface of the port.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Why there is no raw side; `None` if there is one.
    pub fn without_raw(&self) -> Option<&Error> {
        self.refusal.as_ref()
    }

    /// The address under which peers reach this port.
    pub fn address(&self) -> Address {
        let Interface { hardware, network, mtu, speed, .. } = self.interface;
        let [port, bulk_port] = self.input.datagrams.ports();
        Address {
            hardware: hardware.filter(|_| self.output.raw.is_some()),
            network,
            port,
            bulk_port,
            mtu,
            speed,
        }
    }

    /// The sending half.
    #[inline]
    pub fn output(&mut self) -> &mut PortOutput {
        &mut self.output
    }

    /// See [`PortInput::receive`].
    #[inline]
    pub fn receive(&mut self, most: usize, take: &mut impl FnMut(&[u8])) -> bool {
        self.input.receive(most, take)
    }

    /// See [`PortInput::receive_bulk`].
    pub fn receive_bulk(&mut self, most: usize, arrivals: &mut impl Arrivals) -> bool {
        self.input.receive_bulk(most, arrivals)
    }

    /// See [`PortInput::join`].
    ///
    /// # Errors
    /// See [`PortInput::join`].
    pub fn join(&mut self, group: &GroupAddress, by: Carrier) -> Result<(), Error> {
        self.input.join(group, by)
    }

    /// See [`PortInput::leave`].
    pub fn leave(&mut self, group: &GroupAddress, by: Carrier) {
        self.input.leave(group, by);
    }

    /// See [`PortInput::descriptors`].
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.input.descriptors()
    }

    /// Losses at this end since the port was opened.
    pub fn counters(&mut self) -> Counters {
        Counters { unsent: self.output.unsent, ..self.input.counters() }
    }
}

impl PortOutput {
    /// Sends a frame. Returns false if the interface is full now; the call then has no effect. A
    /// frame that cannot be sent at all counts as lost in transit.
    ///
    /// # Safety
    /// `body` must be readable for `length` bytes, at most [`Way::longest_body`].
    #[inline]
    pub unsafe fn send(
        &mut self,
        way: &Way,
        header: &HeaderBytes,
        body: *const u8,
        length: usize,
    ) -> bool {
        // SAFETY: `body` is readable for `length` bytes (this function's contract).
        let sent = unsafe {
            match (&way.small, &self.raw) {
                (FrameRoute::Raw(to), Some(raw)) => raw.send(to, header, body, length),
                (FrameRoute::Udp(to), _) => self.datagrams.send(to, header, body, length),
                _ => SendOutcome::Error(0),
            }
        };
        match sent {
            SendOutcome::Taken => {
                if !self.faults.is_empty() {
                    self.works(&way.small);
                }
                true
            }
            SendOutcome::Full => false,
            SendOutcome::Error(error) => {
                let frame = [OutgoingFrame { header: *header, body, length }];
                // SAFETY: the body of `frame` is readable for `length` bytes (this function's
                // contract).
                unsafe { self.refused(&way.small, &way.by_udp[0], error, &frame) > 0 }
            }
        }
    }

    /// Sends as many frames of kind Data as the interface accepts now; returns how many. Most
    /// efficient if all but the last have the same length.
    ///
    /// # Safety
    /// The bodies must be readable, with at most [`Way::payload`] bytes each.
    pub unsafe fn send_bulk(&mut self, way: &Way, frames: &[OutgoingFrame]) -> usize {
        // SAFETY: the bodies are readable, with at most `Way::payload` bytes each (this function's
        // contract).
        unsafe { self.send_by(&way.bulk, &way.by_udp[1], frames) }
    }

    /// Like [`PortOutput::send_bulk`], for several frames of other kinds, which
    /// [`PortOutput::send`] would send one by one.
    ///
    /// # Safety
    /// The bodies must be readable, with at most [`Way::payload`] bytes each.
    pub unsafe fn send_train(&mut self, way: &Way, frames: &[OutgoingFrame]) -> usize {
        // SAFETY: the bodies are readable, with at most `Way::payload` bytes each (this function's
        // contract).
        unsafe {
            match frames {
                [frame] => usize::from(self.send(way, &frame.header, frame.body, frame.length)),
                _ => self.send_by(&way.train, &way.by_udp[0], frames),
            }
        }
    }

    /// # Safety
    /// The bodies must be readable, with at most [`Way::payload`] bytes each.
    unsafe fn send_by(
        &mut self,
        route: &FrameRoute,
        by_udp: &SocketName,
        frames: &[OutgoingFrame],
    ) -> usize {
        let mut taken = 0;
        while taken < frames.len() {
            let rest = &frames[taken..];
            let is_too_long = self.is_too_long(rest[0].length);
            // SAFETY: the bodies are readable for their lengths (this function's contract).
            let (count, sent) = unsafe {
                match (route, &mut self.raw) {
                    // If an interface segments a super-frame, the kernel does not report that it is
                    // too long.
                    (FrameRoute::Crafted(_), _) if is_too_long => {
                        (1, SendOutcome::Error(libc::EMSGSIZE))
                    }
                    (FrameRoute::Raw(to), Some(raw)) => raw.send_bulk(to, rest),
                    (FrameRoute::Crafted(template), Some(raw)) if raw.crafter.cut.is_some() => {
                        raw.crafter.send_bulk(template, rest)
                    }
                    (FrameRoute::Crafted(template), _) => {
                        self.datagrams.send_bulk(&template.name(), rest)
                    }
                    (FrameRoute::Udp(to), _) => self.datagrams.send_bulk(to, rest),
                    _ => (0, SendOutcome::Error(0)),
                }
            };
            match sent {
                SendOutcome::Taken => {
                    if count > 0 && !self.faults.is_empty() {
                        self.works(route);
                    }
                    taken += count;
                }
                SendOutcome::Full => break,
                SendOutcome::Error(error) => {
                    // SAFETY: the bodies are readable for their lengths (this function's contract).
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

    /// From now on, sends frames that are too long for the interface as datagrams with IP
    /// fragmentation. Not for callers that probe for the longest possible frame.
    pub fn permit_fragments(&mut self) {
        self.fragments = true;
    }

    /// Handles frames that the interface has rejected. Frames that are too long may be sent with IP
    /// fragmentation; those that cannot be sent count as lost. Returns how many frames are done:
    /// none if the interface is full.
    ///
    /// # Safety
    /// The bodies must be readable.
    #[cold]
    unsafe fn refused(
        &mut self,
        route: &FrameRoute,
        by_udp: &SocketName,
        mut error: i32,
        frames: &[OutgoingFrame],
    ) -> usize {
        if error == libc::EMSGSIZE && self.fragments {
            for (gone, frame) in frames.iter().enumerate() {
                // SAFETY: the body of `frame` is readable for its length (this function's
                // contract).
                match unsafe { self.datagrams.send_in_fragments(by_udp, frame) } {
                    SendOutcome::Taken => {}
                    SendOutcome::Full => return gone,
                    SendOutcome::Error(other) => {
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

    /// True if a datagram with a body of this length exceeds the current MTU of the interface.
    fn is_too_long(&self, body: usize) -> bool {
        self.mtu_now < self.mtu && body > usize::from(way::ipv4_payload(self.mtu_now))
    }

    /// Queries the interface of this port again. Returns the reason, for the user, if peers can no
    /// longer reach it.
    pub fn look(&mut self, interface: &Interface) -> Option<String> {
        match interface.now(self.datagrams.socket()) {
            Now::Same(mtu) => {
                self.mtu_now = mtu;
                None
            }
            Now::Other(sentence) => Some(sentence),
        }
    }

    /// Counts frames that a route has rejected.
    fn count(&mut self, route: &FrameRoute, error: i32, frames: u64) {
        self.unsent += frames;
        if !system::is_of_route(error) {
            return;
        }
        match self.faults.iter_mut().find(|fault| fault.route == *route) {
            Some(fault) => (fault.error, fault.refused) = (error, fault.refused + frames),
            None => self.faults.push(Fault { route: *route, error, refused: frames }),
        }
    }

    /// A route has accepted a frame.
    #[cold]
    fn works(&mut self, route: &FrameRoute) {
        self.faults.retain(|fault| fault.route != *route);
    }

    /// True if any route rejects frames.
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// The error with which routes of this path have rejected frames since they last accepted one,
    /// if any, and the number of rejected frames.
    pub fn fault(&self, way: &Way) -> Option<(i32, u64)> {
        let is_of_way = |fault: &&Fault| [way.small, way.train, way.bulk].contains(&fault.route);
        let of_way = self.faults.iter().filter(is_of_way);
        of_way
            .map(|fault| (fault.error, fault.refused))
            .reduce(|(_, sum), (error, refused)| (error, sum + refused))
    }
}

impl PortInput {
    /// Passes pending small frames to `take`, at most `most` of each side; true if there were any.
    /// Needs no system call while no frame arrives on the raw side and the UDP side is unused.
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
        let mut came = raw.ring.receive(most, &mut self.counters, take);
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

    /// The next [`PortInput::receive`] polls the UDP side in any case.
    pub fn look_everywhere(&mut self) {
        self.quiet = SELDOM;
    }

    /// Clears errors of sockets that are not read, such as ENETDOWN: they would keep waking up a
    /// sleeper.
    #[cold]
    fn clear_errors(&mut self) {
        let raw = self.raw.iter().flat_map(raw::RawInput::sockets);
        self.counters.errors +=
            raw.map(|socket| u64::from(system::take_error(socket) != 0)).sum::<u64>();
        self.counters.errors += self.datagrams.clear_errors();
    }

    /// Receives bulk in at most `most` system calls; true if any arrived. Only worth calling while
    /// bulk is expected.
    pub fn receive_bulk(&mut self, most: usize, arrivals: &mut impl Arrivals) -> bool {
        let mut came = false;
        for _ in 0..most {
            let by_udp = self.datagrams.receive_bulk(&mut self.counters, arrivals);
            let by_raw = self
                .raw
                .as_mut()
                .is_some_and(|raw| raw.receive_bulk(usize::MAX, &mut self.counters, arrivals));
            if !by_udp && !by_raw {
                break;
            }
            came = true;
        }
        came
    }

    /// Passes pending frames to groups that arrived by UDP to `take`, at most `most` super-frames;
    /// true if there were any. If there is a raw side, [`PortInput::receive`] polls for them only
    /// rarely.
    pub fn receive_groups(&mut self, most: usize, take: &mut impl FnMut(&[u8])) -> bool {
        self.datagrams.receive_groups(most, &mut self.counters, take)
    }

    /// Admits frames to a group, on the raw side or by UDP, until [`PortInput::leave`].
    ///
    /// # Errors
    /// [`Error::Network`] if there is no such side or the system allows no further group; the group
    /// then cannot be used for broadcasts.
    pub fn join(&mut self, group: &GroupAddress, by: Carrier) -> Result<(), Error> {
        self.change(group, by, true)
            .map_err(|error| Error::network("join a multicast group", &error))
    }

    /// Stops admitting frames to a group.
    pub fn leave(&mut self, group: &GroupAddress, by: Carrier) {
        // Fails only if the group was not joined.
        let _ = self.change(group, by, false);
    }

    fn change(&mut self, group: &GroupAddress, by: Carrier, joins: bool) -> std::io::Result<()> {
        match (by, &self.raw) {
            (Carrier::Raw, Some(raw)) => {
                group::change_raw(raw.small(), self.index, group.hardware, joins)
            }
            (Carrier::Raw, None) => Err(std::io::ErrorKind::Unsupported.into()),
            // Crafted frames arrive as UDP.
            _ => self.datagrams.change(group, self.index, joins),
        }
    }

    /// The descriptor to poll for frames to groups by UDP; exists once such a group was joined.
    pub fn group_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.datagrams.group_socket().map(AsFd::as_fd)
    }

    /// The descriptors to poll: readable when there is something to receive.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let raw = self.raw.iter().flat_map(raw::RawInput::sockets);
        self.datagrams.sockets().chain(raw).map(AsFd::as_fd)
    }

    fn counters(&mut self) -> Counters {
        self.counters.dropped += self.raw.as_ref().map_or(0, raw::RawInput::dropped);
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use towpath_clic::frame::HEADER_BYTES;

    /// Counts frames.
    struct Count(usize);

    impl Arrivals for Count {
        fn predict(&mut self, _: &mut Places) {}
        fn take(&mut self, _: &HeaderBytes, _: *const u8, _: usize) {
            self.0 += 1;
        }
    }

    #[test]
    fn frames_go_by_udp_where_the_kernel_cuts_no_crafted_ones() {
        let interface = interfaces(Some("lo")).remove(0);
        let [mut one, mut other] =
            [(); 2].map(|()| Port::open(&interface, None, RawSide::Small).unwrap());
        let Some(raw) = &mut one.output.raw else {
            println!("skipped: {:?}", one.without_raw());
            return;
        };
        // A GSO type that no kernel supports.
        raw.crafter.cut = Some(77);
        let way = one.way_by(&other.address(), Carrier::Raw, Carrier::Crafted);
        let body = [7; 1000];
        let frames =
            [OutgoingFrame { header: [0; HEADER_BYTES], body: body.as_ptr(), length: body.len() };
                5];
        // SAFETY: the bodies outlive the calls.
        unsafe {
            assert_eq!(one.output.send_bulk(&way, &frames), 5);
            assert_eq!(one.output.send_train(&way, &frames[..3]), 3);
        }
        let (mut bulk, mut small, begin) = (Count(0), 0, Instant::now());
        while (bulk.0, small) != (5, 3) {
            other.receive_bulk(1, &mut bulk);
            other.receive(1, &mut |_| small += 1);
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "{} and {small} frames came",
                bulk.0
            );
        }
        assert_eq!(one.counters().unsent, 0);
    }
}
