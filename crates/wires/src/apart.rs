//! Coordination of the two wires, CLIC and TCP, to the same peer. Regions that are sent over TCP
//! are requested by a CLIC message, which arrives sooner than one over the connection. A peer is
//! reported lost only when both wires no longer access its memory.

use towpath_base::ids::PeerIndex;

use super::Route;
use towpath_clic_wire::Clic;
use towpath_tcp::{ASK_BYTES, PullRequest};
use towpath_transport::{Header, MessageWire, Sink};

/// The protocol number of region requests.
const ASK: u8 = u8::MAX;

/// Requests a region from the peer at `index`; false if no frame can be sent now.
pub(super) fn ask(clic: &mut Clic, index: u32, ask: &PullRequest) -> bool {
    let (header, bytes) = (Header { protocol: ASK, words: [0; 2] }, ask.to_bytes());
    let fill = |into: *mut u8| {
        // SAFETY: `into` has room for `bytes.len()` bytes, the length that `copied` is called with.
        unsafe { into.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    };
    clic.copied(index as usize, &header, bytes.len(), fill).is_ok()
}

/// Forwards what a wire reports, except what the engine must not receive, or not yet: requests of
/// peers for a region, and the loss of peers that another wire reaches too. As long as that wire
/// may still write to the targets of pulls or read from published regions, the loss must not be
/// reported.
pub(super) struct Apart<'a, S> {
    pub(super) sink: &'a mut S,
    pub(super) routes: &'a [Route],
    pub(super) parting: &'a mut Vec<PeerIndex>,
    pub(super) asked: &'a mut Vec<(PeerIndex, PullRequest)>,
}

impl<S: Sink> Sink for Apart<'_, S> {
    #[inline]
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        if header.protocol != ASK {
            return self.sink.arrived(from, header, payload, length);
        }
        if length == ASK_BYTES {
            // SAFETY: `payload` is readable for `length` bytes, which is `ASK_BYTES`.
            let bytes = unsafe { payload.cast::<[u8; ASK_BYTES]>().read_unaligned() };
            self.asked.extend(PullRequest::of(&bytes).map(|ask| (from, ask)));
        }
    }
    fn released(&mut self, token: u64) {
        self.sink.released(token);
    }
    fn pulled(&mut self, token: u64) {
        self.sink.pulled(token);
    }
    fn lost(&mut self, peer: PeerIndex) {
        match self.routes.get(peer.slot()) {
            Some(Route::Clic { line: Some(_), .. }) => self.parting.push(peer),
            _ => self.sink.lost(peer),
        }
    }
    fn left(&mut self, peer: PeerIndex) {
        match self.routes.get(peer.slot()) {
            Some(Route::Clic { line: Some(_), .. }) => self.parting.push(peer),
            _ => self.sink.left(peer),
        }
    }
}
