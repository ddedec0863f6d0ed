//! The content of memory and messages as symbols: of each byte, where its value comes from.

use std::collections::BTreeMap;

use super::folds::FoldId;

/// A byte of the vector that a fold names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) fold: FoldId,
    /// Which byte of the vector, without the gaps between elements.
    pub(super) offset: i64,
}

impl Origin {
    pub(super) fn after(self, bytes: i64) -> Origin {
        Origin { offset: self.offset + bytes, ..self }
    }

    fn moved(self, (fold, offset): (i64, i64), times: i64) -> Origin {
        Origin { fold: self.fold + fold * times, offset: self.offset + offset * times }
    }

    fn distance(self, from: Origin) -> (i64, i64) {
        (self.fold - from.fold, self.offset - from.offset)
    }
}

/// Bytes in chunks of equal length, whose origins differ by the same step from chunk to chunk: so
/// the blocks of ten thousand ranks are one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) length: i64,
    /// Where the first byte comes from.
    pub(super) first: Origin,
    /// Bytes of a chunk, in which the offset grows by 1 from byte to byte.
    chunk: i64,
    step: (i64, i64),
}

impl Run {
    /// Consecutive bytes of one vector.
    pub(super) fn of(first: Origin, length: i64) -> Run {
        Run { length, first, chunk: length, step: (0, 0) }
    }

    /// The chunks, each with the origin of its first byte.
    pub(super) fn chunks(self) -> impl Iterator<Item = (Origin, i64)> {
        let number = self.length / self.chunk;
        (0..number).map(move |index| (self.first.moved(self.step, index), self.chunk))
    }

    /// The origin of the first byte after the run if it goes on.
    fn next(self) -> Origin {
        self.first.moved(self.step, self.length / self.chunk)
    }

    fn is_one_chunk(self) -> bool {
        self.chunk == self.length
    }

    /// Both runs as one, if they are.
    fn joined(self, other: Run) -> Option<Run> {
        let length = self.length + other.length;
        if self.is_one_chunk() && other.is_one_chunk() {
            if other.first == self.first.after(self.length) {
                return Some(Run::of(self.first, length));
            }
            let step = other.first.distance(self.first);
            return (self.length == other.length).then_some(Run { length, step, ..self });
        }
        let step = if self.is_one_chunk() { other.step } else { self.step };
        let is_regular = self.chunk == other.chunk
            && (other.is_one_chunk() || other.step == step)
            && other.first == Run { step, ..self }.next();
        is_regular.then_some(Run { length, step, ..self })
    }

    /// Appends the bytes `from..from + length` to `runs`.
    fn cut(self, from: i64, length: i64, runs: &mut Vec<Run>) {
        let (mut at, end) = (from, from + length);
        while at < end {
            let (index, skipped) = (at / self.chunk, at % self.chunk);
            let first = self.first.moved(self.step, index).after(skipped);
            let rest = end - at;
            let run = if skipped > 0 || rest < self.chunk {
                Run::of(first, rest.min(self.chunk - skipped))
            } else if rest < 2 * self.chunk {
                Run::of(first, self.chunk)
            } else {
                Run { length: rest - rest % self.chunk, first, ..self }
            };
            append(runs, run);
            at += run.length;
        }
    }
}

/// Appends a run to others.
pub(super) fn append(runs: &mut Vec<Run>, run: Run) {
    if let Some(last) = runs.last_mut()
        && let Some(both) = last.joined(run)
    {
        *last = both;
    } else {
        runs.push(run);
    }
}

/// Takes bytes from the front of runs in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front<'a> {
    runs: &'a [Run],
    /// Bytes of the first run that have been taken.
    taken: i64,
}

impl<'a> Front<'a> {
    pub(super) fn of(runs: &'a [Run]) -> Front<'a> {
        Front { runs, taken: 0 }
    }

    /// The next `length` bytes, or as many as are left, appended to `into`.
    pub(super) fn take(&mut self, mut length: i64, into: &mut Vec<Run>) {
        while length > 0
            && let Some((run, rest)) = self.runs.split_first()
        {
            let number = length.min(run.length - self.taken);
            run.cut(self.taken, number, into);
            (self.taken, length) = (self.taken + number, length - number);
            if self.taken == run.length {
                (self.runs, self.taken) = (rest, 0);
            }
        }
    }
}

/// Bytes in runs.
pub(super) fn length_of(runs: &[Run]) -> i64 {
    runs.iter().map(|run| run.length).sum()
}

/// The memory of a rank. What is not written has no content.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// By their first address.
    runs: BTreeMap<i64, Run>,
}

impl Memory {
    /// The content of `length` bytes, appended to `into`; the address of a byte without content
    /// otherwise.
    pub(super) fn read(&self, address: i64, length: i64, into: &mut Vec<Run>) -> Result<(), i64> {
        let (mut at, end) = (address, address + length);
        let begin = self.runs.range(..=address).next_back().map_or(address, |(&first, _)| first);
        for (&first, run) in self.runs.range(begin..end) {
            if first + run.length <= at {
                continue;
            }
            if first > at {
                return Err(at);
            }
            let number = (first + run.length).min(end) - at;
            run.cut(at - first, number, into);
            at += number;
        }
        if at < end { Err(at) } else { Ok(()) }
    }

    /// Replaces the content from `address` on.
    pub(super) fn write(&mut self, address: i64, runs: &[Run]) {
        self.forget(address, length_of(runs));
        let mut at = address;
        for &run in runs {
            self.insert(at, run);
            at += run.length;
        }
    }

    /// Removes the content of `length` bytes.
    fn forget(&mut self, address: i64, length: i64) {
        let end = address + length;
        match self.runs.range(..end).next_back() {
            Some((&first, run)) if first == address && run.length == length => {
                self.runs.remove(&first);
                return;
            }
            Some((&first, run)) if first + run.length > address => {}
            _ => return,
        }
        let begin = self.runs.range(..=address).next_back().map_or(address, |(&first, _)| first);
        let touched = self.runs.range(begin..end);
        let touched = touched.filter(|&(first, run)| first + run.length > address);
        let touched: Vec<i64> = touched.map(|(&first, _)| first).collect();
        for first in touched {
            let run = self.runs.remove(&first).expect("it was found");
            let mut keep = |from: i64, to: i64| {
                let mut parts = Vec::new();
                if from < to {
                    run.cut(from - first, to - from, &mut parts);
                }
                let mut at = from;
                for part in parts {
                    self.runs.insert(at, part);
                    at += part.length;
                }
            };
            keep(first, address);
            keep(end, first + run.length);
        }
    }

    fn insert(&mut self, mut address: i64, mut run: Run) {
        if let Some((&first, &before)) = self.runs.range(..address).next_back()
            && first + before.length == address
            && let Some(both) = before.joined(run)
        {
            self.runs.remove(&first);
            (address, run) = (first, both);
        }
        let end = address + run.length;
        if let Some(&after) = self.runs.get(&end)
            && let Some(both) = run.joined(after)
        {
            self.runs.remove(&end);
            run = both;
        }
        self.runs.insert(address, run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(fold: i64, offset: i64, length: i64) -> Run {
        Run::of(Origin { fold, offset }, length)
    }

    fn bytes(runs: &[Run]) -> Vec<Origin> {
        let chunks = runs.iter().flat_map(|run| run.chunks());
        chunks.flat_map(|(first, length)| (0..length).map(move |byte| first.after(byte))).collect()
    }

    /// Memory in runs has the content of memory in bytes.
    #[test]
    fn memory_keeps_what_is_written() {
        let mut random = crate::testing::Random::new(6);
        for _ in 0..300 {
            let (mut memory, mut plain) = (Memory::default(), vec![None; 64]);
            for _ in 0..40 {
                let (at, length) = (random.below(40), 1 + random.below(8));
                let mut runs = Vec::new();
                for _ in 0..1 + random.below(3) {
                    let (fold, offset) = (random.below(3) as i64, random.below(3) as i64);
                    append(&mut runs, run(fold, offset, length as i64));
                }
                memory.write(at as i64, &runs);
                let content = bytes(&runs).into_iter().map(Some);
                content.enumerate().for_each(|(index, byte)| plain[at + index] = byte);
                let (from, number) = (random.below(50), 1 + random.below(14));
                let mut read = Vec::new();
                let outcome = memory.read(from as i64, number as i64, &mut read);
                let expected = &plain[from..from + number];
                match expected.iter().position(Option::is_none) {
                    Some(hole) => assert_eq!(outcome, Err((from + hole) as i64)),
                    None => {
                        assert_eq!(outcome, Ok(()));
                        let expected: Vec<Origin> = expected.iter().copied().flatten().collect();
                        assert_eq!(bytes(&read), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn the_blocks_of_many_ranks_are_one_run() {
        let mut memory = Memory::default();
        for rank in [0, 2, 1, 3, 5, 4, 7, 6] {
            memory.write(8 * rank, &[run(rank, 16, 8)]);
        }
        let mut all = Vec::new();
        memory.read(0, 64, &mut all).unwrap();
        assert!(all.len() <= 3, "{all:?}");
        let (mut front, mut skipped, mut taken) = (Front::of(&all), Vec::new(), Vec::new());
        front.take(20, &mut skipped);
        front.take(8, &mut taken);
        assert_eq!(bytes(&taken), bytes(&[run(2, 20, 4), run(3, 16, 4)]));
    }
}
