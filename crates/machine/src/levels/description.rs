//! Textual descriptions of machines, for tests and for experiments with a machine that is not
//! available (the setting TOWPATH_MACHINE).
//!
//! One line per level, coarsest first: the name, and the number of instances in each instance of
//! the level above, either as a number or, for a mesh, as columns x rows. Processors are numbered
//! consecutively. `ranks` lists the processors of the host's ranks in the kernel's list format;
//! without it, rank i runs on processor i. A semicolon also ends a line, and `#` starts a comment.
//!
//! ```text
//! # The Single-Chip Cloud Computer
//! tile 6x4
//! core 2
//! ranks 0-47
//! ```

use std::{fmt, fs};

use super::{MOST_LEVELS, ProcessPlace};
use crate::resources;

/// More processors than any machine has: larger products are rejected as typing errors.
const MOST_PROCESSORS: usize = 1 << 20;

/// One level of a described machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DescribedLevel {
    name: String,
    /// Number of instances in each instance of the level above.
    count: u32,
    /// Columns of the mesh; 0 if there is none.
    columns: u32,
}

/// A described machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineDescription {
    levels: Vec<DescribedLevel>,
    /// The processor of each rank of the host; further ranks wrap around.
    ranks: Vec<usize>,
}

impl MachineDescription {
    /// Reads the value of the setting: the name of a file with a description, or the description
    /// itself.
    pub fn of_setting(value: &str) -> Result<MachineDescription, String> {
        let text = fs::read_to_string(value).unwrap_or_else(|_| value.to_owned());
        MachineDescription::parse(&text).map_err(|problem| {
            format!(
                "TOWPATH_MACHINE ({value}) is neither a readable file nor a description: {problem}"
            )
        })
    }

    /// Parses a description; an error is a complete sentence.
    pub fn parse(text: &str) -> Result<MachineDescription, String> {
        let mut levels = Vec::new();
        let mut ranks = None;
        for line in text.lines().flat_map(|line| line.split('#').next().unwrap_or("").split(';')) {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                [] => {}
                ["ranks", list] => {
                    ranks = Some(
                        resources::parse(list)
                            .ok_or_else(|| format!("'{list}' is not a list such as 0-3,8."))?,
                    );
                }
                [name, count] => levels.push(level(name, count)?),
                _ => {
                    return Err(format!(
                        "'{}' is not the name of a level and a number.",
                        line.trim()
                    ));
                }
            }
        }
        if levels.is_empty() || levels.len() >= MOST_LEVELS {
            return Err(format!(
                "it has {} levels; 1 to {} are possible.",
                levels.len(),
                MOST_LEVELS - 1
            ));
        }
        let product = levels
            .iter()
            .try_fold(1usize, |product, level| product.checked_mul(level.count as usize));
        let Some(processors) = product.filter(|&product| product <= MOST_PROCESSORS) else {
            return Err(format!("it has more than {MOST_PROCESSORS} processors."));
        };
        let ranks = ranks.unwrap_or_else(|| (0..processors).collect());
        match ranks.iter().find(|&&processor| processor >= processors) {
            Some(processor) => Err(format!(
                "processor {processor} does not exist; there are 0 to {}.",
                processors - 1
            )),
            None => Ok(MachineDescription { levels, ranks }),
        }
    }

    /// The location of a rank of a host.
    pub fn place(&self, host: u32, local_rank: usize) -> ProcessPlace {
        let mut below: usize = self.levels.iter().map(|level| level.count as usize).product();
        let processor = self.ranks[local_rank % self.ranks.len()];
        let levels = self.levels.iter().map(|level| {
            let above = below;
            below /= level.count as usize;
            Some(((processor % above / below) as u32, level.columns))
        });
        ProcessPlace::below(host, levels)
    }

    /// For each level: its name, the number of instances in the machine, the processors per
    /// instance, and the columns of the mesh (0: none).
    pub fn levels(&self) -> Vec<(&str, usize, usize, usize)> {
        let processors: usize = self.levels.iter().map(|level| level.count as usize).product();
        let mut instances = 1;
        let mut view = |level: &'_ DescribedLevel| {
            instances *= level.count as usize;
            (instances, processors / instances)
        };
        let sizes: Vec<(usize, usize)> = self.levels.iter().map(&mut view).collect();
        let named = self.levels.iter().zip(sizes);
        named
            .map(|(level, (count, each))| {
                (level.name.as_str(), count, each, level.columns as usize)
            })
            .collect()
    }
}

/// The levels in the words of a description, in one line and without the processors of ranks.
impl fmt::Display for MachineDescription {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, DescribedLevel { name, count, columns }) in self.levels.iter().enumerate() {
            let separator = if number > 0 { "; " } else { "" };
            match columns {
                0 => write!(to, "{separator}{name} {count}")?,
                _ => write!(to, "{separator}{name} {columns}x{}", count / columns)?,
            }
        }
        Ok(())
    }
}

fn level(name: &str, count: &str) -> Result<DescribedLevel, String> {
    let number =
        |text: &str| text.parse::<u32>().ok().filter(|number| (1..=1 << 16).contains(number));
    let read = match count.split_once('x') {
        Some((columns, rows)) => number(columns)
            .zip(number(rows))
            .map(|(columns, rows)| (columns.saturating_mul(rows), columns)),
        None => number(count).map(|count| (count, 0)),
    };
    let (count, columns) = read.ok_or_else(|| {
        format!("'{count}' of level {name} is neither a positive number nor of the form 6x4.")
    })?;
    Ok(DescribedLevel { name: name.to_owned(), count, columns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_numbers_processors_through_and_ranks_begin_again() {
        let machine =
            MachineDescription::parse("# a remark\npackage 2 # sockets\n\ncore 3; ranks 0,3,1,4")
                .unwrap();
        let path = |rank| [1, 2].map(|level| machine.place(0, rank).instance(level).unwrap());
        assert_eq!([0, 1, 2, 3, 4].map(path), [[0, 0], [1, 0], [0, 1], [1, 1], [0, 0]]);
        assert_eq!(machine.levels(), [("package", 2, 3, 0), ("core", 6, 1, 0)]);
        assert_eq!(machine.to_string(), "package 2; core 3");
        let mesh = MachineDescription::parse("tile 6x4; core 2").unwrap();
        assert_eq!(mesh.levels()[0], ("tile", 24, 2, 6));
        assert_eq!(mesh.to_string(), "tile 6x4; core 2");
    }

    #[test]
    fn mistakes_are_sentences() {
        for (text, part) in [
            ("", "0 levels"),
            ("core", "name of a level and a number"),
            ("core 0", "'0' of level core"),
            ("core -1", "'-1'"),
            ("core 3x", "'3x'"),
            ("core 4; ranks 4", "processor 4 does not exist"),
            ("core 4; ranks 1-x", "not a list"),
            ("a 60000; b 60000", "more than"),
            ("a 65536x65536", "more than"),
            ("core 4; ranks 0-99999999999", "not a list"),
            ("a 1; b 1; c 1; d 1; e 1; f 1; g 1; h 1", "8 levels"),
        ] {
            let said = MachineDescription::parse(text).unwrap_err();
            assert!(said.contains(part) && said.ends_with('.'), "{text}: {said}");
        }
        assert!(
            MachineDescription::of_setting("/no/such/file").unwrap_err().contains("/no/such/file")
        );
    }

    #[test]
    fn a_setting_names_a_file_or_is_the_description() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), "package 2\ncore 2\n").expect("room");
        let expected = MachineDescription::parse("package 2; core 2");
        assert_eq!(MachineDescription::of_setting(file.path().to_str().expect("text")), expected);
        assert_eq!(MachineDescription::of_setting("package 2; core 2"), expected);
    }
}
