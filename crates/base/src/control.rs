//! The head of the shared segment and the control page of each rank: what processes of one host
//! know of each other.
//!
//! Written by the rank that owns the page (sleep word aside), read by its peers, by `mpiexec` and
//! by `towpath info`. The segment is one sparse memory file per job and host: a [`SegmentHead`]
//! page, then one [`ControlPage`] per local rank, then what the shared-memory transport lays out
//! for itself. Every field is at a fixed offset, asserted below.

use crate::sync::{AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

/// Size of a page of the segment in bytes; also the stride of the control pages.
pub const PAGE: usize = 4096;

/// Marks a segment of this layout ("towpath1" read as bytes).
pub const MAGIC: u64 = u64::from_le_bytes(*b"towpath1");

/// First page of the segment, written by whoever made it (own mpiexec, or the first local rank).
#[repr(C)]
pub struct SegmentHead {
    /// [`MAGIC`], written last by the maker.
    pub magic: AtomicU64,
    /// Random number of the job: processes of another job never agree on it.
    pub nonce: AtomicU64,
    /// How many ranks this host has.
    pub local_ranks: AtomicU32,
    /// How many local ranks have mapped the segment (the start-up barrier without messages).
    pub attached: AtomicU32,
    /// How many have finalised.
    pub finalized: AtomicU32,
    /// Set to 1 by whoever ends the job early: waiting ranks leave their loops.
    pub aborting: AtomicU32,
    /// Logical processors that the local ranks may use together (union of their affinity masks cut
    /// by the cgroup quota), as far as they have said so.
    pub allowed_cores: AtomicU32,
    /// How many ranks have added their affinity mask to `affinity`.
    pub affinities: AtomicU32,
    /// How many ranks sleep or are about to: a poster for many readers that reads 0 need not look
    /// at their pages.
    pub sleepers: AtomicU32,
    /// How many ranks have [`ControlPage::wake_fence`] set: a poster for many readers fences when
    /// it is not 0.
    pub wake_fences: AtomicU32,
    /// While the clock of `machine::wait` shows less than this, a stranger shares the cores of
    /// ranks that share cores too: they sleep at once instead of yielding.
    pub stranger_until: AtomicU64,
    /// For how long that was said the last time.
    pub stranger_hold: AtomicU64,
    /// Union of the affinity masks of the ranks, one bit per logical processor.
    pub affinity: [AtomicU64; 16],
    /// Where ranks share cores: how many of those that wait without sleeping were last seen on each
    /// logical processor.
    pub crowds: [AtomicU16; 1024],
    /// How many ranks no barrier of other processes reaches, because the kernel or a sandbox has
    /// refused to register them.
    pub unregistered: AtomicU32,
    /// Not 0 once a rank has told the user that a receiver keeps it waiting for room.
    pub told_of_wait: AtomicU32,
}

/// State of a rank as its page shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RankState {
    /// Not yet in MPI_Init.
    Starting = 0,
    /// Between MPI_Init and MPI_Finalize.
    Running = 1,
    /// Has called MPI_Finalize (or ended its last session).
    Finalized = 2,
    /// Has called MPI_Abort.
    Aborted = 3,
}

/// One page per local rank.
#[repr(C)]
pub struct ControlPage {
    /// Process number of the owner, 0 before it has attached.
    pub pid: AtomicU32,
    /// A [`RankState`].
    pub state: AtomicU32,
    /// Number of the MPI function that the rank is in or was in last (index into the generated
    /// table of names), 0: none.
    pub last_call: AtomicU32,
    /// 1 while the rank is inside that function.
    pub in_call: AtomicU32,
    /// Rank that a blocked call waits for, see [`BlockedCall`].
    blocked_peer: AtomicI32,
    /// Tag that it waits for.
    blocked_tag: AtomicI32,
    /// Number of the blocked call.
    blocked_call: AtomicU32,
    /// A [`Awaited`].
    blocked_for: AtomicU32,
    /// Since when, in nanoseconds of the host's monotonic clock; 0: no call is blocked. Written
    /// last.
    blocked_since: AtomicU64,
    padding: [u8; 24],
    /// Futex word: not 0 while the owner sleeps or is about to, 1 on this word, 2 on its bell; a
    /// poster that reads that sets 0 and wakes. On a line of its own.
    pub sleep: AtomicU32,
    /// 1 when a poster must put a full fence between its message and its look at `sleep`, because
    /// the owner does not ask for a barrier in other processes before it sleeps. Set by the owner
    /// before it first sleeps.
    pub wake_fence: AtomicU32,
    /// Number of the owner's door-bell (see `machine::wait::Bell`), 0: it has none.
    pub bell: AtomicU32,
    /// The port at which processes of other hosts reach the owner, 0: at none.
    pub port: AtomicU32,
    /// Numbers by which processes of other hosts reach the owner on each of up to four interfaces,
    /// as the transport encodes them.
    pub interfaces: [AtomicU32; 4],
    padding_of_sleep: [u8; 32],
    /// Door-bell bits, one per possible local sender (2048): set by a sender whose header slot is
    /// full, cleared by the owner.
    pub doorbell: [AtomicU64; 32],
    /// What the owner has given each local sender, as [`ChannelShare::encode`] says it; written by
    /// the owner for people who ask (`towpath info --channel`).
    pub channel: [AtomicU8; 2048],
    /// How the owner reaches other hosts, in words, a line each, ends with 0; for people who ask
    /// (`towpath info --routes`).
    pub routes: [AtomicU8; 1024],
    /// The communicator of the blocked call, in words, ends with 0 where it is shorter.
    blocked_communicator: [AtomicU8; COMMUNICATOR],
}

/// Longest description of a communicator in bytes: a name of MPI_MAX_OBJECT_NAME and its quotes.
pub const COMMUNICATOR: usize = 136;

/// What a blocked call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Awaited {
    /// Something that only the name of the call tells.
    Other = 0,
    /// A message from a peer.
    Receive = 1,
    /// A message to a peer.
    Send = 2,
    /// The other members of a communicator in a collective call.
    Members = 3,
    /// A request that is a receive.
    ReceiveRequest = 4,
    /// A request that is a send.
    SendRequest = 5,
    /// A request that is a collective operation.
    CollectiveRequest = 6,
    /// A request that the program itself completes.
    GeneralizedRequest = 7,
}

/// A blocked call as the page of its rank shows it. Nothing in it is checked: a reader must not
/// trust it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockedCall {
    /// Number of the MPI function.
    pub call: u32,
    /// A [`Awaited`].
    pub awaited: u32,
    /// Rank in the communicator, -1: any.
    pub peer: i32,
    /// Tag, -1: any.
    pub tag: i32,
    /// The communicator in words; empty: nothing is known of it.
    pub communicator: Vec<u8>,
    /// Since when, in nanoseconds of the host's monotonic clock.
    pub since: u64,
}

/// The ring that a receiver has for a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelShare {
    /// Its size in pages, 127 for that or more; 0: no ring, the pair has its header slot.
    pub pages: u8,
    /// A topology declares the pair; else the pair was seen to be busy.
    pub declared: bool,
}

impl ChannelShare {
    /// The share of `bytes` bytes.
    pub fn of(bytes: usize, declared: bool) -> ChannelShare {
        ChannelShare { pages: (bytes / PAGE).min(127) as u8, declared }
    }

    /// As the byte in the control page.
    pub fn encode(self) -> u8 {
        self.pages | u8::from(self.declared) << 7
    }

    /// Back from the byte in the control page.
    pub fn decode(byte: u8) -> ChannelShare {
        ChannelShare { pages: byte & 127, declared: byte >> 7 == 1 }
    }

    /// Bytes of the ring.
    pub fn bytes(self) -> u64 {
        u64::from(self.pages) * PAGE as u64
    }
}

impl ControlPage {
    /// Publishes a state.
    pub fn set_state(&self, state: RankState) {
        self.state.store(state as u32, Ordering::Release);
    }

    /// Publishes a blocked call; only the owner of the page may do so, and only while none is
    /// published. What is too long of the communicator is cut off.
    pub fn publish_blocked(&self, blocked: &BlockedCall) {
        // The withdrawal of the call before must be seen before any of what follows.
        fence(Ordering::Release);
        self.blocked_call.store(blocked.call, Ordering::Relaxed);
        self.blocked_for.store(blocked.awaited, Ordering::Relaxed);
        self.blocked_peer.store(blocked.peer, Ordering::Relaxed);
        self.blocked_tag.store(blocked.tag, Ordering::Relaxed);
        let bytes = blocked.communicator.iter().take(COMMUNICATOR).chain([&0]);
        for (place, &byte) in self.blocked_communicator.iter().zip(bytes) {
            place.store(byte, Ordering::Relaxed);
        }
        self.blocked_since.store(blocked.since, Ordering::Release);
    }

    /// Says that the published call is not blocked any more.
    pub fn withdraw_blocked(&self) {
        self.blocked_since.store(0, Ordering::Relaxed);
    }

    /// The blocked call, if one is published. A call that begins or ends meanwhile counts as none.
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

/// Offset of the first byte behind all control pages.
pub const fn behind_control_pages(local_ranks: usize) -> usize {
    PAGE * (1 + local_ranks)
}

/// Bytes of the table of header slots that the transport lays out behind the control pages: a line
/// per ordered pair.
pub const fn slot_table_bytes(local_ranks: usize) -> usize {
    64 * local_ranks * local_ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn a_share_survives_its_byte() {
        for share in [ChannelShare::of(0, false), ChannelShare::of(72 * 1024, true), ChannelShare::of(1 << 30, false)] {
            assert_eq!(ChannelShare::decode(share.encode()), share);
        }
        assert_eq!(ChannelShare::of(72 * 1024, true).bytes(), 72 * 1024);
    }

    #[test]
    fn a_blocked_call_is_seen_while_it_is_published() {
        // SAFETY: all fields are integers, for which zeros are values.
        let page: ControlPage = unsafe { std::mem::zeroed() };
        assert_eq!(page.blocked(), None);
        for communicator in [b"MPI_COMM_WORLD".to_vec(), vec![b'x'; COMMUNICATOR], b"row".to_vec()] {
            let blocked = BlockedCall { call: 7, awaited: 1, peer: 3, tag: -1, communicator, since: 99 };
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
        assert_eq!(offset_of!(SegmentHead, affinities), 36);
        assert_eq!(offset_of!(SegmentHead, sleepers), 40);
        assert_eq!(offset_of!(SegmentHead, wake_fences), 44);
        assert_eq!(offset_of!(SegmentHead, stranger_until), 48);
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
        assert!(size_of::<ControlPage>() <= PAGE && size_of::<SegmentHead>() <= PAGE);
    }
}
