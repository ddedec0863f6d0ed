//! The settings: the environment variables that configure Towpath, their defaults and meanings.
//!
//! Only this module reads the environment. `towpath info` prints the same table.

use std::ffi::OsString;

/// Type of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A non-negative integer.
    Number,
    /// An integer between the two bounds, inclusive; a value outside is clamped.
    Between(u64, u64),
    /// Text, interpreted by the code that uses the setting.
    Text,
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the environment variable.
    pub name: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// Value used if the variable is not set, as text; empty means "decided at run time".
    pub default: &'static str,
    /// What the setting does, and the unit of its value.
    pub meaning: &'static str,
}

/// Every setting of the library. Launcher variables (such as those of PMI) are also read through
/// [`environment`] but are not settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "TOWPATH_SPIN_MICROSECONDS",
        kind: Kind::Number,
        default: "",
        meaning: "how long a wait polls before it yields, in microseconds; 0 if there are more \
                  ranks than cores",
    },
    Setting {
        name: "TOWPATH_EAGER_BYTES",
        kind: Kind::Number,
        default: "",
        meaning: "largest message that is sent eagerly, without a request of the receiver, in \
                  bytes",
    },
    Setting {
        name: "TOWPATH_RING_BYTES",
        kind: Kind::Between(16 << 10, 1 << 20),
        default: "65536",
        meaning: "payload bytes of the ring of a hot pair of ranks; a quarter is the largest eager message",
    },
    Setting {
        name: "TOWPATH_HOT_SENDS",
        kind: Kind::Number,
        default: "4",
        meaning: "number of sends to one peer after which the pair gets a ring of its own",
    },
    Setting {
        name: "TOWPATH_ARENA_BYTES",
        kind: Kind::Between(0, 8 << 20),
        default: "",
        meaning: "bytes of the area from which a rank grants rings to its senders, 0 to 8 MiB; if \
                  set, large messages use no bounce buffers",
    },
    Setting {
        name: "TOWPATH_SHOW_CHANNEL",
        kind: Kind::Between(0, 1),
        default: "0",
        meaning: "1: each rank prints which ring each sender has in its shared memory, after each \
                  topology and at the end",
    },
    Setting {
        name: "TOWPATH_CHARES_BALANCER",
        kind: Kind::Text,
        default: "",
        meaning: "who balances the loads of chares: none, greedy, refine, hierarchical, rotate or \
                  random; if not set, the program says it",
    },
    Setting {
        name: "TOWPATH_CHARES_RESTART",
        kind: Kind::Text,
        default: "",
        meaning: "directory of a checkpoint of chares from which the program restarts",
    },
    Setting {
        name: "TOWPATH_SHOW_COUNTERS",
        kind: Kind::Between(0, 1),
        default: "0",
        meaning: "1: each rank prints at the end what it has counted: unexpected and large \
                  messages, sends that had to wait, sleeps",
    },
    Setting {
        name: "TOWPATH_UNEXPECTED_BYTES",
        kind: Kind::Number,
        default: "",
        meaning: "bytes of eager messages (64 more for each) that one sender may have in flight to \
                  one receiver that has not received them; by default 1048576, and more while \
                  the receiver's memory allows",
    },
    Setting {
        name: "TOWPATH_CHANNEL",
        kind: Kind::Text,
        default: "shared",
        meaning: "shared: this library's channel; strict: that of the Single-Chip Cloud Computer, \
                  with a fixed buffer for each rank (mpiexec uses the libraries in lib/strict, \
                  which contain it)",
    },
    Setting {
        name: "TOWPATH_STRICT_BUDGET_BYTES",
        kind: Kind::Number,
        default: "8192",
        meaning: "strict channel: bytes of each rank's buffer, in which every other rank has a \
                  section",
    },
    Setting {
        name: "TOWPATH_STRICT_LINE_BYTES",
        kind: Kind::Number,
        default: "32",
        meaning: "strict channel: size of a line in bytes, 32 or 64",
    },
    Setting {
        name: "TOWPATH_STRICT_HEADER_LINES",
        kind: Kind::Number,
        default: "2",
        meaning: "strict channel: lines of each rank's header slot while a topology divides the \
                  buffer among neighbours, 2 or 3",
    },
    Setting {
        name: "TOWPATH_STRICT_CORES",
        kind: Kind::Text,
        default: "",
        meaning: "strict channel: core of the chip (0 to 47) of each rank of a host, separated by \
                  commas; by default rank i has core i",
    },
    Setting {
        name: "TOWPATH_STRICT_LINE_NANOSECONDS",
        kind: Kind::Between(0, 1_000_000_000),
        default: "0",
        meaning: "strict channel: minimum time to move a line, in nanoseconds",
    },
    Setting {
        name: "TOWPATH_STRICT_HOP_NANOSECONDS",
        kind: Kind::Between(0, 1_000_000_000),
        default: "0",
        meaning: "strict channel: additional time for each hop of a line over the chip's mesh, in \
                  nanoseconds",
    },
    Setting {
        name: "TOWPATH_HEAP",
        kind: Kind::Between(0, 1),
        default: "1",
        meaning: "1: large blocks of MPI_Alloc_mem are shared by the ranks of a host and copied once; 0: they are private",
    },
    Setting {
        name: "TOWPATH_DIRECT_BYTES",
        kind: Kind::Number,
        default: "0",
        meaning: "smallest message from shared blocks that is copied once; 0: the size of a cache, \
                  which is best for buffers that the program writes",
    },
    Setting {
        name: "TOWPATH_MALLOC",
        kind: Kind::Between(0, 1),
        default: "0",
        meaning: "1: mpiexec preloads libtowpath-malloc.so, so that malloc blocks of 128 KiB and \
                  more are shared, and long messages copied once; 0: it does not",
    },
    Setting {
        name: "TOWPATH_COLLECTIVE",
        kind: Kind::Text,
        default: "",
        meaning: "algorithms to use regardless of size, as collective:algorithm pairs separated by \
                  commas; the hint towpath_collective selects those of one communicator",
    },
    Setting {
        name: "TOWPATH_NETWORK",
        kind: Kind::Text,
        default: "best",
        meaning: "transport to other hosts: clic (frames), udp (frames over UDP only), tcp, ofi \
                  (libfabric); best: ofi if all are on a real fabric, else for each pair of hosts \
                  clic below IP if it works and is faster, or tcp",
    },
    Setting {
        name: "TOWPATH_CLIC_BULK",
        kind: Kind::Text,
        default: "best",
        meaning: "how large messages are sent to hosts that frames reach: frames, stream (a TCP \
                  connection), or best",
    },
    Setting {
        name: "TOWPATH_CLIC_COPY",
        kind: Kind::Between(0, 1),
        default: "0",
        meaning: "1: large messages sent in frames are first copied once, to measure what that \
                  costs; 0: they are sent from user memory",
    },
    Setting {
        name: "TOWPATH_LIBFABRIC",
        kind: Kind::Text,
        default: "",
        meaning: "path of the libfabric to load; by default libfabric.so.1, as the loader finds it",
    },
    Setting {
        name: "TOWPATH_OFI_PROVIDER",
        kind: Kind::Text,
        default: "",
        meaning: "libfabric provider to use, such as tcp or verbs;ofi_rxm, even without a real \
                  fabric; by default cxi, efa, verbs or psm3",
    },
    Setting {
        name: "TOWPATH_TCP_INTERFACES",
        kind: Kind::Text,
        default: "",
        meaning: "interfaces (eth0) or networks (10.1.0.0/16) by which other hosts may be reached, \
                  separated by commas; by default all",
    },
    Setting {
        name: "TOWPATH_TCP_TIMEOUT_SECONDS",
        kind: Kind::Between(1, 86_400),
        default: "120",
        meaning: "how long another host may leave sent data unacknowledged before its ranks count \
                  as lost, in seconds",
    },
    Setting {
        name: "TOWPATH_MEMORY_ALLOC_KINDS",
        kind: Kind::Text,
        default: "",
        meaning: "memory allocation kinds that the program requests, separated by commas (mpiexec \
                  -memory-alloc-kinds); MPI_INFO_ENV tells them",
    },
    Setting {
        name: "TOWPATH_MACHINE",
        kind: Kind::Text,
        default: "",
        meaning: "a machine on which ranks are placed instead of this one: a description (package \
                  2; core 8) or a file that contains one",
    },
    Setting {
        name: "TOWPATH_DEVICE_PATH",
        kind: Kind::Text,
        default: "",
        meaning: "the only way that messages between the device memory of processes of a host go: \
                  ipc, ring, pinned or bounce; if not set, the first of these that is possible",
    },
    Setting {
        name: "TOWPATH_TOPOLOGY",
        kind: Kind::Text,
        default: "",
        meaning: "file that describes the links between the hosts of a job \
                  (docs/topology-file.md); mpiexec or rank 0 reads it; none: also none that towpath \
                  tune has stored",
    },
    Setting {
        name: "TOWPATH_MEASURE_LINKS",
        kind: Kind::Between(0, 1),
        default: "1",
        meaning: "0: the links between hosts are not measured while a job runs; all ranks need the \
                  same value",
    },
    Setting {
        name: "TOWPATH_CHARES_CHECK",
        kind: Kind::Between(0, 1),
        default: "0",
        meaning: "1: when a program of chares ends, each rank lists the messages that were not \
                  delivered, because their chares were deleted or never made",
    },
    Setting {
        name: "TOWPATH_CHARES_REPORT",
        kind: Kind::Text,
        default: "",
        meaning: "file into which rank 0 of a program of chares writes what all ranks have and do \
                  over time, in lines of JSON (docs/chares.md); towpath load reads it",
    },
    Setting {
        name: "TOWPATH_CHARES_REPORT_MILLISECONDS",
        kind: Kind::Between(1, 3_600_000),
        default: "500",
        meaning: "time between two samples of that report, in milliseconds",
    },
    Setting {
        name: "TOWPATH_CHARES_RANDOM",
        kind: Kind::Number,
        default: "",
        meaning: "a seed: messages of chares that have the same priority are processed in a \
                  random order, to test that a program relies on none",
    },
    Setting {
        name: "TOWPATH_PMI",
        kind: Kind::Text,
        default: "",
        meaning: "1 or 2: version of PMI to use with a launcher that sets PMI_FD; by default 2 if \
                  Slurm names pmi2 as its plugin, else 1",
    },
    Setting {
        name: "TOWPATH_PMIX",
        kind: Kind::Text,
        default: "",
        meaning: "path of the PMIx library to use under a PMIx launcher; by default the launcher's \
                  own library",
    },
    Setting {
        name: "TOWPATH_LAUNCHER_SECONDS",
        kind: Kind::Between(1, 86_400),
        default: "60",
        meaning: "how long to wait for a launcher or host that has never answered, in seconds",
    },
];

/// Variables with the prefix `TOWPATH_` that are not settings of the library, with descriptions.
pub const OTHER_VARIABLES: &[(&str, &str)] = &[
    ("TOWPATH_JOB", "the ticket that mpiexec gives each rank"),
    ("TOWPATH_RANK", "the rank, set by mpiexec for scripts"),
    ("TOWPATH_SIZE", "the number of ranks, set by mpiexec for scripts"),
    ("TOWPATH_CC", "the C compiler that mpicc calls"),
    ("TOWPATH_CXX", "the C++ compiler that mpicxx calls"),
    ("TOWPATH_BUILD", "where the project's own tests keep their environments"),
    ("TOWPATH_WHEEL_FROM", "an installed prefix from which the wheel is made"),
];

/// Returns an environment variable; `None` if it is unset or not valid UTF-8.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns all environment variables, for the launcher, which passes them on to the ranks.
pub fn whole_environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// Returns the value of a setting: the variable if set, else the default; `None` if both are empty.
///
/// # Panics
/// If `name` is not in [`SETTINGS`].
pub fn setting(name: &str) -> Option<String> {
    let row = row(name);
    environment(name)
        .filter(|value| !value.is_empty())
        .or_else(|| Some(row.default.to_owned()).filter(|d| !d.is_empty()))
}

fn row(name: &str) -> &'static Setting {
    SETTINGS
        .iter()
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("setting {name} is not in the table"))
}

/// Returns a numeric setting. A value that is not a number is replaced by the default, one that is
/// out of range by the nearest bound; both print a complaint to stderr.
///
/// # Panics
/// If `name` is not in [`SETTINGS`].
pub fn number(name: &str) -> Option<u64> {
    let text = setting(name)?;
    let (value, complaint) = read_number(row(name), &text);
    if let Some(complaint) = complaint {
        eprintln!("towpath: {complaint}");
    }
    value
}

/// Parses `text` as the value of a setting; returns the number to use, if any, and a complaint if
/// the text is invalid.
///
/// # Panics
/// If `name` is not in [`SETTINGS`].
pub fn number_of(name: &str, text: &str) -> (Option<u64>, Option<String>) {
    read_number(row(name), text)
}

fn read_number(row: &Setting, text: &str) -> (Option<u64>, Option<String>) {
    let (name, text) = (row.name, text.trim());
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return (
            row.default.parse().ok(),
            Some(format!("{name}={text} is not a whole number; the default is used.")),
        );
    }
    let (least, most) =
        if let Kind::Between(least, most) = row.kind { (least, most) } else { (0, u64::MAX) };
    let number = if text.starts_with('-') && digits.bytes().any(|digit| digit != b'0') {
        None
    } else {
        Some(digits.parse().ok().unwrap_or(u128::MAX))
    };
    let nearest = number.unwrap_or(0).clamp(u128::from(least), u128::from(most)) as u64;
    let complaint = (number != Some(u128::from(nearest))).then(|| {
        format!("{name}={text} is out of range (from {least} to {most}); {nearest} is used.")
    });
    (Some(nearest), complaint)
}

/// Returns what is wrong with the environment's value of a setting, as a sentence; `None` if it is
/// valid. Settings of [`Kind::Text`] are not checked here.
pub fn complaint(row: &Setting) -> Option<String> {
    let text = environment(row.name).filter(|value| !value.is_empty())?;
    if row.kind == Kind::Text { None } else { read_number(row, &text).1 }
}

/// Returns the effective value of a setting as text: the variable, or the number that replaces an
/// invalid one, else the default; `None` if both are empty.
pub fn current(row: &Setting) -> Option<String> {
    let text = setting(row.name)?;
    if row.kind == Kind::Text || complaint(row).is_none() {
        Some(text)
    } else {
        read_number(row, &text).0.map(|n| n.to_string())
    }
}

/// Returns the unknown environment variables with the prefix `TOWPATH_`, sorted, each with the name
/// that was probably meant.
pub fn unknown_variables() -> Vec<(String, Option<&'static str>)> {
    let mut names: Vec<String> = whole_environment()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("TOWPATH_") && !is_known(name))
        .collect();
    names.sort();
    let with_hint = |name: String| {
        let hint = nearest(&name, SETTINGS.iter().map(|row| row.name));
        (name, hint)
    };
    names.into_iter().map(with_hint).collect()
}

fn is_known(name: &str) -> bool {
    SETTINGS.iter().any(|row| row.name == name) || OTHER_VARIABLES.iter().any(|row| row.0 == name)
}

/// Returns the candidate closest to a mistyped name; `None` if all are too different.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let with_distance = candidates.map(|candidate| (distance(name, candidate), candidate));
    with_distance
        .min()
        .filter(|(distance, _)| *distance <= 1 + name.len() / 4)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance: the number of insertions, deletions and substitutions that turn one word
/// into the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, sign) in left.chars().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(sign != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_name_of_its_own_a_meaning_and_a_default_of_its_kind() {
        for (index, row) in SETTINGS.iter().enumerate() {
            assert!(row.name.starts_with("TOWPATH_") && !row.meaning.is_empty(), "{row:?}");
            let fits = row.kind == Kind::Text
                || row.default.is_empty()
                || read_number(row, row.default).1.is_none();
            assert!(fits, "{row:?}");
            assert!(SETTINGS[..index].iter().all(|other| other.name != row.name), "{row:?}");
            assert!(OTHER_VARIABLES.iter().all(|other| other.0 != row.name), "{row:?}");
        }
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        assert_eq!(["", "kitten", "same"].map(|word| distance(word, "sitting")), [7, 3, 6]);
        assert_eq!(distance("abc", ""), 3);
    }

    #[test]
    fn a_slip_of_the_pen_is_recognized_and_another_word_is_not() {
        let meant = |name: &str| nearest(name, SETTINGS.iter().map(|row| row.name));
        assert_eq!(meant("TOWPATH_EAGER_BYTE"), Some("TOWPATH_EAGER_BYTES"));
        assert_eq!(meant("TOWPATH_RINGBYTES"), Some("TOWPATH_RING_BYTES"));
        assert_eq!(meant("TOWPATH_COLOUR_OF_THE_SKY"), None);
    }

    #[test]
    fn numbers_are_whole_and_within_their_range() {
        let said = |name: &str, text: &str| {
            let (value, complaint) = number_of(name, text);
            (value, complaint.unwrap_or_default())
        };
        assert_eq!(said("TOWPATH_HOT_SENDS", " 12 "), (Some(12), String::new()));
        assert_eq!(said("TOWPATH_HEAP", "-0"), (Some(0), String::new()));
        for text in ["64k", "", "-", "1.5", "٣"] {
            let (value, sentence) = said("TOWPATH_HOT_SENDS", text);
            assert!(
                value == Some(4)
                    && sentence.contains("is not a whole number; the default is used."),
                "{sentence}"
            );
        }
        for (text, nearest) in
            [("-5", 0), ("8388609", 8 << 20), ("1000000000000000000000000000000", 8 << 20)]
        {
            let wanted = format!(
                "TOWPATH_ARENA_BYTES={text} is out of range (from 0 to 8388608); {nearest} is used."
            );
            assert_eq!(said("TOWPATH_ARENA_BYTES", text), (Some(nearest), wanted));
        }
        let huge = "9".repeat(60);
        assert_eq!(said("TOWPATH_EAGER_BYTES", &huge).0, Some(u64::MAX));
        assert!(said("TOWPATH_EAGER_BYTES", &huge).1.contains("is out of range"));
    }
}
