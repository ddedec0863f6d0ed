//! A peer that was never named counts as lost: messages to it are dropped, and the loss is
//! reported.

#[allow(dead_code)]
mod machine;

use machine::wires;
use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};
use towpath_shm::Settings;
use towpath_transport::{Header, MessageWire, RegionWire, Sink, Wire};

const NOBODY: PeerIndex = PeerIndex(7);

#[derive(Default)]
struct Inbox {
    lost: Vec<PeerIndex>,
}

impl Sink for Inbox {
    fn arrived(&mut self, from: PeerIndex, _: &Header, _: *const u8, _: usize) {
        panic!("a message of {from:?}");
    }
    fn released(&mut self, _: u64) {}
    fn pulled(&mut self, _: u64) {}
    fn lost(&mut self, peer: PeerIndex) {
        self.lost.push(peer);
    }
}

#[test]
fn what_goes_to_an_unnamed_peer_is_lost() {
    let mut wire = wires(1, Settings::default()).remove(0);
    let header = Header { protocol: 1, words: [0; 2] };
    let mut bytes = [1u8; 64];
    let (pointer, length) = (bytes.as_mut_ptr(), bytes.len());
    let lost = |wire: &mut towpath_wires::Wires| {
        let mut inbox = Inbox::default();
        wire.progress(&mut inbox);
        inbox.lost
    };
    assert!(wire.copied_limit(NOBODY) > 0);
    // SAFETY: `bytes` has 64 bytes and lives as long as the wire is used.
    assert_eq!(unsafe { wire.short(NOBODY, &header, pointer, 8) }, Ok(()));
    assert_eq!(lost(&mut wire), [NOBODY]);
    assert_eq!(wire.copied(NOBODY, &header, 64, |_| panic!("nobody reads it")), Ok(()));
    assert_eq!(lost(&mut wire), [NOBODY]);
    // SAFETY: `bytes` has 64 bytes and lives as long as the wire is used.
    let key = unsafe { wire.publish(NOBODY, 1, Source::Bytes { pointer, length }) };
    assert_eq!(lost(&mut wire), [NOBODY]);
    assert!(wire.withdraw(NOBODY, key));
    // SAFETY: `bytes` has 64 bytes and lives as long as the wire is used.
    unsafe { wire.pull(NOBODY, key, 2, Target::Bytes { pointer, length }) };
    assert_eq!(lost(&mut wire), [NOBODY]);
    wire.mark_lost(NOBODY);
    assert_eq!(lost(&mut wire), []);
    assert!(wire.make_board(&[PeerIndex(0), NOBODY], None).is_none());
    assert!(!wire.busy());
}
