//! The chip's mesh (6 x 4 tiles of 2 cores, XY routing) and the costs of moving lines over it:
//! counted, and on request simulated by waiting.

use towpath_machine::clock;

use super::shape::Settings;

/// Cores of the chip.
pub const CORES: u32 = 48;
const TILES_IN_A_ROW: u32 = 6;

/// Hops between two cores: the Manhattan distance of their tiles.
pub fn distance(one: u32, other: u32) -> u32 {
    let tile = |core: u32| (core / 2 % TILES_IN_A_ROW, core / 2 / TILES_IN_A_ROW);
    let ((x, y), (to_x, to_y)) = (tile(one), tile(other));
    x.abs_diff(to_x) + y.abs_diff(to_y)
}

/// What this rank has done, in units of the chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Chunks written into sections in other buffers.
    pub chunks: u64,
    /// Payload lines in these chunks.
    pub lines: u64,
    /// The same, each line multiplied by its hops.
    pub line_hops: u64,
    /// Chunks read from this rank's own buffer.
    pub taken: u64,
    /// Header lines that had to be polled for them: those of all ranks, for each chunk.
    pub polls: u64,
    /// Header lines polled in total, waiting included.
    pub looks: u64,
}

/// The positions of the local ranks on the mesh, and the time that a line takes.
#[derive(Clone, Debug)]
pub(crate) struct Mesh {
    cores: Vec<u32>,
    line_seconds: f64,
    hop_seconds: f64,
}

impl Mesh {
    pub(crate) fn new(settings: &Settings, ranks: usize) -> Mesh {
        let core = |rank: usize| settings.cores.get(rank).copied().unwrap_or(rank as u32 % CORES);
        Mesh {
            cores: (0..ranks).map(core).collect(),
            line_seconds: settings.line_nanoseconds as f64 * 1e-9,
            hop_seconds: settings.hop_nanoseconds as f64 * 1e-9,
        }
    }

    /// Hops between two local ranks.
    pub(crate) fn distance(&self, one: usize, other: usize) -> u32 {
        distance(self.cores[one], self.cores[other])
    }

    /// The start time of a move, for [`Mesh::finish`]; `None` if lines are not delayed.
    pub(crate) fn begin(&self) -> Option<f64> {
        (self.line_seconds + self.hop_seconds > 0.0).then(clock::seconds)
    }

    /// Spins until the chip would have moved `lines` lines over `hops` hops. On the chip, too, the
    /// core is busy all this time.
    pub(crate) fn finish(&self, begun: f64, lines: u64, hops: u32) {
        let end = begun + lines as f64 * (self.line_seconds + f64::from(hops) * self.hop_seconds);
        while clock::seconds() < end {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_paper() {
        assert_eq!([distance(0, 1), distance(0, 10), distance(0, 47)], [0, 5, 8]);
        assert!(
            (0..CORES)
                .all(|one| (0..CORES).all(|other| distance(one, other) == distance(other, one)))
        );
        assert_eq!((0..CORES).map(|core| distance(0, core)).max(), Some(8));
    }

    #[test]
    fn a_line_takes_at_least_its_time() {
        let settings = Settings {
            line_nanoseconds: 1000,
            hop_nanoseconds: 500,
            cores: vec![0, 47],
            ..Settings::default()
        };
        let mesh = Mesh::new(&settings, 2);
        assert_eq!(mesh.distance(0, 1), 8);
        let begun = mesh.begin().unwrap();
        mesh.finish(begun, 100, 8);
        assert!(clock::seconds() - begun >= 100.0 * 5e-6);
        assert!(Mesh::new(&Settings::default(), 2).begin().is_none());
    }
}
