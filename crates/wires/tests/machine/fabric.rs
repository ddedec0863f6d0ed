//! Wires over libfabric, with the providers that need no hardware, between ranks that are nominally
//! on several hosts.

use towpath_base::ids::PeerIndex;
use towpath_machine::memory::create_file;
use towpath_machine::network::networks;
use towpath_ofi::{self as ofi, BoundEndpoint, Ofi};
use towpath_shm::{Segment, Settings};
use towpath_wires::Wires;

/// The providers that the suite runs over; none unless TOWPATH_LIBFABRIC names a library.
pub(crate) fn ofi_providers() -> Vec<&'static str> {
    let Some(library) = library() else { return Vec::new() };
    let choice = ofi::choose_from(Some(&library), Some("tcp"), &[]).unwrap().unwrap();
    // The shm provider of libfabric 2 fails if endpoints of one process read each other's memory.
    if choice.description().version.0 == 1 { vec!["tcp", "shm"] } else { vec!["tcp"] }
}

fn library() -> Option<String> {
    std::env::var("TOWPATH_LIBFABRIC").ok()
}

/// The wires of `ranks` ranks on hosts of `per_host` ranks each, over a libfabric provider.
pub(crate) fn ofi_wires(
    ranks: usize,
    per_host: usize,
    settings: Settings,
    provider: &str,
) -> Vec<Wires> {
    let choice = ofi::choose_from(library().as_deref(), Some(provider), &networks(Some("lo")))
        .unwrap()
        .unwrap();
    let key = ofi::FabricKey::of_secret(b"a test");
    let mut ports: Vec<Option<BoundEndpoint>> =
        (0..ranks).map(|_| Some(BoundEndpoint::open(&choice, key, ranks).unwrap())).collect();
    let cards: Vec<ofi::FabricCard> =
        ports.iter().flatten().map(|port| port.card().unwrap()).collect();
    let mut wires = Vec::new();
    for first in (0..ranks).step_by(per_host) {
        let file = create_file("towpath-conformance").unwrap();
        let near: Vec<PeerIndex> =
            (first..ranks.min(first + per_host)).map(|rank| PeerIndex(rank as u32)).collect();
        for local in 0..near.len() {
            let segment = Segment::map(&file, near.len(), local).unwrap();
            let far = (0..ranks).filter(|rank| rank / per_host != first / per_host);
            let contact = |rank: usize| ofi::OfiContact {
                peer: PeerIndex(rank as u32),
                address: cards[rank].address.clone(),
            };
            let port = ports[first + local].take().unwrap();
            let ofi = Ofi::new(port, near[local], far.map(contact).collect()).unwrap();
            wires.push(Wires::of_host(segment, near.clone(), settings).with_ofi(ofi));
        }
    }
    wires
}
