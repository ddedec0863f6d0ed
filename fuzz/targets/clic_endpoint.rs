//! A whole endpoint that receives arbitrary frames from a peer that knows the job's key. It must
//! neither panic nor access freed memory, and must keep no more data than its bounds allow.

#![no_main]

use libfuzzer_sys::fuzz_target;
use towpath_clic::frame::{HEADER_BYTES, right_check};
use towpath_clic::key::FrameKey;
use towpath_clic::multicast::MulticastGroup;
use towpath_clic::peer::Own;
use towpath_clic::rails::RailLink;
use towpath_clic::region::RegionName;
use towpath_clic::{FrameBody, PeerCard, Endpoint, Io, MessagePart, Settings, credit};

const KEY: FrameKey = FrameKey([1, 2]);
const REGION: u64 = 5_000;

#[derive(Default)]
struct Ends {
    region_lives: bool,
    message_lives: bool,
}

impl Io for Ends {
    fn send(&mut self, _to: u32, _rail: u8, _header: &[u8; HEADER_BYTES], body: FrameBody<'_>) -> bool {
        match body {
            FrameBody::Own(bytes) => assert!(bytes.len() <= 32),
            FrameBody::Message { offset, length, .. } => {
                assert!(self.message_lives && offset as usize + usize::from(length) <= 100);
            }
            FrameBody::Region { offset, length, .. } => {
                assert!(self.region_lives && offset + u64::from(length) <= REGION);
            }
        }
        true
    }
    fn broadcast(&mut self, _group: u32, _header: &[u8; HEADER_BYTES], _body: FrameBody<'_>) -> bool {
        true
    }
    fn message(&mut self, _from: u32, part: MessagePart<'_>) {
        assert!(part.offset as usize + part.bytes.len() <= part.total as usize);
    }
    fn sent(&mut self, _to: u32, _buffer: u64) {
        assert!(std::mem::take(&mut self.message_lives));
    }
    fn bulk(&mut self, _from: u32, _token: u64, offset: u64, bytes: &[u8]) {
        assert!(offset + bytes.len() as u64 <= 100_000);
    }
    fn pulled(&mut self, _from: u32, _token: u64) {}
    fn released(&mut self, _to: u32, _token: u64) {
        assert!(std::mem::take(&mut self.region_lives));
    }
    fn broadcast_part(&mut self, _group: u32, _token: u64, offset: u32, bytes: &[u8]) {
        assert!(bytes.is_empty() || offset as usize + bytes.len() <= 9_000);
    }
    fn broadcast_done(&mut self, _group: u32, _token: u64, _length: u32) {}
    fn broadcast_sent(&mut self, _group: u32, _buffer: u64) {}
    fn lost(&mut self, _peer: u32) {
        *self = Ends::default();
    }
}

// The input is a sequence of frames: one byte of time, one byte of length, the bytes.
fuzz_target!(|input: &[u8]| {
    let own = Own { key: KEY, rank: 0, endpoint: 7, incarnation: 1 };
    let mut endpoint = Endpoint::new(own, Settings::default());
    let links = vec![RailLink { payload: 1468, speed: 0 }; 2];
    endpoint.add(&PeerCard { rank: 1, endpoint: 8, incarnation: Some(1), links });
    endpoint.add_member(MulticastGroup { number: 3, session: 4, root: 1, chunk: 16 }, false);
    let mut ends = Ends { region_lives: true, message_lives: true };
    let ends = &mut ends;
    endpoint.publish(1, 50, REGION);
    let _ = endpoint.send(0, 1, 60, 100, ends);
    endpoint.pull(0, 1, RegionName { slot: 0, generation: 0, length: 100_000 }, 70, 100_000, ends);
    endpoint.expect(0, (1, 3), 80, 9_000, ends);
    let session = endpoint.peer(1).and_then(|peer| peer.session()).expect("both lives are known");
    let (mut now, mut rest) = (0, input);
    while let [time, length, more @ ..] = rest {
        let length = usize::from(*length).min(more.len());
        let (frame, behind) = more.split_at(length);
        (now, rest) = (now + u64::from(*time) * 50_000, behind);
        let mut frame = frame.to_vec();
        if frame.len() >= HEADER_BYTES {
            // Correct the fields that every frame of this peer has right. The sequence number is
            // relative to the begin of the stream.
            frame[8..12].copy_from_slice(&1u32.to_le_bytes());
            frame[12..14].copy_from_slice(&7u16.to_le_bytes());
            if frame[18] & 1 == 0 {
                frame[18..20].copy_from_slice(&session.number.to_le_bytes());
            }
            if frame[1] & 1 == 0 {
                let number = session.incoming.wrapping_add(u32::from(frame[0]));
                frame[0..4].copy_from_slice(&number.to_le_bytes());
            }
            let acknowledged = session.outgoing.wrapping_add(u32::from(frame[20]) & 3);
            frame[20..24].copy_from_slice(&acknowledged.to_le_bytes());
            if let Some(check) = right_check(&KEY, &frame) {
                frame[4..8].copy_from_slice(&check.to_le_bytes());
            }
        }
        endpoint.arrived(now, time & 1, &frame, ends);
        endpoint.tick(now, ends);
        assert!(endpoint.peer(1).is_some_and(|peer| peer.kept_bytes() <= Settings::default().early_bytes));
        assert!(endpoint.credits().used() <= credit::CEILING);
    }
});
