//! The parameters of strict mode: those that every rank of a host shares, and which values are
//! valid.

use towpath_base::config;
use towpath_transport::error::Error;

/// Largest buffer of a rank in bytes.
pub const BUDGET_LIMIT: usize = 1 << 20;

/// Why strict mode cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Invalid size of a line.
    #[error("TOWPATH_STRICT_LINE_BYTES={0} is not a valid line length; use 32 or 64.")]
    Line(usize),
    /// Invalid size of a header.
    #[error("TOWPATH_STRICT_HEADER_LINES={0} is not a valid header length; use 2 or 3 lines.")]
    Header(usize),
    /// A budget that is not a multiple of the line size, or is larger than the mode is meant for.
    #[error(
        "TOWPATH_STRICT_BUDGET_BYTES={budget} is not a valid budget; use a multiple of the line \
         ({line} bytes) up to {BUDGET_LIMIT}."
    )]
    Budget {
        /// The requested size in bytes.
        budget: usize,
        /// Size of a line in bytes.
        line: usize,
    },
    /// The budget has no room for a section of every rank.
    #[error(
        "TOWPATH_STRICT_BUDGET_BYTES={budget} is too little for {ranks} ranks on this host: each needs a header line and a line of \
         payload, {needed} bytes in all."
    )]
    TooManyRanks {
        /// The requested size in bytes.
        budget: usize,
        /// Ranks of this host.
        ranks: usize,
        /// Bytes that they need.
        needed: usize,
    },
    /// An invalid core in the list of cores.
    #[error(
        "TOWPATH_STRICT_CORES={0} is not a list of cores; use numbers from 0 to 47, separated by \
         commas, one for each rank of this host."
    )]
    Cores(String),
    /// Shared memory for the buffer is short.
    #[error(
        "there is no shared memory for a buffer of {0} bytes; make /dev/shm or the memory limit larger."
    )]
    Memory(usize),
}

impl From<Unfit> for Error {
    fn from(unfit: Unfit) -> Error {
        Error::Setting(unfit.to_string())
    }
}

/// The settings; all ranks of a host must use the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Size of each rank's buffer in bytes.
    pub budget: usize,
    /// Size of a line in bytes.
    pub line: usize,
    /// Lines of a header slot while a topology is declared.
    pub header_lines: usize,
    /// Virtual core of each local rank; rank i is on core i (modulo 48) if the list is shorter.
    pub cores: Vec<u32>,
    /// Minimum time to move a line, in nanoseconds; no delay if this and `hop_nanoseconds` are 0.
    pub line_nanoseconds: u64,
    /// Additional time per hop between the cores, in nanoseconds.
    pub hop_nanoseconds: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            budget: 8192,
            line: 32,
            header_lines: 2,
            cores: Vec::new(),
            line_nanoseconds: 0,
            hop_nanoseconds: 0,
        }
    }
}

impl Settings {
    /// The settings from the environment.
    ///
    /// # Errors
    /// [`Unfit::Cores`] if the list of cores cannot be read.
    pub fn from_environment() -> Result<Settings, Unfit> {
        let size = |name, default| {
            config::number(name)
                .map_or(default, |value| usize::try_from(value).unwrap_or(usize::MAX))
        };
        let time = |name| config::number(name).unwrap_or(0);
        let usual = Settings::default();
        Ok(Settings {
            budget: size("TOWPATH_STRICT_BUDGET_BYTES", usual.budget),
            line: size("TOWPATH_STRICT_LINE_BYTES", usual.line),
            header_lines: size("TOWPATH_STRICT_HEADER_LINES", usual.header_lines),
            cores: config::setting("TOWPATH_STRICT_CORES")
                .map_or(Ok(Vec::new()), |text| read_cores(&text))?,
            line_nanoseconds: time("TOWPATH_STRICT_LINE_NANOSECONDS"),
            hop_nanoseconds: time("TOWPATH_STRICT_HOP_NANOSECONDS"),
        })
    }
}

fn read_cores(text: &str) -> Result<Vec<u32>, Unfit> {
    let core = |word: &str| word.trim().parse().ok().filter(|core| *core < super::mesh::CORES);
    text.split(',').map(core).collect::<Option<_>>().ok_or_else(|| Unfit::Cores(text.to_owned()))
}

/// The validated parameters of the buffers of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) ranks: usize,
    /// Size of a line in bytes.
    pub(crate) line: usize,
    /// Lines of a buffer.
    pub(crate) lines: usize,
    /// Lines of a header slot while a topology is declared.
    pub(crate) header_lines: usize,
}

impl Shape {
    pub(crate) fn new(settings: &Settings, ranks: usize) -> Result<Shape, Unfit> {
        let Settings { budget, line, header_lines, .. } = *settings;
        if line != 32 && line != 64 {
            return Err(Unfit::Line(line));
        }
        if header_lines != 2 && header_lines != 3 {
            return Err(Unfit::Header(header_lines));
        }
        if budget == 0 || budget > BUDGET_LIMIT || !budget.is_multiple_of(line) {
            return Err(Unfit::Budget { budget, line });
        }
        let needed = 2 * line * ranks;
        if budget < needed {
            return Err(Unfit::TooManyRanks { budget, ranks, needed });
        }
        Ok(Shape { ranks, line, lines: budget / line, header_lines })
    }

    /// Size of a buffer in bytes.
    pub(crate) fn budget(&self) -> usize {
        self.lines * self.line
    }

    /// A word that differs if any parameter differs.
    pub(crate) fn word(&self) -> u32 {
        self.lines as u32 | ((self.line / 32) as u32) << 16 | (self.header_lines as u32) << 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_said_in_a_sentence() {
        let usual = Settings::default();
        assert!(Shape::new(&usual, 48).is_ok());
        let said =
            |settings: &Settings, ranks| Shape::new(settings, ranks).unwrap_err().to_string();
        assert!(said(&Settings { line: 48, ..usual.clone() }, 2).contains("LINE_BYTES=48"));
        assert!(said(&Settings { header_lines: 1, ..usual.clone() }, 2).contains("HEADER_LINES=1"));
        for budget in [0, 8191, BUDGET_LIMIT + 32, usize::MAX] {
            assert!(
                said(&Settings { budget, ..usual.clone() }, 2).contains("not a valid budget"),
                "{budget}"
            );
        }
        assert!(said(&usual, 129).contains("129 ranks"));
        assert!(Shape::new(&usual, 128).is_ok());
    }

    #[test]
    fn measures_that_differ_have_words_that_differ() {
        let usual = Settings::default();
        let others = [
            Settings { budget: 4096, ..usual.clone() },
            Settings { line: 64, ..usual.clone() },
            Settings { budget: 16384, line: 64, ..usual.clone() },
            Settings { header_lines: 3, ..usual.clone() },
            usual,
        ];
        let mut words: Vec<u32> =
            others.iter().map(|settings| Shape::new(settings, 2).unwrap().word()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), others.len());
    }

    #[test]
    fn cores_are_numbers_on_the_chip() {
        assert_eq!(read_cores("0, 47"), Ok(vec![0, 47]));
        for text in ["", "0,48", "0;1", "-1"] {
            assert_eq!(read_cores(text), Err(Unfit::Cores(text.to_owned())));
        }
    }
}
