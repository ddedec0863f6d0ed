//! Counts what the programs behind the Single-Chip Cloud Computer's figures transfer: a ping-pong
//! between the first and the last rank, and a heat solver. `benchmarks/scc.py` runs it under
//! `TOWPATH_CHANNEL=strict` and draws the figures.
//!
//! ```text
//! mpiexec -n 48 scc pingpong flat|ring     one line for each message size
//! mpiexec -n 48 scc heat flat|grid 512 4   one line for each rank: points of a side, iterations
//! ```

use std::ffi::c_void;

use towpath_mpi::abi::{Handle, Integers};
use towpath_mpi::collectives::{EqualData, Vector, allreduce, barrier, gather};
use towpath_mpi::communicators::{comm_rank, comm_size};
use towpath_mpi::constants::{BYTE, COMM_WORLD, DOUBLE, PROC_NULL, SUM, UINT64_T};
use towpath_mpi::environment::{abort, finalize, init, wtime};
use towpath_mpi::error::Result;
use towpath_mpi::topologies::cart_create;
use towpath_mpi::{point_to_point, requests, strict_counts};

/// Chunks written, lines in them, lines times hops, header lines polled for chunks that arrived.
type Cost = [u64; 4];

/// The counts of this rank so far.
fn cost() -> Result<Cost> {
    if let Some(counts) = strict_counts()? {
        return Ok(counts);
    }
    give_up(1, "scc counts what the strict channel moves; set TOWPATH_CHANNEL=strict")
}

/// Ends the job.
fn give_up(code: i32, sentence: &str) -> ! {
    eprintln!("{sentence}");
    let _ = abort(COMM_WORLD, code);
    std::process::exit(code)
}

fn since(before: Cost) -> Result<Cost> {
    let now = cost()?;
    Ok([0, 1, 2, 3].map(|i| now[i] - before[i]))
}

fn send<T>(data: &[T], to: i32, comm: Handle) -> Result<()> {
    // SAFETY: `data` is readable for its size in bytes, and its elements are plain numbers.
    unsafe {
        point_to_point::send(data.as_ptr().cast(), size_of_val(data) as i64, BYTE, to, 0, comm)
    }
}

fn receive<T>(data: &mut [T], from: i32, comm: Handle) -> Result<()> {
    // SAFETY: `data` is writable for its size in bytes, and its elements are plain numbers.
    unsafe {
        point_to_point::recv(
            data.as_mut_ptr().cast(),
            size_of_val(data) as i64,
            BYTE,
            from,
            0,
            comm,
        )
    }?;
    Ok(())
}

fn wait_for_all(comm: Handle) -> Result<()> {
    // SAFETY: a barrier accesses no memory of the program.
    unsafe { barrier(comm)?.wait() }
}

/// A communicator with a grid topology, periodic in all dimensions or in none.
fn grid(dims: &[i32], periodic: bool) -> Result<Handle> {
    let periods = vec![i32::from(periodic); dims.len()];
    // SAFETY: both arrays live until this function returns, with this number of elements.
    let array = |values: &[i32]| unsafe {
        Integers::small(values.as_ptr()).with_length(values.len() as i64)
    };
    cart_create(COMM_WORLD, dims.len() as i32, array(dims), array(&periods), false)
}

/// Sends messages of `buffer`'s size back and forth. Returns the seconds per round trip in the
/// fastest of several rounds, and what this rank transferred per round trip in the last round.
fn round_trips(buffer: &mut [u8], me: usize, partner: i32, comm: Handle) -> Result<(f64, Cost)> {
    let repetitions = if buffer.len() < 16384 { 20 } else { 2 };
    let mut fastest = f64::INFINITY;
    let mut moved = Cost::default();
    let rounds = if buffer.len() < 1 << 18 { 6 } else { 3 };
    for round in 0..rounds {
        let (began, before) = (wtime(), cost()?);
        for _ in 0..repetitions {
            if me == 0 {
                send(buffer, partner, comm)?;
                receive(buffer, partner, comm)?;
            } else {
                receive(buffer, partner, comm)?;
                send(buffer, partner, comm)?;
            }
        }
        if round > 0 {
            fastest = fastest.min((wtime() - began) / f64::from(repetitions));
            moved = since(before)?.map(|count| count / repetitions as u64);
        }
    }
    Ok((fastest, moved))
}

fn pingpong(shape: &str, me: usize, ranks: usize) -> Result<()> {
    let comm = if shape == "ring" { grid(&[ranks as i32], true)? } else { COMM_WORLD };
    wait_for_all(comm)?;
    if me != 0 && me != ranks - 1 {
        // The other ranks wait for a message, because the traffic of a barrier would be counted.
        return receive(&mut [0u8], 0, comm);
    }
    let partner = if me == 0 { ranks as i32 - 1 } else { 0 };
    for bytes in (2..=22).map(|power| 1usize << power) {
        let (seconds, moved) = round_trips(&mut vec![1u8; bytes], me, partner, comm)?;
        if me != 0 {
            send(&moved, 0, comm)?;
            continue;
        }
        let mut other = Cost::default();
        receive(&mut other, partner, comm)?;
        let [chunks, lines, line_hops, polls] = [0, 1, 2, 3].map(|i| moved[i] + other[i]);
        println!("pingpong,{ranks},{bytes},{seconds:.9},{chunks},{lines},{line_hops},{polls}");
    }
    if me == 0 {
        (1..ranks - 1).try_for_each(|rank| send(&[0u8], rank as i32, comm))?;
    }
    Ok(())
}

/// One rank's part of the plate, with a halo of the neighbours' points.
struct Plate {
    rows: usize,
    columns: usize,
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Plate {
    /// Creates a part, whose upper halo may be the plate's hot edge.
    fn new(rows: usize, columns: usize, hot: bool) -> Plate {
        let mut now = vec![0.0; (rows + 2) * (columns + 2)];
        if hot {
            now[..columns + 2].fill(100.0);
        }
        Plate { rows, columns, next: now.clone(), now }
    }

    fn at(&self, row: usize, column: usize) -> usize {
        row * (self.columns + 2) + column
    }

    fn column(&self, column: usize) -> Vec<f64> {
        (1..=self.rows).map(|row| self.now[self.at(row, column)]).collect()
    }

    fn set_column(&mut self, column: usize, values: &[f64]) {
        for (row, value) in values.iter().enumerate() {
            let at = self.at(row + 1, column);
            self.now[at] = *value;
        }
    }

    /// One Jacobi iteration.
    fn step(&mut self) {
        let width = self.columns + 2;
        for row in 1..=self.rows {
            for at in self.at(row, 1)..=self.at(row, self.columns) {
                let around = self.now[at - width]
                    + self.now[at + width]
                    + self.now[at - 1]
                    + self.now[at + 1];
                self.next[at] = 0.25 * around;
            }
        }
        for row in 1..=self.rows {
            let points = self.at(row, 1)..=self.at(row, self.columns);
            self.now[points.clone()].copy_from_slice(&self.next[points]);
        }
    }

    fn sum(&self) -> f64 {
        (1..=self.rows)
            .map(|row| self.now[self.at(row, 1)..=self.at(row, self.columns)].iter().sum::<f64>())
            .sum()
    }
}

/// Sends each edge to its neighbour and receives the neighbour's into the rim.
///
/// # Safety
/// If this fails, requests may still be active: the memory of `edges` and `rims` must then stay
/// valid until the program ends.
unsafe fn swap(
    edges: &[Vec<f64>; 4],
    rims: &mut [Vec<f64>; 4],
    neighbours: &[i32],
    comm: Handle,
) -> Result<()> {
    let mut open = Vec::new();
    for (side, &neighbour) in neighbours.iter().enumerate() {
        let count = rims[side].len() as i64;
        // A message sent upwards is received from below.
        let (out, into) = (side as i32, (side ^ 1) as i32);
        // SAFETY: `edges` and `rims` are not touched until all requests are complete, and stay
        // valid if some never complete (this function's contract).
        unsafe {
            open.push(point_to_point::irecv(
                rims[side].as_mut_ptr().cast(),
                count,
                DOUBLE,
                neighbour,
                into,
                comm,
            )?);
            open.push(point_to_point::isend(
                edges[side].as_ptr().cast(),
                count,
                DOUBLE,
                neighbour,
                out,
                comm,
            )?);
        }
    }
    for mut request in open {
        requests::wait(&mut request)?;
    }
    Ok(())
}

/// Exchanges the four edges of the part with the neighbours (up, down, left, right).
fn exchange(plate: &mut Plate, neighbours: &[i32], comm: Handle) -> Result<()> {
    let (rows, columns) = (plate.rows, plate.columns);
    let row = |plate: &Plate, row| plate.now[plate.at(row, 1)..=plate.at(row, columns)].to_vec();
    let edges = [row(plate, 1), row(plate, rows), plate.column(1), plate.column(columns)];
    let mut rims = edges.clone();
    // SAFETY: the memory is leaked if this fails.
    if let Err(error) = unsafe { swap(&edges, &mut rims, neighbours, comm) } {
        std::mem::forget((edges, rims));
        return Err(error);
    }
    if neighbours[0] != PROC_NULL {
        let at = plate.at(0, 1);
        plate.now[at..at + columns].copy_from_slice(&rims[0]);
    }
    if neighbours[1] != PROC_NULL {
        let at = plate.at(rows + 1, 1);
        plate.now[at..at + columns].copy_from_slice(&rims[1]);
    }
    if neighbours[2] != PROC_NULL {
        plate.set_column(0, &rims[2]);
    }
    if neighbours[3] != PROC_NULL {
        plate.set_column(columns + 1, &rims[3]);
    }
    Ok(())
}

/// The most nearly square grid of `ranks` processes.
fn dims_of(ranks: usize) -> [usize; 2] {
    let rows = (1..=ranks)
        .filter(|rows| ranks.is_multiple_of(*rows) && rows * rows <= ranks)
        .max()
        .unwrap_or(1);
    [rows, ranks / rows]
}

/// Number of points that part `index` gets if a side is divided into `parts`.
fn share(side: usize, parts: usize, index: usize) -> usize {
    side / parts + usize::from(index < side % parts)
}

fn heat(shape: &str, side: usize, iterations: usize, me: usize, ranks: usize) -> Result<()> {
    let dims = dims_of(ranks);
    let place = [me / dims[1], me % dims[1]];
    // Flat is the same program on the same ranks, but the library does not know the neighbours.
    let comm = if shape == "grid" { grid(&dims.map(|dim| dim as i32), false)? } else { COMM_WORLD };
    let neighbours = [(place[0] > 0, -(dims[1] as i32)), (place[0] + 1 < dims[0], dims[1] as i32)]
        .into_iter()
        .chain([(place[1] > 0, -1), (place[1] + 1 < dims[1], 1)])
        .map(|(exists, step)| if exists { me as i32 + step } else { PROC_NULL });
    let neighbours: Vec<i32> = neighbours.collect();
    let (rows, columns) = (share(side, dims[0], place[0]), share(side, dims[1], place[1]));
    let mut plate = Plate::new(rows, columns, place[0] == 0);
    wait_for_all(COMM_WORLD)?;
    let before = cost()?;
    for _ in 0..iterations {
        exchange(&mut plate, &neighbours, comm)?;
        plate.step();
    }
    let [chunks, lines, line_hops, polls] = since(before)?;
    let mut sum = plate.sum();
    let part = sum;
    let own = [(plate.rows * plate.columns) as u64, chunks, lines, line_hops, polls];
    let mut all = vec![0u64; own.len() * ranks];
    // SAFETY: `part`, `sum` and `own` have as many elements as the calls state, and `all` has
    // `count` for each rank.
    unsafe {
        let (from, into) =
            (std::ptr::from_ref(&part).cast::<c_void>(), std::ptr::from_mut(&mut sum).cast());
        allreduce(Vector::new(from, into, 1, DOUBLE, SUM), COMM_WORLD)?.wait()?;
        let count = own.len() as i64;
        let send = EqualData::new(own.as_ptr().cast(), count, UINT64_T);
        let receive = EqualData::new(all.as_mut_ptr().cast(), count, UINT64_T);
        gather(send, receive, 0, COMM_WORLD)?.wait()?;
    }
    if me == 0 {
        for (rank, [points, chunks, lines, line_hops, polls]) in
            all.as_chunks().0.iter().enumerate()
        {
            println!(
                "heat,{ranks},{rank},{iterations},{points},{chunks},{lines},{line_hops},{polls},{sum:.6}"
            );
        }
    }
    Ok(())
}

fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // SAFETY: `init` does not read the pointers.
    unsafe { init(std::ptr::null_mut(), std::ptr::null_mut()) }?;
    let (me, ranks) = (comm_rank(COMM_WORLD)? as usize, comm_size(COMM_WORLD)? as usize);
    match words[..] {
        ["pingpong", shape] if ranks > 1 => pingpong(shape, me, ranks)?,
        ["heat", shape, side, iterations] => {
            let number = |word: &str| word.parse().unwrap_or(0);
            heat(shape, number(side), number(iterations), me, ranks)?;
        }
        _ => give_up(2, "usage: scc pingpong flat|ring, or scc heat flat|grid POINTS ITERATIONS"),
    }
    finalize()
}

fn main() {
    if let Err(error) = run() {
        give_up(1, error.text());
    }
}
