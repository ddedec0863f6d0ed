//! Topology files, which are read from text of a user and passed to all processes of a job.

#![no_main]

use towpath_topology::NetworkTopology;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(topology) = NetworkTopology::parse(text) {
        let hosts: Vec<&str> = topology.hosts().take(4).chain(["stranger"]).collect();
        for (one, other) in hosts.iter().flat_map(|one| hosts.iter().map(move |other| (one, other)))
        {
            let path = topology.path(one, other);
            assert_eq!(path, topology.path(other, one));
            assert!(path.is_none_or(|path| path.rate.value > 0));
        }
    }
});
