//! Heat in a rod: a chain of chares, each with a part of it, compared with a sequential loop.
//!
//! `mpiexec -n 4 rod PARTS`: the parts exchange their ends in each step, migrate half way, and lend
//! what they have to the chare that compares it.

use serde::{Deserialize, Serialize};
use towpath_actors_rust::{
    ChareContext, ChareError, ChareJob, ElementProxy, chares, create_array, create_chare, exit,
    rank, ranks,
};

const CELLS: usize = 1 << 18;
const STEPS: u32 = 40;

/// The new temperature between two others.
fn mean(left: f64, own: f64, right: f64) -> f64 {
    own + (left - 2.0 * own + right) / 4.0
}

fn step(cells: &[f64], left: f64, right: f64) -> Vec<f64> {
    let at = |place: usize| cells.get(place).copied().unwrap_or(right);
    let new = |place: usize| {
        mean(if place == 0 { left } else { at(place - 1) }, at(place), at(place + 1))
    };
    (0..cells.len()).map(new).collect()
}

/// The whole rod before the first step: its left half is hot.
fn beginning() -> Vec<f64> {
    (0..CELLS).map(|cell| if cell < CELLS / 2 { 100.0 } else { cell as f64 / 1e4 }).collect()
}

#[derive(Serialize, Deserialize)]
struct Part {
    cells: Vec<f64>,
    parts: usize,
    step: u32,
    /// Until all parts go on.
    waits: bool,
    /// Ends of the neighbours: the step, whether it is the left one, the temperature.
    ends: Vec<(u32, bool, f64)>,
    judge: ElementProxy<Judge>,
}

#[chares(migrate)]
impl Part {
    #[constructor]
    fn new(context: &ChareContext<Part>, parts: usize, judge: ElementProxy<Judge>) -> Part {
        let first = context.coordinate(0) as usize * (CELLS / parts);
        let cells = beginning()[first..first + CELLS / parts].to_vec();
        Part { cells, parts, step: 0, waits: true, ends: Vec::new(), judge }
    }

    /// The end of a neighbour at a step.
    #[entry]
    fn end(&mut self, context: &ChareContext<Part>, step: u32, is_left: bool, end: f64) {
        self.ends.push((step, is_left, end));
        self.advance(context);
    }

    /// All parts are there, or have migrated.
    #[entry]
    fn go_on(&mut self, context: &ChareContext<Part>) {
        self.waits = false;
        self.tell_neighbours(context);
        self.advance(context);
    }

    fn tell_neighbours(&self, context: &ChareContext<Part>) {
        let own = context.coordinate(0);
        if own > 0 {
            context.all().element([own - 1]).end(self.step, false, self.cells[0]);
        }
        if own + 1 < self.parts as i32 {
            context.all().element([own + 1]).end(self.step, true, self.cells[self.cells.len() - 1]);
        }
    }

    /// Takes the end of a neighbour at this step, or its own end at those of the rod.
    fn end_of(&self, context: &ChareContext<Part>, is_left: bool) -> Option<f64> {
        let outer = if is_left { 0 } else { self.parts - 1 };
        if context.coordinate(0) as usize == outer {
            return self.cells.get(if is_left { 0 } else { self.cells.len() - 1 }).copied();
        }
        let found = self.ends.iter().find(|end| (end.0, end.1) == (self.step, is_left));
        found.map(|(.., end)| *end)
    }

    /// Does the steps for which both ends are there.
    fn advance(&mut self, context: &ChareContext<Part>) {
        while !self.waits {
            let ends = (self.end_of(context, true), self.end_of(context, false));
            let (Some(left), Some(right)) = ends else { return };
            self.cells = step(&self.cells, left, right);
            let done = self.step;
            self.ends.retain(|end| end.0 > done);
            self.step += 1;
            self.waits = self.step == STEPS || self.step == STEPS / 2;
            if self.step == STEPS {
                self.finish(context);
            } else if self.waits {
                context.migrate((rank() + 1) % ranks());
                context.barrier(&context.all().go_on_callback());
            } else {
                self.tell_neighbours(context);
            }
        }
    }

    /// The cells belong to the transfer until the judge has read them.
    fn finish(&mut self, context: &ChareContext<Part>) {
        let cells = std::mem::take(&mut self.cells);
        let lent = context.lend(cells, |part, context, cells| {
            part.cells = cells;
            context.barrier(&part.judge.all_are_back_callback());
        });
        self.judge.compare(context.coordinate(0) as usize, lent);
    }
}

/// Compares the parts with the sequential result.
struct Judge {
    expected: Vec<f64>,
    parts: usize,
    right: usize,
}

#[chares]
impl Judge {
    #[constructor]
    fn new(_: &ChareContext<Judge>, parts: usize) -> Judge {
        let mut expected = beginning();
        for _ in 0..STEPS {
            expected = step(&expected, expected[0], expected[CELLS - 1]);
        }
        Judge { expected, parts, right: 0 }
    }

    #[entry]
    fn compare(&mut self, _: &ChareContext<Judge>, part: usize, cells: &[f64]) {
        let first = part * cells.len();
        self.right += usize::from(self.expected[first..first + cells.len()] == *cells);
    }

    #[entry]
    fn all_are_back(&mut self, _: &ChareContext<Judge>) {
        let (right, parts) = (self.right, self.parts);
        println!("{right} of {parts} parts of the rod are right");
        exit(if right == parts { 0 } else { 1 });
    }
}

fn main() {
    let parts = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(8);
    if parts == 0 || !CELLS.is_multiple_of(parts) {
        eprintln!("the number of parts must divide {CELLS}");
        std::process::exit(1);
    }
    let job = ChareJob::new().chare::<Judge>().chare::<Part>();
    let code = job.run(|| {
        let judge = create_chare::<Judge>(None, (parts,))?;
        create_array::<Part>(&[parts as u32], (parts, judge))?.go_on();
        Ok::<(), ChareError>(())
    });
    std::process::exit(code.unwrap_or_else(|error| {
        eprintln!("rod: {error}");
        1
    }));
}
