//! Layout of the shared segment's head and of the control page of each rank, through which the
//! processes of one host learn each other's state.
//!
//! A page is written by the rank that owns it, except for words that peers set (`sleep`,
//! `doorbell`), and read by its peers, by `mpiexec` and by `towpath info`. The segment is one
//! sparse memory file per job and host: a [`SegmentHead`] page, then one [`ControlPage`] per local
//! rank, then the memory of the shared-memory transport. Every field has a fixed offset; the tests
//! below check most of them.

use crate::sync::{AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

/// Page size of the segment in bytes, and the stride of the control pages.
pub const PAGE: usize = 4096;

/// Marks a segment of this layout: "towpath1" in little-endian bytes.
pub const MAGIC: u64 = u64::from_le_bytes(*b"towpath1");

/// First page of the segment, written by its creator (this job's mpiexec, or the first local rank).
#[repr(C)]
pub struct SegmentHead {
    /// [`MAGIC`]; the creator writes it last.
    pub magic: AtomicU64,
    /// Random number of the job, which tells its segment from those of other jobs.
    pub nonce: AtomicU64,
    /// Number of ranks on this host.
    pub local_ranks: AtomicU32,
    /// Number of local ranks that have mapped the segment.
    pub attached: AtomicU32,
    /// Number of local ranks that have finalized.
    pub finalized: AtomicU32,
    /// 1 once a process ends the job early; waiting ranks then leave their loops.
    pub aborting: AtomicU32,
    /// Number of ranks that have added their affinity mask to `affinity`.
    pub affinities: AtomicU32,
    /// Number of ranks that sleep or are about to. If it is 0, a poster with many readers need not
    /// check their pages.
    pub sleepers: AtomicU32,
    /// Number of ranks that have set [`ControlPage::wake_fence`]. If it is not 0, a poster with
    /// many readers issues a full fence.
    pub wake_fences: AtomicU32,
    /// Until the clock of `machine::wait` reaches this value, there is external load on the ranks'
    /// cores. Oversubscribed ranks then sleep at once instead of yielding.
    pub external_load_until: AtomicU64,
    /// Duration for which external load was last announced, in ticks of the same clock.
    pub external_load_hold: AtomicU64,
    /// Union of the ranks' affinity masks, one bit per logical processor.
    pub affinity: [AtomicU64; 16],
    /// If ranks share cores: for each logical processor, the number of ranks that were last seen
    /// waiting on it without sleeping.
    pub crowds: [AtomicU16; 1024],
    /// Number of ranks that barriers of other processes (`membarrier`) do not reach, because the
    /// kernel or a sandbox refused to register them.
    pub unregistered: AtomicU32,
    /// Nonzero once a rank has told the user that it waits for a receiver to free buffer space.
    pub told_of_wait: AtomicU32,
}

/// State of a rank, as published on its control page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RankState {
    /// Has not called MPI_Init yet.
    Starting = 0,
    /// Between MPI_Init and MPI_Finalize.
    Running = 1,
    /// Has called MPI_Finalize (or ended its last session).
    Finalized = 2,
    /// Has called MPI_Abort.
    Aborted = 3,
}

/// Control page of a local rank.
#[repr(C)]
pub struct ControlPage {
    /// PID of the owner; 0 until it has attached.
    pub pid: AtomicU32,
    /// A [`RankState`].
    pub state: AtomicU32,
    /// Number of the MPI function that the rank is in or was in last (index into the generated
    /// table of names); 0 if none.
    pub last_call: AtomicU32,
    /// 1 while the rank is inside this function.
    pub in_call: AtomicU32,
    /// Rank that the blocked call waits for, see [`BlockedCall`].
    blocked_peer: AtomicI32,
    /// Tag that the blocked call waits for.
    blocked_tag: AtomicI32,
    /// Number of the blocked MPI function.
    blocked_call: AtomicU32,
    /// An [`Awaited`].
    blocked_for: AtomicU32,
    /// Time at which the call blocked, in nanoseconds of the host's monotonic clock; 0 if no call
    /// is blocked. Written last.
    blocked_since: AtomicU64,
    padding: [u8; 24],
    /// Futex word: 0 while the owner is awake, 1 if it sleeps or is about to sleep on this word, 2
    /// if on its bell. A poster that reads a value other than 0 stores 0 and wakes the owner. On a
    /// cache line of its own.
    pub sleep: AtomicU32,
    /// 1 if a poster must issue a full fence between publishing its message and reading `sleep`,
    /// because the owner does not issue a barrier in other processes before it sleeps. Set by the
    /// owner before it first sleeps.
    pub wake_fence: AtomicU32,
    /// Number of the owner's doorbell (see `machine::wait::Bell`); 0 if it has none.
    pub bell: AtomicU32,
    /// Port at which processes of other hosts reach the owner; 0 if none.
    pub port: AtomicU32,
    /// Addresses at which processes of other hosts reach the owner, one for each of up to four
    /// interfaces, encoded by the transport.
    pub interfaces: [AtomicU32; 4],
    padding_of_sleep: [u8; 32],
    /// Doorbell bits, one per possible local sender (2048). A sender whose header slot is full sets
    /// its bit; the owner clears it.
    pub doorbell: [AtomicU64; 32],
    /// The ring that the owner has granted to each local sender, encoded by
    /// [`ChannelShare::encode`]. Written by the owner for `towpath info --channel`.
    pub channel: [AtomicU8; 2048],
    /// How the owner reaches other hosts: lines of text, terminated by a zero byte. Written for
    /// `towpath info --routes`.
    pub routes: [AtomicU8; 1024],
    /// Description of the blocked call's communicator, terminated by a zero byte if shorter than
    /// the array.
    blocked_communicator: [AtomicU8; COMMUNICATOR],
    /// The collective call that the blocked call waits for.
    blocked_place: [AtomicU64; PLACE],
}

/// Maximum length of a communicator's description in bytes: a name of MPI_MAX_OBJECT_NAME and its
/// quotes.
pub const COMMUNICATOR: usize = 136;

/// Words that describe a collective call (`towpath_collective::order`).
pub const PLACE: usize = 5;

/// What a blocked call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Awaited {
    /// Anything else; only the name of the call tells.
    Other = 0,
    /// A message from a peer.
    Receive = 1,
    /// The completion of a send to a peer.
    Send = 2,
    /// The other members of a communicator in a collective call.
    Members = 3,
    /// A receive request.
    ReceiveRequest = 4,
    /// A send request.
    SendRequest = 5,
    /// A request of a collective operation.
    CollectiveRequest = 6,
    /// A generalized request, which the program itself completes.
    GeneralizedRequest = 7,
}

/// A blocked call, as published on the control page of its rank. Nothing in it is validated, so a
/// reader must not trust it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockedCall {
    /// Number of the MPI function.
    pub call: u32,
    /// An [`Awaited`].
    pub awaited: u32,
    /// Rank in the communicator; -1 means any.
    pub peer: i32,
    /// Tag; -1 means any.
    pub tag: i32,
    /// Description of the communicator; empty if unknown.
    pub communicator: Vec<u8>,
    /// The collective call that it waits for; zeros if none.
    pub place: [u64; PLACE],
    /// Time at which the call blocked, in nanoseconds of the host's monotonic clock.
    pub since: u64,
}

/// The ring that a receiver provides for a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelShare {
    /// Size in pages, at most 127; 0 means no ring, so the pair uses its header slot.
    pub pages: u8,
    /// True if a topology declares the pair; false if the pair was found to be hot.
    pub declared: bool,
}

impl ChannelShare {
    /// A ring of `bytes` bytes.
    pub fn of(bytes: usize, declared: bool) -> ChannelShare {
        ChannelShare { pages: (bytes / PAGE).min(127) as u8, declared }
    }

    /// Encodes the share as a byte of [`ControlPage::channel`].
    pub fn encode(self) -> u8 {
        self.pages | u8::from(self.declared) << 7
    }

    /// Decodes a byte of [`ControlPage::channel`].
    pub fn decode(byte: u8) -> ChannelShare {
        ChannelShare { pages: byte & 127, declared: byte >> 7 == 1 }
    }

    /// Size of the ring in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.pages) * PAGE as u64
    }
}

impl ControlPage {
    /// Publishes a state.
    pub fn set_state(&self, state: RankState) {
        self.state.store(state as u32, Ordering::Release);
    }

    /// Publishes a blocked call. Only the owner of the page may call it, and only while no call is
    /// published. Truncates the communicator's description to [`COMMUNICATOR`] bytes.
    pub fn publish_blocked(&self, blocked: &BlockedCall) {
        // The withdrawal of the previous call must become visible before the stores below.
        fence(Ordering::Release);
        self.blocked_call.store(blocked.call, Ordering::Relaxed);
        self.blocked_for.store(blocked.awaited, Ordering::Relaxed);
        self.blocked_peer.store(blocked.peer, Ordering::Relaxed);
        self.blocked_tag.store(blocked.tag, Ordering::Relaxed);
        let bytes = blocked.communicator.iter().take(COMMUNICATOR).chain([&0]);
        for (place, &byte) in self.blocked_communicator.iter().zip(bytes) {
            place.store(byte, Ordering::Relaxed);
        }
        for (place, word) in self.blocked_place.iter().zip(blocked.place) {
            place.store(word, Ordering::Relaxed);
        }
        self.blocked_since.store(blocked.since, Ordering::Release);
    }

    /// Withdraws the published call.
    pub fn withdraw_blocked(&self) {
        self.blocked_since.store(0, Ordering::Relaxed);
    }

    /// Returns the published blocked call. Returns `None` if there is none, or if one is published
    /// or withdrawn during the read.
    pub fn blocked(&self) -> Option<BlockedCall> {
        let since = self.blocked_since.load(Ordering::Acquire);
        if since == 0 {
            return None;
        }
        let bytes = self.blocked_communicator.iter().map(|place| place.load(Ordering::Relaxed));
        let blocked = BlockedCall {
            call: self.blocked_call.load(Ordering::Relaxed),
            awaited: self.blocked_for.load(Ordering::Relaxed),
            peer: self.blocked_peer.load(Ordering::Relaxed),
            tag: self.blocked_tag.load(Ordering::Relaxed),
            communicator: bytes.take_while(|&byte| byte != 0).collect(),
            place: std::array::from_fn(|word| self.blocked_place[word].load(Ordering::Relaxed)),
            since,
        };
        fence(Ordering::Acquire);
        (self.blocked_since.load(Ordering::Relaxed) == since).then_some(blocked)
    }
}

/// Offset of the control page of a local rank in the segment, in bytes.
pub const fn control_page_offset(local_rank: usize) -> usize {
    PAGE * (1 + local_rank)
}

/// Offset of the first byte after the control pages.
pub const fn behind_control_pages(local_ranks: usize) -> usize {
    PAGE * (1 + local_ranks)
}

/// Size in bytes of the table of header slots that the transport lays out after the control pages:
/// one cache line per ordered pair.
pub const fn slot_table_bytes(local_ranks: usize) -> usize {
    64 * local_ranks * local_ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn a_share_survives_its_byte() {
        for share in [
            ChannelShare::of(0, false),
            ChannelShare::of(72 * 1024, true),
            ChannelShare::of(1 << 30, false),
        ] {
            assert_eq!(ChannelShare::decode(share.encode()), share);
        }
        assert_eq!(ChannelShare::of(72 * 1024, true).bytes(), 72 * 1024);
    }

    #[test]
    fn a_blocked_call_is_seen_while_it_is_published() {
        // SAFETY: all fields are integers, for which zero is a valid value.
        let page: ControlPage = unsafe { std::mem::zeroed() };
        assert_eq!(page.blocked(), None);
        for communicator in [b"MPI_COMM_WORLD".to_vec(), vec![b'x'; COMMUNICATOR], b"row".to_vec()]
        {
            let (peer, place) = (3, [1, 2, 3, 4, 5]);
            let blocked =
                BlockedCall { call: 7, awaited: 1, peer, tag: -1, communicator, place, since: 99 };
            page.publish_blocked(&blocked);
            assert_eq!(page.blocked(), Some(blocked));
            page.withdraw_blocked();
            assert_eq!(page.blocked(), None);
        }
    }

    #[test]
    fn fields_lie_where_other_programs_look_for_them() {
        assert_eq!(offset_of!(SegmentHead, magic), 0);
        assert_eq!(offset_of!(SegmentHead, nonce), 8);
        assert_eq!(offset_of!(SegmentHead, local_ranks), 16);
        assert_eq!(offset_of!(SegmentHead, attached), 20);
        assert_eq!(offset_of!(SegmentHead, aborting), 28);
        assert_eq!(offset_of!(SegmentHead, affinities), 32);
        assert_eq!(offset_of!(SegmentHead, sleepers), 36);
        assert_eq!(offset_of!(SegmentHead, wake_fences), 40);
        assert_eq!(offset_of!(SegmentHead, external_load_until), 48);
        assert_eq!(offset_of!(SegmentHead, affinity), 64);
        assert_eq!(offset_of!(SegmentHead, crowds), 192);
        assert_eq!(offset_of!(SegmentHead, unregistered), 2240);
        assert_eq!(offset_of!(ControlPage, pid), 0);
        assert_eq!(offset_of!(ControlPage, state), 4);
        assert_eq!(offset_of!(ControlPage, last_call), 8);
        assert_eq!(offset_of!(ControlPage, blocked_since), 32);
        assert_eq!(offset_of!(ControlPage, sleep), 64);
        assert_eq!(offset_of!(ControlPage, wake_fence), 68);
        assert_eq!(offset_of!(ControlPage, bell), 72);
        assert_eq!(offset_of!(ControlPage, port), 76);
        assert_eq!(offset_of!(ControlPage, doorbell), 128);
        assert_eq!(offset_of!(ControlPage, interfaces), 80);
        assert_eq!(offset_of!(ControlPage, channel), 384);
        assert_eq!(offset_of!(ControlPage, routes), 2432);
        assert_eq!(offset_of!(ControlPage, blocked_communicator), 3456);
        assert_eq!(offset_of!(ControlPage, blocked_place), 3592);
        assert!(size_of::<ControlPage>() <= PAGE && size_of::<SegmentHead>() <= PAGE);
    }
}
