//! Prints how long a rank takes to plan a collective over several hosts: the first time in a new
//! placement, and later.
//!
//! `planning 256 32` is for 256 ranks on 32 hosts, in racks of 8 hosts with uplinks, and without
//! racks.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use towpath_base::ids::{ContextId, PeerIndex, Plane};
use towpath_schedule::hierarchy::phases::plan_of;
use towpath_schedule::operand::Operand;
use towpath_schedule::{Buffer, Call, Element, Operation, Placement, Reducer, Selection, Team};
use towpath_topology::{HostNetwork, NetworkHost, NetworkLink};

const USAGE: &str = "usage: planning [RANKS [HOSTS]]";
/// Plans of which the median counts.
const TRIALS: usize = 101;
const IN_RACK: usize = 8;

/// Addresses of the caller's buffers; plans only name them.
const SEND: *mut u8 = std::ptr::without_provenance_mut(1 << 40);
const RECEIVE: *mut u8 = std::ptr::without_provenance_mut(1 << 44);

/// A reduction that is never executed.
///
/// # Safety
/// Accesses no memory.
unsafe fn nothing(_: *const u8, _: *mut u8, _: usize) {}

fn placement(ranks: usize, hosts: usize, has_racks: bool) -> Placement {
    let rack = NetworkLink { rate: 125_000_000, latency: 100_000, half_duplex: false };
    let host = |host: usize| NetworkHost {
        groups: if has_racks { vec![host / IN_RACK] } else { Vec::new() },
        ..NetworkHost::default()
    };
    let network = HostNetwork { hosts: (0..hosts).map(host).collect(), uplinks: vec![rack; hosts] };
    let each = ranks.div_ceil(hosts);
    Placement::new((0..ranks).map(|rank| (rank / each) as u32)).on_network(&network)
}

fn operations(count: i64) -> [(&'static str, Operation); 3] {
    let element = Element::dense(8);
    let data = Buffer { pointer: RECEIVE, count, element: element.clone() };
    let reducer = Reducer::predefined(nothing);
    let operand = Operand { send: Some(SEND), count, element, reducer };
    [
        ("barrier", Operation::Barrier),
        ("bcast", Operation::Bcast { root: 0, data }),
        ("allreduce", Operation::Allreduce { operand, receive: RECEIVE }),
    ]
}

/// Medians of the nanoseconds that the first and the second plan take, and the number of steps.
fn measure(ranks: usize, hosts: usize, has_racks: bool, operation: &Operation) -> [usize; 3] {
    let selection = Selection::default();
    let peers: Arc<[PeerIndex]> = (0..ranks as u32).map(PeerIndex).collect();
    let context = ContextId::new(1, 1).on(Plane::Collective);
    let (mut times, mut steps) = ([Vec::new(), Vec::new()], 0);
    for _ in 0..TRIALS {
        let placement = Arc::new(placement(ranks, hosts, has_racks));
        let team = Team { context, rank: 0, peers: peers.clone(), placement };
        for times in &mut times {
            let begin = Instant::now();
            let plan = plan_of(&Call { team: &team, selection: &selection }, operation);
            times.push(begin.elapsed().as_nanos() as usize);
            steps = plan.map_or(0, |plan| plan.length());
        }
    }
    let [first, later] = times.map(|mut times| {
        times.sort_unstable();
        times[TRIALS / 2]
    });
    [first, later, steps]
}

fn main() -> ExitCode {
    let numbers: Option<Vec<usize>> =
        std::env::args().skip(1).map(|word| word.parse().ok().filter(|&one| one > 0)).collect();
    let (ranks, hosts) = match numbers.as_deref() {
        Some([]) => (256, 32),
        Some(&[ranks]) => (ranks, ranks.div_ceil(8)),
        Some(&[ranks, hosts]) if hosts <= ranks => (ranks, hosts),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    println!("{ranks} ranks on {hosts} hosts: microseconds to plan at rank 0, first and later");
    for has_racks in [false, true] {
        for count in [1, 1 << 17] {
            for (name, operation) in operations(count) {
                let [first, later, steps] = measure(ranks, hosts, has_racks, &operation);
                println!(
                    "{name:>10} {:>8} bytes {:>10} {:7.1} {:7.1}  {steps} steps",
                    if name == "barrier" { 0 } else { 8 * count },
                    if has_racks { "in racks" } else { "" },
                    first as f64 / 1e3,
                    later as f64 / 1e3,
                );
            }
        }
    }
    ExitCode::SUCCESS
}
