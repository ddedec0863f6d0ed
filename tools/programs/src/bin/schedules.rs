//! Prints how long each algorithm of a collective takes by the cost model, on one host or several,
//! without running anything. Algorithms that do not use schedules of messages are left out.
//!
//! `schedules allreduce 8 2` is for 8 ranks on 2 hosts, which have consecutive ranks. The links are
//! round figures: shared memory between ranks of a host, Ethernet between hosts.

use std::process::ExitCode;
use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex, Plane};
use towpath_schedule::allgather::Allgather;
use towpath_schedule::cost::{CostModel, LogGp};
use towpath_schedule::operand::Operand;
use towpath_schedule::select::{Algorithm, COLLECTIVES, Collective, Size, TABLE};
use towpath_schedule::simulation::completion_time;
use towpath_schedule::{
    Blocks, Buffer, Call, Element, Operation, Placement, Plan, Reducer, Selection, Team,
};

const USAGE: &str = "usage: schedules bcast|allgather|allreduce [RANKS [HOSTS]]";

/// Half a microsecond and 5 GB/s within a host, 20 microseconds and 1 GB/s between hosts. Messages
/// up to 16 KiB are eager; copies run at 10 GB/s, and an addition takes half a nanosecond.
const COSTS: CostModel = CostModel {
    same_host: LogGp {
        latency: 300_000,
        overhead: 100_000,
        gap: 100_000,
        gap_per_byte: 200,
        overhead_per_byte: 0,
    },
    between_hosts: LogGp {
        latency: 16_000_000,
        overhead: 2_000_000,
        gap: 1_000_000,
        gap_per_byte: 1_000,
        overhead_per_byte: 0,
    },
    links: None,
    eager: Some(16 << 10),
    copy_per_byte: 100,
    reduce_per_element: 500,
    processors: Vec::new(),
};

/// Addresses of the caller's buffers; plans only name them.
const SEND: *mut u8 = std::ptr::without_provenance_mut(1 << 40);
const RECEIVE: *mut u8 = std::ptr::without_provenance_mut(1 << 44);

/// A reduction of which the simulation only counts the elements.
///
/// # Safety
/// Accesses no memory.
unsafe fn nothing(_: *const u8, _: *mut u8, _: usize) {}

/// The call of one rank with `bytes` bytes; `None` for a collective that this program does not
/// print. For an allgather, all ranks together contribute that many bytes, rounded down to equal
/// parts. An allreduce has elements of 4 bytes.
fn operation(collective: Collective, ranks: usize, bytes: i64) -> Option<Operation> {
    let element = Element::dense(1);
    let each = bytes / ranks as i64;
    Some(match collective {
        Collective::Bcast => {
            Operation::Bcast { root: 0, data: Buffer { pointer: SEND, count: bytes, element } }
        }
        Collective::Allgather => Operation::Allgather(Allgather {
            send: Some(Buffer { pointer: SEND, count: each, element: element.clone() }),
            receive: Blocks::Equal { pointer: RECEIVE, count: each, element },
        }),
        Collective::Allreduce => Operation::Allreduce {
            operand: Operand {
                send: Some(SEND),
                count: bytes / 4,
                element: Element::dense(4),
                reducer: Reducer::predefined(nothing),
            },
            receive: RECEIVE,
        },
        _ => return None,
    })
}

/// Simulated time of a call in microseconds.
///
/// # Errors
/// A sentence that says why there is no plan, or why the schedule does not end.
fn microseconds(
    team: &Team,
    selection: &Selection,
    collective: Collective,
    bytes: i64,
) -> Result<f64, String> {
    let ranks = team.size();
    let plan = |rank: usize| -> Result<Plan, String> {
        let team = Team { rank, ..team.clone() };
        let call = Call { team: &team, selection };
        let operation = operation(collective, ranks, bytes).ok_or(USAGE)?;
        operation.plan(&call).map_err(|error| error.to_string())
    };
    let plans = (0..ranks).map(plan).collect::<Result<Vec<_>, _>>()?;
    let time = completion_time(team, &plans, &COSTS).map_err(|deadlock| deadlock.to_string())?;
    Ok(time as f64 / 1e6)
}

fn run(arguments: &[String]) -> Result<(), String> {
    let name = arguments.first().ok_or(USAGE)?;
    let known = COLLECTIVES.iter().find(|row| row.0 == name.as_str());
    let collective = known.map(|row| row.1).ok_or(USAGE)?;
    if operation(collective, 1, 0).is_none() || arguments.len() > 3 {
        return Err(USAGE.into());
    }
    let number = |index: usize, default: usize| match arguments.get(index) {
        None => Ok(default),
        Some(text) => text.parse().ok().filter(|number| (1..=4096).contains(number)).ok_or(USAGE),
    };
    let (ranks, hosts) = (number(1, 8)?, number(2, 1)?);
    if hosts > ranks {
        return Err(format!("{ranks} ranks cannot be on {hosts} hosts"));
    }
    let placement = Placement::new((0..ranks).map(|rank| (rank * hosts / ranks) as u32));
    let team = Team {
        context: ContextId::new(1, 1).on(Plane::Collective),
        rank: 0,
        peers: (0..ranks as u32).map(PeerIndex).collect(),
        placement: Arc::new(placement),
    };
    let mut algorithms: Vec<Algorithm> = Vec::new();
    for row in TABLE.iter().filter(|row| row.collective == collective) {
        // A board and multicast do not use schedules of messages.
        let is_plan = !matches!(row.algorithm, Algorithm::Board | Algorithm::Multicast);
        if is_plan && !algorithms.contains(&row.algorithm) {
            algorithms.push(row.algorithm);
        }
    }
    println!("{name} of {ranks} ranks on {hosts} hosts: microseconds by the cost model");
    print!("{:>12}", "bytes");
    algorithms.iter().for_each(|algorithm| print!("{:>20}", format!("{algorithm:?}")));
    println!();
    for bytes in (3..=22).step_by(2).map(|power| 1i64 << power) {
        print!("{bytes:>12}");
        for &algorithm in &algorithms {
            let selection = Selection::forcing(collective, algorithm);
            let size = Size::of_team(&team, bytes);
            if selection.choose(collective, size) == algorithm {
                print!("{:>20.1}", microseconds(&team, &selection, collective, bytes)?);
            } else {
                // Its conditions do not hold, such as a power of two for the number of ranks.
                print!("{:>20}", "-");
            }
        }
        println!();
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}
