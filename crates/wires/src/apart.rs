//! What two wires to the same peer have to do with each other. Regions that a connection carries
//! are asked for by a frame, which is there sooner than what goes through the connection; and a
//! peer is lost when both wires have let go of its memory.

use towpath_base::ids::PeerIndex;

use super::Route;
use towpath_clic_wire::Clic;
use towpath_tcp::{ASK_BYTES, Ask};
use towpath_transport::{Header, Sink};

/// The protocol of such messages.
const ASK: u8 = u8::MAX;

/// Asks the peer at this place for a region; false when no frame goes out now.
pub(super) fn ask(clic: &mut Clic, place: u32, ask: &Ask) -> bool {
    let (header, bytes) = (Header { protocol: ASK, words: [0; 2] }, ask.to_bytes());
    let fill = |into: *mut u8| {
        // SAFETY: the wire has room for so many bytes.
        unsafe { into.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    };
    clic.copied(place as usize, &header, bytes.len(), fill).is_ok()
}

/// Hands on what a wire reports, but for what the engine does not hear, or not yet: that a peer
/// asks for a region, and the loss of peers that another wire leads to as well. As long as that one
/// may still write to their targets or take from their regions, nobody may hear of it.
pub(super) struct Apart<'a, S> {
    pub(super) sink: &'a mut S,
    pub(super) routes: &'a [Route],
    pub(super) parting: &'a mut Vec<PeerIndex>,
    pub(super) asked: &'a mut Vec<(PeerIndex, Ask)>,
}

impl<S: Sink> Sink for Apart<'_, S> {
    #[inline]
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        if header.protocol != ASK {
            return self.sink.arrived(from, header, payload, length);
        }
        if length == ASK_BYTES {
            // SAFETY: the wire lends so many bytes.
            let bytes = unsafe { payload.cast::<[u8; ASK_BYTES]>().read_unaligned() };
            self.asked.extend(Ask::of(&bytes).map(|ask| (from, ask)));
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
