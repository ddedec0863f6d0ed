//! The environment of each rank: what `mpiexec` passes on, what the command line sets, and the
//! variables that give the rank its place in the job.
//!
//! The last are set under Towpath's own names and those of PMI-1 and MPICH, of Open MPI and of
//! MVAPICH, because scripts read any of them. Variables of a job that `mpiexec` itself runs in are
//! removed first.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use towpath_base::config;

use super::options::{JobRequest, Program};
use crate::ticket::{self, RankTicket};

/// Prefixes of variables that belong to the job that `mpiexec` runs in, if any.
const OTHER_JOB: &[&str] = &[
    "PMI_",
    "PMIX_",
    "PMI2_",
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_SIZE",
    "HYDI_",
    "MPI_LOCAL",
    "MV2_COMM_WORLD_",
];

/// Variables and their values.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// The variables that all ranks of a program share.
pub(crate) fn of_program(
    own: impl Iterator<Item = (OsString, OsString)>,
    request: &JobRequest,
    program: &Program,
) -> Variables {
    let passed = |name: &OsString| {
        let wanted = program.variables.only.as_ref().or(request.everywhere.only.as_ref());
        let other_job = OTHER_JOB.iter().any(|start| name.as_bytes().starts_with(start.as_bytes()));
        wanted.is_none_or(|list| list.contains(name)) && !other_job && name != ticket::VARIABLE
    };
    own.filter(|(name, _)| passed(name))
        .chain(request.everywhere.set.iter().cloned())
        .chain(program.variables.set.iter().cloned())
        .collect()
}

/// With TOWPATH_MALLOC=1, preloads `library` before all other preloaded libraries.
///
/// # Errors
/// An error message for the user if the library does not exist or its name cannot be put into
/// LD_PRELOAD.
pub(crate) fn preload_malloc(variables: &mut Variables, library: &Path) -> Result<(), String> {
    let wanted = variables.get(OsStr::new("TOWPATH_MALLOC")).and_then(|value| value.to_str());
    if wanted.and_then(|text| config::number_of("TOWPATH_MALLOC", text).0) != Some(1) {
        return Ok(());
    }
    LoaderList::PRELOAD.put_first(variables, "TOWPATH_MALLOC=1", library, library.is_file())
}

/// With TOWPATH_CHANNEL=strict, puts `directory`, whose libraries contain the strict channel, first
/// in LD_LIBRARY_PATH.
///
/// # Errors
/// An error message for the user if the directory does not exist or its name cannot be put into
/// LD_LIBRARY_PATH.
pub(crate) fn prefer_strict(variables: &mut Variables, directory: &Path) -> Result<(), String> {
    let wanted = variables.get(OsStr::new("TOWPATH_CHANNEL")).and_then(|value| value.to_str());
    if wanted.map(str::trim) != Some("strict") {
        return Ok(());
    }
    LoaderList::LIBRARY_PATH.put_first(
        variables,
        "TOWPATH_CHANNEL=strict",
        directory,
        directory.is_dir(),
    )
}

/// A variable with a list of names that the dynamic loader reads (ld.so(8)).
struct LoaderList {
    variable: &'static str,
    separators: &'static [u8],
    /// What a name must not contain, for error messages.
    forbidden: &'static str,
    /// An empty name means the current directory.
    may_be_empty: bool,
}

impl LoaderList {
    const PRELOAD: LoaderList = LoaderList {
        variable: "LD_PRELOAD",
        separators: b" :",
        forbidden: "neither a space nor a colon",
        may_be_empty: false,
    };
    const LIBRARY_PATH: LoaderList = LoaderList {
        variable: "LD_LIBRARY_PATH",
        separators: b":;",
        forbidden: "neither a colon nor a semicolon",
        may_be_empty: true,
    };

    /// Puts a name, which `setting` requires, before all others and drops an earlier copy of it.
    fn put_first(
        &self,
        variables: &mut Variables,
        setting: &str,
        path: &Path,
        exists: bool,
    ) -> Result<(), String> {
        let name = path.as_os_str().as_bytes();
        let is_separator = |byte: &u8| self.separators.contains(byte);
        if name.iter().any(is_separator) {
            return Err(format!(
                "{setting} needs {}, whose name must contain {}: install Towpath elsewhere.",
                path.display(),
                self.forbidden
            ));
        }
        if !exists {
            return Err(format!(
                "{setting} needs {}, which does not exist: install it, or unset the variable.",
                path.display()
            ));
        }
        let others =
            variables.remove(OsStr::new(self.variable)).filter(|others| !others.is_empty());
        let others = others.iter().flat_map(|others| others.as_bytes().split(is_separator));
        let kept =
            others.filter(|other| *other != name && (self.may_be_empty || !other.is_empty()));
        let all: Vec<&[u8]> = std::iter::once(name).chain(kept).collect();
        variables.insert(self.variable.into(), OsString::from_vec(all.join(&b':')));
        Ok(())
    }
}

/// Index of a rank among the ranks of its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalPlace {
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

/// The variables that give a rank its place in the job.
fn of_rank(ticket: &RankTicket, place: LocalPlace) -> Vec<(&'static str, String)> {
    let (rank, size) = (ticket.rank.to_string(), ticket.size.to_string());
    let (local_rank, local_size) = (place.rank.to_string(), place.size.to_string());
    vec![
        (ticket::VARIABLE, ticket.to_text()),
        ("TOWPATH_RANK", rank.clone()),
        ("TOWPATH_SIZE", size.clone()),
        ("PMI_FD", ticket.pmi.to_string()),
        ("PMI_RANK", rank.clone()),
        ("PMI_SIZE", size.clone()),
        ("MPI_LOCALRANKID", local_rank.clone()),
        ("MPI_LOCALNRANKS", local_size.clone()),
        ("OMPI_COMM_WORLD_RANK", rank.clone()),
        ("OMPI_COMM_WORLD_SIZE", size.clone()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", local_rank.clone()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size.clone()),
        ("OMPI_COMM_WORLD_NODE_RANK", local_rank.clone()),
        ("OMPI_UNIVERSE_SIZE", size.clone()),
        ("MV2_COMM_WORLD_RANK", rank),
        ("MV2_COMM_WORLD_SIZE", size),
        ("MV2_COMM_WORLD_LOCAL_RANK", local_rank),
        ("MV2_COMM_WORLD_LOCAL_SIZE", local_size),
    ]
}

/// The complete environment of a rank for `execve`. Variables with a zero byte are left out.
pub(crate) fn for_exec(shared: &Variables, ticket: &RankTicket, place: LocalPlace) -> Vec<CString> {
    let own = of_rank(ticket, place);
    let pair = |name: &[u8], value: &[u8]| CString::new([name, b"=", value].concat()).ok();
    let inherited = shared
        .iter()
        .filter(|(name, _)| own.iter().all(|(other, _)| name != other))
        .filter_map(|(name, value)| pair(name.as_bytes(), value.as_bytes()));
    inherited
        .chain(own.iter().filter_map(|(name, value)| pair(name.as_bytes(), value.as_bytes())))
        .collect()
}

/// Converts an argument for `execve`.
///
/// # Errors
/// An error message for the user if the argument contains a zero byte.
pub(crate) fn c_string(text: &OsStr) -> Result<CString, String> {
    CString::new(text.to_os_string().into_vec()).map_err(|_| {
        format!(
            "{} contains a zero byte, which cannot be passed to a program.",
            text.to_string_lossy()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpiexec::options::{Command, parse};
    use towpath_base::ids::JobId;

    fn variables(line: &str) -> Vec<String> {
        let Ok(Command::Run(request)) = parse(line.split(' ').map(OsString::from)) else {
            panic!("{line}")
        };
        let own = [("HOME", "/h"), ("PMI_FD", "9"), ("TOWPATH_JOB", "old"), ("A", "1")]
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let shared = of_program(own.into_iter(), &request, &request.programs[0]);
        let mapping = "(vector,(0,2,2))".to_owned();
        let ticket = RankTicket {
            job: JobId(1),
            rank: 2,
            size: 3,
            appnum: 0,
            segment: 65,
            pmi: 64,
            inode: 5,
            mapping,
        };
        for_exec(&shared, &ticket, LocalPlace { rank: 0, size: 1 })
            .into_iter()
            .map(|text| text.into_string().unwrap())
            .collect()
    }

    #[test]
    fn ranks_know_their_place_and_nothing_of_another_job() {
        let all = variables("-env A 2 -genv B 3 x");
        for wanted in [
            "HOME=/h",
            "A=2",
            "B=3",
            "PMI_FD=64",
            "PMI_RANK=2",
            "MPI_LOCALRANKID=0",
            "TOWPATH_JOB=3:1:2:3:0:65:64:5:(vector,(0,2,2))",
        ] {
            assert!(all.iter().any(|text| text == wanted), "{wanted} in {all:?}");
        }
        assert_eq!(all.iter().filter(|text| text.starts_with("PMI_FD=")).count(), 1);
    }

    #[test]
    fn nothing_or_a_few_of_mpiexecs_own_variables() {
        assert!(!variables("-genvnone x").iter().any(|text| text.starts_with("HOME=")));
        let few = variables("-genvlist A,C -env D 1 x");
        assert!(few.iter().any(|text| text == "A=1") && few.iter().any(|text| text == "D=1"));
        assert!(!few.iter().any(|text| text.starts_with("HOME=")));
    }
    #[test]
    fn a_library_for_malloc_comes_first_and_once() {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("libtowpath-malloc.so");
        let variables = |value: &str, preload: &str| {
            Variables::from(
                [("TOWPATH_MALLOC", value), ("LD_PRELOAD", preload)]
                    .map(|(n, v)| (n.into(), v.into())),
            )
        };
        let mut wanted = variables("1", "a.so b.so");
        assert!(preload_malloc(&mut wanted, &library).unwrap_err().contains("does not exist"));
        std::fs::write(&library, "").unwrap();
        for _ in 0..2 {
            preload_malloc(&mut wanted, &library).unwrap();
            let preload = wanted[OsStr::new("LD_PRELOAD")].to_str().unwrap();
            assert_eq!(preload, format!("{}:a.so:b.so", library.display()));
        }
        for value in ["0", "", "yes"] {
            let mut other = variables(value, "a.so");
            preload_malloc(&mut other, &library).unwrap();
            assert_eq!(other[OsStr::new("LD_PRELOAD")], "a.so");
        }
        assert!(
            preload_malloc(&mut wanted, Path::new("/a b")).unwrap_err().contains("neither a space")
        );
    }

    #[test]
    fn libraries_with_the_strict_channel_come_first_where_it_is_chosen() {
        let directory = tempfile::tempdir().unwrap();
        let strict = directory.path().join("strict");
        let given = |channel: &str, path: &str| {
            Variables::from(
                [("TOWPATH_CHANNEL", channel), ("LD_LIBRARY_PATH", path)]
                    .map(|(n, v)| (n.into(), v.into())),
            )
        };
        let preferred = |channel: &str, path: &str| {
            let mut variables = given(channel, path);
            prefer_strict(&mut variables, &strict)
                .map(|()| variables[OsStr::new("LD_LIBRARY_PATH")].to_str().unwrap().to_owned())
        };
        assert!(preferred("strict", "/a").unwrap_err().contains("which does not exist"));
        assert_eq!(preferred("shared", "/a").unwrap(), "/a");
        std::fs::create_dir(&strict).unwrap();
        assert_eq!(preferred(" strict", "/a::/b").unwrap(), format!("{}:/a::/b", strict.display()));
        assert_eq!(preferred("strict", "").unwrap(), strict.display().to_string());
        let again = format!("/a:{}", strict.display());
        assert_eq!(preferred("strict", &again).unwrap(), format!("{}:/a", strict.display()));
        assert_eq!(preferred("loose", "/a").unwrap(), "/a");
        assert!(
            prefer_strict(&mut given("strict", ""), Path::new("/a:b"))
                .unwrap_err()
                .contains("neither a colon")
        );
    }
}
