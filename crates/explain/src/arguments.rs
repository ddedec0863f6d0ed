//! The arguments of `towpath explain`.

use std::path::PathBuf;

use towpath_base::config::nearest;
use towpath_schedule::Selection;

use crate::call::{COLLECTIVES, CollectiveName};

/// The output of `towpath explain --help`.
pub const HELP: &str = "\
Usage: towpath explain COLLECTIVE --hosts HOSTSxRANKS [options]

Says what a collective does on a described cluster, which need not exist: its messages by level,
the predicted time of each phase, and what limits it.

COLLECTIVE is barrier, bcast, gather, scatter, allgather, alltoall, reduce, allreduce,
reduce_scatter or scan.

  --hosts 8x8          8 hosts of 8 ranks; or the ranks of each host: --hosts 8,8,4
  --bytes 4096         of the vector, or of each rank's block; K and M mean KiB and MiB  [8]
  --root 3             the root                                                          [0]
  --map cyclic         ranks go to the hosts in turn; block: each host is filled first   [block]
  --topology FILE      rates and latencies of links (docs/topology-file.md); the hosts are those
                       that the file names, in its order
  --algorithms LIST    as in TOWPATH_COLLECTIVE, for instance gather:linear
  --draw FILE.png      draws when each host and its link are busy
";

/// Most ranks of a cluster.
const MOST_RANKS: usize = 100_000;
/// More bytes have more steps than can be simulated.
const MOST_BYTES: i64 = 64 << 30;

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) collective: &'static CollectiveName,
    /// Ranks of each host.
    pub(crate) ranks: Vec<usize>,
    pub(crate) is_cyclic: bool,
    pub(crate) bytes: i64,
    pub(crate) root: usize,
    pub(crate) topology: Option<PathBuf>,
    pub(crate) selection: Selection,
    pub(crate) picture: Option<PathBuf>,
}

impl Request {
    pub(crate) fn parse(arguments: &[String]) -> Result<Request, String> {
        let known = || COLLECTIVES.iter().map(|row| row.name);
        let Some((name, mut rest)) = arguments.split_first() else {
            return Err("A collective is missing: towpath explain gather --hosts 8x8".to_owned());
        };
        let plain = name.to_lowercase().replace('-', "_");
        let plain = plain.strip_prefix("mpi_").unwrap_or(&plain);
        let Some(collective) = COLLECTIVES.iter().find(|row| row.name == plain) else {
            let hint = nearest(plain, known()).map(|near| format!(" Did you mean {near}?"));
            let known: Vec<&str> = known().collect();
            let known = known.join(", ");
            return Err(format!("\"{name}\" is none of {known}.{}", hint.unwrap_or_default()));
        };
        let mut request = Request {
            collective,
            ranks: Vec::new(),
            is_cyclic: false,
            bytes: 8,
            root: 0,
            topology: None,
            selection: Selection::default(),
            picture: None,
        };
        while let Some((option, behind)) = rest.split_first() {
            let (option, value) = match option.split_once('=') {
                Some((option, value)) => {
                    rest = behind;
                    (option, value)
                }
                None => {
                    let (value, behind) =
                        behind.split_first().ok_or(format!("{option} needs a value."))?;
                    rest = behind;
                    (option.as_str(), value.as_str())
                }
            };
            request.set(option, value)?;
        }
        request.check()
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        let wrong = |what: &str| format!("{option} {value} is not {what}.");
        match option {
            "--hosts" => {
                self.ranks = ranks_of(value).ok_or_else(|| {
                    wrong("a number of hosts and ranks such as 8x8, or a list such as 8,8,4")
                })?;
            }
            "--bytes" => {
                self.bytes = bytes_of(value).ok_or_else(|| wrong("a number of bytes up to 64G"))?
            }
            "--root" => self.root = value.parse().map_err(|_| wrong("a rank"))?,
            "--map" => match value {
                "block" | "cyclic" => self.is_cyclic = value == "cyclic",
                _ => return Err(wrong("block or cyclic")),
            },
            "--topology" => self.topology = Some(value.into()),
            "--algorithms" => self.selection = Selection::parse("--algorithms", value)?,
            "--draw" => self.picture = Some(value.into()),
            _ => {
                return Err(format!("{option} is no option; towpath explain --help lists them."));
            }
        }
        Ok(())
    }

    fn check(self) -> Result<Request, String> {
        let ranks = self.size();
        if ranks == 0 {
            return Err("--hosts is missing, for instance --hosts 8x8.".to_owned());
        }
        if ranks > MOST_RANKS {
            return Err(format!("{ranks} ranks are more than the {MOST_RANKS} that it can do."));
        }
        if self.root >= ranks {
            return Err(format!("--root {} is not below the {ranks} ranks.", self.root));
        }
        if self.collective.is_reduction && self.bytes % 8 != 0 {
            return Err(format!(
                "--bytes {} is no multiple of 8, but a reduction is one of doubles.",
                self.bytes
            ));
        }
        Ok(self)
    }

    /// Number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.ranks.iter().fold(0, |sum, &ranks| sum.saturating_add(ranks))
    }
}

/// The ranks of each host.
fn ranks_of(text: &str) -> Option<Vec<usize>> {
    let number = |text: &str| text.parse().ok().filter(|number| (1..=MOST_RANKS).contains(number));
    match text.split_once('x') {
        Some((hosts, ranks)) => Some(vec![number(ranks)?; number(hosts)?]),
        None if text.contains(',') => text.split(',').map(number).collect(),
        None => Some(vec![1; number(text)?]),
    }
}

fn bytes_of(text: &str) -> Option<i64> {
    let (digits, factor) = match text.char_indices().last()? {
        (end, 'K' | 'k') => (&text[..end], 1 << 10),
        (end, 'M') => (&text[..end], 1 << 20),
        (end, 'G') => (&text[..end], 1 << 30),
        _ => (text, 1),
    };
    let bytes = digits.parse::<i64>().ok()?.checked_mul(factor)?;
    (0..=MOST_BYTES).contains(&bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_with_and_without_an_equals_sign() {
        let request = parse("MPI_Gather --hosts 3x2 --bytes=4K --root 5 --map cyclic").unwrap();
        assert_eq!((request.collective.name, request.bytes, request.root), ("gather", 4096, 5));
        assert_eq!((request.ranks, request.is_cyclic), (vec![2, 2, 2], true));
        assert_eq!(parse("scan --hosts 4,1").unwrap().ranks, [4, 1]);
        assert_eq!(parse("barrier --hosts 7").unwrap().ranks, [1; 7]);
    }

    #[test]
    fn mistakes_are_said_with_what_is_possible() {
        for (line, said) in [
            ("", "is missing"),
            ("gathr --hosts 2x2", "Did you mean gather?"),
            ("gather", "--hosts is missing"),
            ("gather --hosts 0x8", "such as 8x8"),
            ("gather --hosts 1000000000x8", "such as 8x8"),
            ("gather --hosts 90000x8", "more than the 100000"),
            ("gather --hosts 2x2 --root 4", "not below the 4 ranks"),
            ("gather --hosts", "needs a value"),
            ("gather --hosts 2x2 --byte 3", "is no option"),
            ("gather --hosts 2x2 --bytes -3", "number of bytes"),
            ("gather --hosts 2x2 --bytes 65G", "number of bytes up to 64G"),
            ("reduce --hosts 2x2 --bytes 12", "multiple of 8"),
            ("gather --hosts 2x2 --algorithms gather:fast", "for gather; known are"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
