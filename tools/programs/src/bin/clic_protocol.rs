//! Measures the time that CLIC's protocol takes for a small message, without I/O: two endpoints in
//! one process pass each other their frames.
//!
//! `cargo run --release -p towpath-programs --bin clic_protocol`

use std::time::Instant;
use towpath_clic::key::FrameKey;
use towpath_clic::peer::Own;
use towpath_clic::rails::RailLink;
use towpath_clic::*;
struct Out {
    frames: Vec<Vec<u8>>,
    got: u64,
    sent: u64,
}
impl Io for Out {
    fn send(&mut self, _to: u32, _rail: u8, header: &[u8; 32], body: FrameBody<'_>) -> bool {
        let mut f = header.to_vec();
        match body {
            FrameBody::Own(b) => f.extend_from_slice(b),
            FrameBody::Message { length, .. } | FrameBody::Region { length, .. } => {
                f.resize(32 + length as usize, 0)
            }
        }
        self.frames.push(f);
        true
    }
    fn broadcast(&mut self, _g: u32, _h: &[u8; 32], _b: FrameBody<'_>) -> bool {
        true
    }
    fn message(&mut self, _from: u32, _part: MessagePart<'_>) {
        self.got += 1
    }
    fn sent(&mut self, _to: u32, _b: u64) {
        self.sent += 1
    }
    fn bulk(&mut self, _: u32, _: u64, _: u64, _: &[u8]) {}
    fn pulled(&mut self, _: u32, _: u64) {}
    fn released(&mut self, _: u32, _: u64) {}
    fn broadcast_part(&mut self, _: u32, _: u64, _: u32, _: &[u8]) {}
    fn broadcast_done(&mut self, _: u32, _: u64, _: u32) {}
    fn broadcast_sent(&mut self, _: u32, _: u64) {}
    fn lost(&mut self, _: u32) {}
}
fn main() {
    let own = |rank| Own { key: FrameKey([1, 2]), rank, endpoint: 5 + rank as u16, incarnation: 1 };
    let card = |rank| PeerCard {
        rank,
        endpoint: 5 + rank as u16,
        incarnation: Some(1),
        links: vec![RailLink { payload: 1468, speed: 0 }],
    };
    let mut ends = [
        Endpoint::new(own(0), Settings { silence: None, ..Settings::default() }),
        Endpoint::new(own(1), Settings { silence: None, ..Settings::default() }),
    ];
    ends[0].add(&card(1));
    ends[1].add(&card(0));
    let mut out = Out { frames: vec![], got: 0, sent: 0 };
    let begin = Instant::now();
    let n = 1_000_000u64;
    for i in 0..n {
        let (a, b) = ((i % 2) as usize, ((i + 1) % 2) as usize);
        let now = begin.elapsed().as_nanos() as u64;
        ends[a].send(now, b as u32, i, 18, &mut out).unwrap();
        let frames = std::mem::take(&mut out.frames);
        for f in &frames {
            ends[b].arrived(begin.elapsed().as_nanos() as u64, 0, f, &mut out);
        }
        let late = std::mem::take(&mut out.frames);
        for f in &late {
            ends[a].arrived(begin.elapsed().as_nanos() as u64, 0, f, &mut out);
        }
    }
    println!("{} ns a message, {} got", begin.elapsed().as_nanos() as u64 / n, out.got);
}
