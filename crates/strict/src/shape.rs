//! The measures of the strict mode: what every rank of a host has, and which of them make sense.

use towpath_base::config;
use towpath_transport::error::Error;

/// Bytes of a rank's buffer that the mode can be given at most.
pub const BUDGET_LIMIT: usize = 1 << 20;

/// Why the strict mode cannot be set up with what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Lines of another length.
    #[error("TOWPATH_STRICT_LINE_BYTES={0} is no length of a line; it is 32 or 64.")]
    Line(usize),
    /// Headers of another length.
    #[error("TOWPATH_STRICT_HEADER_LINES={0} is no length of a header; it is 2 or 3 lines.")]
    Header(usize),
    /// A budget that cannot be cut into lines, or is larger than anything this mode is for.
    #[error(
        "TOWPATH_STRICT_BUDGET_BYTES={budget} is no budget of a rank; it is a multiple of the line ({line} bytes) up to {BUDGET_LIMIT}."
    )]
    Budget {
        /// What was asked for, in bytes.
        budget: usize,
        /// Bytes of a line.
        line: usize,
    },
    /// The budget has no room for a section of every rank.
    #[error(
        "TOWPATH_STRICT_BUDGET_BYTES={budget} is too little for {ranks} ranks on this host: each needs a header line and a line of \
         payload, {needed} bytes in all."
    )]
    TooManyRanks {
        /// What was asked for, in bytes.
        budget: usize,
        /// Ranks of this host.
        ranks: usize,
        /// Bytes that they need.
        needed: usize,
    },
    /// Something in the list of cores that is no core.
    #[error(
        "TOWPATH_STRICT_CORES={0} is no list of cores; it has numbers from 0 to 47, separated by commas, one for each rank of this host."
    )]
    Cores(String),
    /// No memory for the buffer.
    #[error("there is no shared memory for a buffer of {0} bytes; make /dev/shm or the memory limit larger.")]
    Memory(usize),
    /// Another channel.
    #[error("TOWPATH_CHANNEL={0} is no channel; it is shared or strict.")]
    Channel(String),
}

impl From<Unfit> for Error {
    fn from(unfit: Unfit) -> Error {
        Error::Setting(unfit.to_string())
    }
}

/// What can be chosen; all ranks of a host must choose alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of each rank's buffer.
    pub budget: usize,
    /// Bytes of a line.
    pub line: usize,
    /// Lines of a header slot once a topology is declared.
    pub header_lines: usize,
    /// Virtual core of each local rank; rank i is on core i (modulo 48) where the list ends.
    pub cores: Vec<u32>,
    /// Time that each line moved takes at least, in nanoseconds; 0 with the next: what it takes.
    pub line_nanoseconds: u64,
    /// What is added for each hop between the cores.
    pub hop_nanoseconds: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { budget: 8192, line: 32, header_lines: 2, cores: Vec::new(), line_nanoseconds: 0, hop_nanoseconds: 0 }
    }
}

/// Whether the environment asks for the strict mode, and with which settings.
pub fn chosen() -> Result<Option<Settings>, Unfit> {
    match config::setting("TOWPATH_CHANNEL").as_deref().map(str::trim) {
        None | Some("shared") => return Ok(None),
        Some("strict") => {}
        Some(other) => return Err(Unfit::Channel(other.to_owned())),
    }
    let size =
        |name, default| config::number(name).map_or(default, |value| usize::try_from(value).unwrap_or(usize::MAX));
    let time = |name| config::number(name).unwrap_or(0);
    let usual = Settings::default();
    Ok(Some(Settings {
        budget: size("TOWPATH_STRICT_BUDGET_BYTES", usual.budget),
        line: size("TOWPATH_STRICT_LINE_BYTES", usual.line),
        header_lines: size("TOWPATH_STRICT_HEADER_LINES", usual.header_lines),
        cores: config::setting("TOWPATH_STRICT_CORES").map_or(Ok(Vec::new()), |text| read_cores(&text))?,
        line_nanoseconds: time("TOWPATH_STRICT_LINE_NANOSECONDS"),
        hop_nanoseconds: time("TOWPATH_STRICT_HOP_NANOSECONDS"),
    }))
}

fn read_cores(text: &str) -> Result<Vec<u32>, Unfit> {
    let core = |word: &str| word.trim().parse().ok().filter(|core| *core < super::mesh::CORES);
    text.split(',').map(core).collect::<Option<_>>().ok_or_else(|| Unfit::Cores(text.to_owned()))
}

/// The measures of one host's buffers, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) ranks: usize,
    /// Bytes of a line.
    pub(crate) line: usize,
    /// Lines of a buffer.
    pub(crate) lines: usize,
    /// Lines of a header slot once a topology is declared.
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

    /// Bytes of a buffer.
    pub(crate) fn budget(&self) -> usize {
        self.lines * self.line
    }

    /// One word that differs where measures differ.
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
        let said = |settings: &Settings, ranks| Shape::new(settings, ranks).unwrap_err().to_string();
        assert!(said(&Settings { line: 48, ..usual.clone() }, 2).contains("LINE_BYTES=48"));
        assert!(said(&Settings { header_lines: 1, ..usual.clone() }, 2).contains("HEADER_LINES=1"));
        for budget in [0, 8191, BUDGET_LIMIT + 32, usize::MAX] {
            assert!(said(&Settings { budget, ..usual.clone() }, 2).contains("no budget"), "{budget}");
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
        let mut words: Vec<u32> = others.iter().map(|settings| Shape::new(settings, 2).unwrap().word()).collect();
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
