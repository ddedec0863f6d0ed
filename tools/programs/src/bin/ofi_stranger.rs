//! A stranger on a fabric that knows everything about a job except its key: for
//! `tests/hosts/strangers.py`.
//!
//! ```text
//! ofi_stranger SECONDS ADDRESS:PORT...
//! ```
//!
//! To each of these ports, it sends messages of all lengths through libfabric
//! (`TOWPATH_OFI_PROVIDER`, `TOWPATH_LIBFABRIC`), as rank 0 and as rank 1 of the job, authenticated
//! with another key. It prints one line of JSON: how many messages the provider has accepted, from
//! how many of these senders some have arrived, and how often a process of the job has answered.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use towpath_base::ids::PeerIndex;
use towpath_machine::network::networks;
use towpath_ofi::{
    BoundEndpoint, COPIED_LIMIT, FabricKey, Ofi, OfiContact, ProviderChoice, choose,
};
use towpath_transport::{Header, MessageWire, Sink, Wire};

/// Lengths of messages in bytes.
const LENGTHS: [usize; 4] = [0, 40, 1000, COPIED_LIMIT];

/// Maximum number of messages in flight to one process. If more were accepted, some have arrived.
const UNDER_WAY: u64 = 64;

/// What was sent, and what came back.
#[derive(Default)]
struct Answers {
    sent: u64,
    messages: u64,
    lost: u64,
}

impl Sink for Answers {
    fn arrived(&mut self, _from: PeerIndex, _header: &Header, _payload: *const u8, _length: usize) {
        self.messages += 1;
    }
    fn released(&mut self, _token: u64) {
        self.messages += 1;
    }
    fn pulled(&mut self, _token: u64) {
        self.messages += 1;
    }
    fn lost(&mut self, _peer: PeerIndex) {
        self.lost += 1;
    }
}

/// An address in the format of libfabric's sockets-based providers (`sockaddr_in`).
fn as_provider(place: SocketAddr) -> Vec<u8> {
    let SocketAddr::V4(place) = place else {
        panic!("the test hosts have addresses of four bytes")
    };
    let family = (libc::AF_INET as u16).to_ne_bytes();
    [&family[..], &place.port().to_be_bytes(), &place.ip().octets(), &[0; 8]].concat()
}

/// A process with another key that claims to be `rank` and sends to the other rank at `place`.
fn pretender(choice: &ProviderChoice, rank: u32, place: SocketAddr) -> Ofi {
    let port =
        BoundEndpoint::open(choice, FabricKey::of_secret(b"another"), 1).expect("an endpoint");
    let contact = OfiContact { peer: PeerIndex(1 - rank), address: as_provider(place) };
    Ofi::new(port, PeerIndex(rank), vec![contact]).expect("memory for arrivals")
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds: f64 = words[0].parse().expect("seconds");
    let places: Vec<SocketAddr> =
        words[1..].iter().map(|word| word.parse().expect("an address and a port")).collect();
    let choice = choose(&networks(None)).expect("libfabric").expect("a provider");
    let each = places.iter().flat_map(|place| [0, 1].map(|rank| pretender(&choice, rank, *place)));
    let mut wires: Vec<(Ofi, Answers)> = each.map(|wire| (wire, Answers::default())).collect();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    for round in 0u64.. {
        if Instant::now() >= end {
            break;
        }
        for (wire, answers) in &mut wires {
            // Protocol numbers that the engine uses, and some that it does not use.
            let header = Header { protocol: (round % 16) as u8, words: [round, !round] };
            let length = LENGTHS[(round % 4) as usize];
            if answers.lost == 0 {
                // SAFETY: the wire lends `length` bytes at `slot`.
                let filled = wire
                    .copied(0, &header, length, |slot| unsafe { slot.write_bytes(0x5a, length) });
                answers.sent += u64::from(filled.is_ok());
            }
            wire.progress(answers);
        }
    }
    let sent: u64 = wires.iter().map(|(_, answers)| answers.sent).sum();
    let heard = wires.iter().filter(|(_, answers)| answers.sent > UNDER_WAY).count();
    let answered: u64 = wires.iter().map(|(_, answers)| answers.messages).sum();
    let problems = if answered > 0 {
        format!("\"a stranger was answered {answered} times\"")
    } else {
        String::new()
    };
    println!("{{\"sent\": {sent}, \"seen\": {heard}, \"problems\": [{problems}]}}");
    // Exit without closing the endpoints: what is pending in them is never sent.
    std::process::exit(0);
}
