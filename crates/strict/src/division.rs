//! Divides a rank's buffer among its senders (the paper's two layouts).
//!
//! The first header line of each sender never moves: that of sender i is line i. Payload follows
//! after all header lines. Without a topology the sections are equal: each of n senders has one
//! n-th of the buffer, all of it payload except the header line. With a topology, each sender keeps
//! the remaining lines of its header slot as payload, and the declared neighbours get the rest, by
//! weight.

use super::shape::Shape;

/// The payload area of one sender in a buffer: offset and length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

/// The payload area of every sender, by local rank.
pub(crate) type Division = Vec<Place>;

/// A buffer of `n` equal sections.
pub(crate) fn flat(shape: &Shape) -> Division {
    let payload = flat_lines(shape);
    (0..shape.ranks).map(|sender| place(shape, shape.ranks + sender * payload, payload)).collect()
}

/// The buffer of a rank whose senders have these weights; 0 for a rank that is not a neighbour. The
/// sections are equal if no neighbour would gain.
pub(crate) fn shaped(shape: &Shape, weights: &[u64]) -> Division {
    let slot = shape.header_lines - 1;
    let headers = shape.ranks * shape.header_lines;
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if headers >= shape.lines || total == 0 {
        return flat(shape);
    }
    let rest = shape.lines - headers;
    let share = |weight: u64| (rest as u128 * u128::from(weight) / total) as usize;
    if weights.iter().all(|weight| share(*weight) <= flat_lines(shape)) {
        return flat(shape);
    }
    let mut next = headers;
    let mut divide = |(sender, weight): (usize, &u64)| {
        let lines = share(*weight);
        if lines <= slot {
            return place(shape, shape.ranks + sender * slot, slot);
        }
        next += lines;
        place(shape, next - lines, lines)
    };
    weights.iter().enumerate().map(&mut divide).collect()
}

/// Payload lines in each of the equal sections.
fn flat_lines(shape: &Shape) -> usize {
    shape.lines / shape.ranks - 1
}

fn place(shape: &Shape, line: usize, lines: usize) -> Place {
    Place { offset: (line * shape.line) as u32, bytes: (lines * shape.line) as u32 }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Settings;
    use super::*;

    fn shape(ranks: usize, budget: usize, line: usize, header_lines: usize) -> Shape {
        Shape::new(&Settings { budget, line, header_lines, ..Settings::default() }, ranks).unwrap()
    }

    /// The weights in a ring of `ranks` ranks, as seen by rank 0.
    fn ring(ranks: usize) -> Vec<u64> {
        (0..ranks).map(|rank| u64::from(rank == 1 || rank + 1 == ranks)).collect()
    }

    fn assert_sound(shape: &Shape, division: &Division) {
        let mut taken: Vec<_> =
            division.iter().map(|place| (place.offset, place.offset + place.bytes)).collect();
        taken.sort_unstable();
        assert!(
            division.iter().all(|place| place.bytes > 0),
            "{shape:?}: somebody has no room: {division:?}"
        );
        assert!(
            taken[0].0 as usize >= shape.ranks * shape.line,
            "{shape:?}: payload over the headers"
        );
        assert!(
            taken.windows(2).all(|pair| pair[0].1 <= pair[1].0),
            "{shape:?}: places overlap: {taken:?}"
        );
        assert!(taken.last().unwrap().1 as usize <= shape.budget(), "{shape:?}: beyond the budget");
    }

    #[test]
    fn chunks_are_those_of_the_chip() {
        for (ranks, bytes) in [(2, 4064), (12, 640), (24, 288), (48, 128)] {
            assert_eq!(flat(&shape(ranks, 8192, 32, 2))[1].bytes, bytes);
        }
        for (header_lines, bytes) in [(2, 2560), (3, 1792)] {
            let division = shaped(&shape(48, 8192, 32, header_lines), &ring(48));
            assert_eq!((division[1].bytes, division[47].bytes), (bytes, bytes));
            assert_eq!(division[2].bytes as usize, (header_lines - 1) * 32);
        }
        assert_eq!(flat(&shape(48, 8192, 64, 2))[5].bytes, 64);
        assert_eq!(shaped(&shape(48, 8192, 64, 2), &ring(48))[1].bytes, 1024);
        // Three lines of 64 bytes for each of 48 ranks do not fit, so the division stays equal.
        let tight = shape(48, 8192, 64, 3);
        assert_eq!(shaped(&tight, &ring(48)), flat(&tight));
    }

    #[test]
    fn weights_count_and_the_lightest_keep_their_slot() {
        let shape = shape(16, 8192, 32, 2);
        let mut weights = vec![0; 16];
        (weights[3], weights[7], weights[9]) = (3, 1, 1);
        let division = shaped(&shape, &weights);
        assert_eq!((division[3].bytes, division[7].bytes), (134 * 32, 44 * 32));
        weights[9] = 1_000_000;
        assert_eq!(shaped(&shape, &weights)[7].bytes, 32);
    }

    #[test]
    fn every_division_is_sound() {
        for ranks in [1, 2, 3, 16, 48, 100] {
            for (budget, line) in [(8192, 32), (16384, 64), (32768, 64)] {
                for header_lines in [2, 3] {
                    let shape = shape(ranks, budget, line, header_lines);
                    assert_sound(&shape, &flat(&shape));
                    let star: Vec<u64> = (0..ranks).map(|rank| u64::from(rank > 0)).collect();
                    let uneven: Vec<u64> =
                        (0..ranks).map(|rank| (rank as u64 % 5).pow(9)).collect();
                    for weights in
                        [ring(ranks), star, uneven, vec![u64::MAX; ranks], vec![0; ranks]]
                    {
                        assert_sound(&shape, &shaped(&shape, &weights));
                    }
                }
            }
        }
    }

    #[test]
    fn a_complete_graph_is_no_reason_to_divide() {
        let shape = shape(48, 8192, 32, 2);
        assert_eq!(shaped(&shape, &[1; 48]), flat(&shape));
    }
}
