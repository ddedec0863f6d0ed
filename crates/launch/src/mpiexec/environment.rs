//! The environment of each rank: what `mpiexec` passes on, what the command line sets, and what says which rank it is.
//!
//! Three families of variables tell a rank its place, because scripts read any of them: those of PMI-1 and MPICH, of
//! Open MPI, of MVAPICH. Variables of a job that `mpiexec` itself runs in are removed first.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::options::{Program, Request};
use crate::ticket::{self, Ticket};

/// Beginnings of names that belong to the job that `mpiexec` runs in, if any.
const OTHER_JOB: &[&str] =
    &["PMI_", "PMIX_", "PMI2_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE", "HYDI_", "MPI_LOCAL", "MV2_COMM_WORLD_"];

/// Variables and their values.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// The variables that all ranks of one program share.
pub(crate) fn of_program(
    own: impl Iterator<Item = (OsString, OsString)>,
    request: &Request,
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

/// The variables of one rank of the job: its place in it.
fn of_rank(ticket: &Ticket) -> Vec<(&'static str, String)> {
    let (rank, size) = (ticket.rank.to_string(), ticket.size.to_string());
    vec![
        (ticket::VARIABLE, ticket.to_text()),
        ("TOWPATH_RANK", rank.clone()),
        ("TOWPATH_SIZE", size.clone()),
        ("PMI_FD", ticket.pmi.to_string()),
        ("PMI_RANK", rank.clone()),
        ("PMI_SIZE", size.clone()),
        ("MPI_LOCALRANKID", rank.clone()),
        ("MPI_LOCALNRANKS", size.clone()),
        ("OMPI_COMM_WORLD_RANK", rank.clone()),
        ("OMPI_COMM_WORLD_SIZE", size.clone()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", rank.clone()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", size.clone()),
        ("OMPI_COMM_WORLD_NODE_RANK", rank.clone()),
        ("OMPI_UNIVERSE_SIZE", size.clone()),
        ("MV2_COMM_WORLD_RANK", rank.clone()),
        ("MV2_COMM_WORLD_SIZE", size.clone()),
        ("MV2_COMM_WORLD_LOCAL_RANK", rank),
        ("MV2_COMM_WORLD_LOCAL_SIZE", size),
    ]
}

/// The whole environment of a rank as `execve` takes it. Variables that hold a zero byte are left out.
pub(crate) fn for_exec(shared: &Variables, ticket: &Ticket) -> Vec<CString> {
    let own = of_rank(ticket);
    let pair = |name: &[u8], value: &[u8]| CString::new([name, b"=", value].concat()).ok();
    let inherited = shared
        .iter()
        .filter(|(name, _)| own.iter().all(|(other, _)| name != other))
        .filter_map(|(name, value)| pair(name.as_bytes(), value.as_bytes()));
    inherited.chain(own.iter().filter_map(|(name, value)| pair(name.as_bytes(), value.as_bytes()))).collect()
}

/// Turns an argument into what `execve` takes.
///
/// # Errors
/// A sentence when it holds a zero byte.
pub(crate) fn c_string(text: &std::ffi::OsStr) -> Result<CString, String> {
    CString::new(text.to_os_string().into_vec())
        .map_err(|_| format!("{} holds a zero byte, which no program can be given.", text.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpiexec::options::{Command, parse};

    fn variables(line: &str) -> Vec<String> {
        let Ok(Command::Run(request)) = parse(line.split(' ').map(OsString::from)) else { panic!("{line}") };
        let own = [("HOME", "/h"), ("PMI_FD", "9"), ("TOWPATH_JOB", "old"), ("A", "1")]
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let shared = of_program(own.into_iter(), &request, &request.programs[0]);
        let ticket = Ticket { nonce: 1, rank: 2, size: 3, appnum: 0, segment: 65, pmi: 64, inode: 5 };
        for_exec(&shared, &ticket).into_iter().map(|text| text.into_string().unwrap()).collect()
    }

    #[test]
    fn ranks_know_their_place_and_nothing_of_another_job() {
        let all = variables("-env A 2 -genv B 3 x");
        for wanted in
            ["HOME=/h", "A=2", "B=3", "PMI_FD=64", "PMI_RANK=2", "MPI_LOCALRANKID=2", "TOWPATH_JOB=1:1:2:3:0:65:64:5"]
        {
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
}
