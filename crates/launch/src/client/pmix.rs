//! The launcher interface of a process that a PMIx server started: `prterun`, Open MPI's `mpiexec`,
//! `srun --mpi=pmix`. The wire format of PMIx is private to its library and servers. The launcher's
//! library is therefore opened at run time ([`search`], [`library`]), and eight of its functions do
//! what PMI does with lines.
//!
//! PMIx looks up a value by the rank that has put it. Not every server supports a lookup for any
//! rank, or a fence to which a rank has contributed nothing. Each rank therefore contributes one
//! text to each fence, its *sheet*: everything it has put since the previous fence, possibly
//! nothing. Every sheet exists after its fence, so a get never blocks. A sheet is divided into
//! short pages, because PMIx 5 returns long texts compressed.

mod layout;
mod library;
mod search;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::mpsc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use towpath_base::config;

use self::layout::Process;
use self::library::{KeyContent, PmixLibrary};
use super::served::Served;
use super::store::Store;
use super::{Job, patience, pmi};
use crate::error::Error;
use crate::hosts;
use crate::topology::TopologyChoice;

/// A PMIx server that the environment names, not contacted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PmixAddress {
    pub(super) rank: u32,
    /// Number of ranks, if the environment provides it.
    pub(super) size: Option<u32>,
    /// Name of the launcher.
    pub(super) name: String,
}

impl PmixAddress {
    /// The server that the environment names; `None` if it names none.
    pub(super) fn from_environment() -> Result<Option<PmixAddress>, Error> {
        PmixAddress::among(&config::environment)
    }

    fn among(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<PmixAddress>, Error> {
        let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
        if variable("PMIX_NAMESPACE").is_none() {
            return Ok(None);
        }
        let name = if variable("SLURM_STEP_ID").is_some() || variable("SLURM_STEPID").is_some() {
            "srun"
        } else if variable("OMPI_COMM_WORLD_SIZE").is_some() {
            "Open MPI's launcher"
        } else {
            "the PMIx launcher"
        };
        let Some(rank) = number("PMIX_RANK") else {
            return Err(Error::NoServer(format!(
                "{name} set PMIX_NAMESPACE but not PMIX_RANK: the rank of this process is not known."
            )));
        };
        let size = number("OMPI_COMM_WORLD_SIZE").or_else(|| number("SLURM_STEP_NUM_TASKS"));
        Ok(Some(PmixAddress { rank, size, name: name.to_owned() }))
    }
}

/// The connection of a process to a PMIx server.
pub(super) struct PmixConnection {
    library: PmixLibrary,
    own: Process,
    launcher: String,
    size: u32,
    /// What this rank has put since the last fence.
    sheet: String,
    /// Number of fences so far.
    fences: u32,
    /// Sheets fetched so far, by fence and rank.
    sheets: HashMap<(u32, u32), HashMap<String, String>>,
}

impl PmixConnection {
    /// Opens the library and connects to the server.
    fn meet(server: &PmixAddress) -> Result<PmixConnection, Error> {
        let library = open(&server.name)?;
        let (answer, answers) = mpsc::channel();
        // The library waits for the server without a limit. It does so on a thread of its own,
        // which may live until the process exits.
        std::thread::spawn(move || {
            let _ = answer.send(library.init());
        });
        let own = match answers.recv_timeout(patience()) {
            Ok(Ok(own)) => own,
            Ok(Err(reason)) => {
                return Err(Error::NoServer(format!(
                    "This process was started by {} as rank {}, but its PMIx server does not answer ({reason}); without \
                     it the other processes of the job cannot be found. If a process of another MPI job started this \
                     program, clear the PMIX variables first.",
                    server.name, server.rank
                )));
            }
            Err(_) => return Err(pmi::silent(&server.name)),
        };
        if own.rank != server.rank {
            return Err(Error::Protocol {
                launcher: server.name.clone(),
                detail: format!(
                    "the environment says rank {}, the server {}",
                    server.rank, own.rank
                ),
            });
        }
        let size = size_of_job(library, own, &server.name)?;
        let launcher = server.name.clone();
        Ok(PmixConnection {
            library,
            own,
            launcher,
            size,
            sheet: String::new(),
            fences: 0,
            sheets: HashMap::new(),
        })
    }

    fn refused(&self, request: &str, detail: String) -> Error {
        Error::Refused { launcher: self.launcher.clone(), request: request.to_owned(), detail }
    }

    /// The host of each rank, from the first of these that the launcher provides: as many local
    /// ranks as ranks in the job, a process mapping as in PMI, the host name of each rank.
    fn hosts(&self) -> Option<Vec<u32>> {
        let size = self.size;
        if number(self.library.get_of_job(self.own, "pmix.local.size")) == Some(size) {
            return Some(vec![0; size as usize]);
        }
        if let Some(KeyContent::Text(mapping)) = self.library.get_of_job(self.own, "pmix.anlmap")
            && let Some(nodes) = hosts::parse_mapping(&mapping, size as usize)
        {
            return Some(nodes);
        }
        let name_of = |rank| match self.library.get_of_rank(self.own, rank, "pmix.hname") {
            Some(KeyContent::Text(name)) => Some(name),
            _ => None,
        };
        let names: Option<Vec<String>> = (0..size).map(name_of).collect();
        Some(hosts::number_by_appearance(&names?))
    }

    /// Puts this rank's sheet; the following fence makes it visible.
    fn give_sheet(&mut self) -> Result<(), Error> {
        self.fences += 1;
        let sheet = std::mem::take(&mut self.sheet);
        for (number, page) in pages(&sheet).iter().enumerate() {
            self.library
                .put(&page_name(self.fences, number), page)
                .map_err(|why| self.refused("put", why))?;
        }
        Ok(())
    }

    /// Fetches one page of a rank's sheet.
    fn page(&self, fence: u32, rank: u32, number: usize) -> Result<String, Error> {
        let missing = |why: &str| {
            self.refused("get", format!("what rank {rank} has published is missing: {why}"))
        };
        match self.library.get_put(self.own, rank, &page_name(fence, number)) {
            Ok(KeyContent::Text(text)) => Ok(text),
            Ok(_) => Err(missing("it is not text")),
            Err(why) => Err(missing(&why)),
        }
    }

    /// What a rank put under a key before a fence.
    fn on_sheet(&mut self, fence: u32, rank: u32, key: &str) -> Result<Option<String>, Error> {
        if !self.sheets.contains_key(&(fence, rank)) {
            let first = self.page(fence, rank, 0)?;
            let (count, begin) = first.split_once('\n').unwrap_or((&first, ""));
            let mut text = begin.to_owned();
            for number in 1..count.parse().unwrap_or(1) {
                text.push_str(&self.page(fence, rank, number)?);
            }
            self.sheets.insert((fence, rank), read_sheet(&text));
        }
        Ok(self.sheets[&(fence, rank)].get(key).cloned())
    }
}

/// Size of a page in bytes.
const PAGE: usize = 2048;

/// Divides a sheet into pages. The first page starts with the number of pages on a line of its own,
/// so no page is empty.
fn pages(sheet: &str) -> Vec<String> {
    // A sheet is all ASCII: see `Store::put`.
    let mut pages: Vec<String> = sheet
        .as_bytes()
        .chunks(PAGE)
        .map(|page| String::from_utf8_lossy(page).into_owned())
        .collect();
    if pages.is_empty() {
        pages.push(String::new());
    }
    pages[0] = format!("{}\n{}", pages.len(), pages[0]);
    pages
}

fn page_name(fence: u32, number: usize) -> String {
    format!("towpath-{fence}-{number}")
}

fn read_sheet(text: &str) -> HashMap<String, String> {
    text.split('\n')
        .filter_map(|line| line.split_once(' '))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// For [`crate::fuzz`]: a sheet divided into pages is read back unchanged. Sheets contain only
/// ASCII.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(text: &str) {
    let sheet = read_sheet(&text.replace(|sign: char| !sign.is_ascii(), "?"));
    let written: String = sheet.iter().map(|(key, value)| format!("{key} {value}\n")).collect();
    let pages = pages(&written);
    let begin = pages[0].split_once('\n').map_or("", |(_, begin)| begin);
    assert_eq!(read_sheet(&[&[begin.to_owned()], &pages[1..]].concat().concat()), sheet);
}

/// The number in `content`; `None` if it is not a non-negative number.
fn number(content: Option<KeyContent>) -> Option<u32> {
    match content {
        Some(KeyContent::Number(number)) => u32::try_from(number).ok(),
        _ => None,
    }
}

/// Number of ranks in the job.
fn size_of_job(library: PmixLibrary, own: Process, launcher: &str) -> Result<u32, Error> {
    let size = number(library.get_of_job(own, "pmix.job.size"));
    size.filter(|&size| size > own.rank && size <= i32::MAX as u32).ok_or_else(|| Error::Protocol {
        launcher: launcher.to_owned(),
        detail: "it does not report the number of processes in the job".to_owned(),
    })
}

fn open(launcher: &str) -> Result<PmixLibrary, Error> {
    let mut refusals = Vec::new();
    for path in search::candidates() {
        match PmixLibrary::open(&path) {
            Ok(library) => return Ok(library),
            Err(reason) => refusals.push(reason),
        }
    }
    refusals.dedup();
    Err(Error::NoServer(format!(
        "This process was started by {launcher}, which speaks PMIx, but no PMIx library can be opened ({}); TOWPATH_PMIX \
         may name one.",
        refusals.join("; ")
    )))
}

impl Store for PmixConnection {
    fn launcher(&self) -> &str {
        &self.launcher
    }

    fn longest_value(&self) -> usize {
        1 << 20
    }

    fn put_raw(&mut self, key: &str, value: &str) -> Result<(), Error> {
        // Key and value contain neither blanks nor line breaks: see `Store::put`.
        self.sheet.push_str(&format!("{key} {value}\n"));
        Ok(())
    }

    fn get_raw(&mut self, owner: Option<u32>, key: &str) -> Result<Option<String>, Error> {
        let ranks = owner.map_or(0..self.size, |rank| rank..rank + 1);
        for fence in 1..=self.fences {
            for rank in ranks.clone() {
                if let Some(value) = self.on_sheet(fence, rank, key)? {
                    return Ok(Some(value));
                }
            }
        }
        Ok(None)
    }

    fn fence(&mut self) -> Result<(), Error> {
        self.give_sheet()?;
        self.library.meet(self.own).map_err(|detail| self.refused("fence", detail))
    }

    fn fence_serving(&mut self, listener: &OwnedFd, serve: &mut dyn FnMut()) -> Result<(), Error> {
        let Ok((over, when_over)) = pipe_with(PipeFlags::CLOEXEC) else { return self.fence() };
        self.give_sheet()?;
        let (library, own) = (self.library, self.own);
        let met = std::thread::scope(|scope| {
            let fence = scope.spawn(move || {
                let met = library.meet(own);
                drop(when_over);
                met
            });
            loop {
                let mut sources =
                    [PollFd::new(&over, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
                let _ = poll(&mut sources, None);
                let [is_over, from_ranks] = sources.map(|source| !source.revents().is_empty());
                if from_ranks {
                    serve();
                }
                if is_over {
                    return fence.join().unwrap_or_else(|_| Err("its thread ended".to_owned()));
                }
            }
        });
        met.map_err(|detail| self.refused("fence", detail))
    }

    fn abort(&mut self, code: i32, sentence: Option<&str>) -> Result<(), Error> {
        self.library
            .abort(code, sentence.unwrap_or_default())
            .map_err(|detail| self.refused("abort", detail))
    }

    fn finalize(&mut self) -> Result<(), Error> {
        self.library.finalize().map_err(|detail| self.refused("finalize", detail))
    }
}

/// Connects to the server that the environment names.
pub(super) fn connect(server: &PmixAddress) -> Result<Served<PmixConnection>, Error> {
    let mut connection = PmixConnection::meet(server)?;
    let size = connection.size;
    let nodes = match connection.hosts() {
        Some(nodes) => nodes,
        None => pmi::exchange_hosts(&mut connection, server.rank as usize, size as usize)?,
    };
    let mut job = Job::new(server.rank, nodes, &server.name);
    let (library, own) = (connection.library, connection.own);
    let positive = |content| number(content).and_then(|number| i32::try_from(number).ok());
    job.appnum = positive(library.get_of_rank(own, own.rank, "pmix.appnum"));
    // PMIx reports slots, which are fewer than the processes in an oversubscribed job.
    job.universe_size =
        positive(library.get_of_job(own, "pmix.univ.size")).map(|slots| slots.max(size as i32));
    Served::share(connection, job, &TopologyChoice::of_setting())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(variables: &[(&str, &str)]) -> Result<Option<PmixAddress>, Error> {
        PmixAddress::among(&|name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_server_is_known_by_its_variables() {
        assert_eq!(among(&[("PMIX_RANK", "1")]).unwrap(), None);
        let found =
            among(&[("PMIX_NAMESPACE", "x"), ("PMIX_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")])
                .unwrap();
        assert_eq!(
            found,
            Some(PmixAddress { rank: 1, size: Some(4), name: "Open MPI's launcher".to_owned() })
        );
        let found = among(&[("PMIX_NAMESPACE", "x"), ("PMIX_RANK", "0"), ("SLURM_STEP_ID", "4")])
            .unwrap()
            .unwrap();
        assert_eq!((found.name.as_str(), found.size), ("srun", None));
        assert!(among(&[("PMIX_NAMESPACE", "x"), ("PMIX_RANK", "-1")]).is_err());
    }

    #[test]
    fn sheets_are_read_line_by_line() {
        let sheet = read_sheet("a 1+x\nb 1+\nnonsense\n");
        assert_eq!((sheet.len(), sheet["a"].as_str(), sheet["b"].as_str()), (2, "1+x", "1+"));
        assert!(read_sheet("").is_empty());
        assert_eq!(pages(""), ["1\n"]);
        let long = pages(&"x".repeat(PAGE + 1));
        assert_eq!((long.len(), long[0].len(), long[1].as_str()), (2, PAGE + 2, "x"));
    }

    #[test]
    fn a_library_that_is_none_is_refused() {
        assert!(PmixLibrary::open("/nowhere/libpmix.so.2".as_ref()).is_err());
        assert!(
            PmixLibrary::open("libc.so.6".as_ref())
                .is_err_and(|reason| reason.contains("PMIx_Init"))
        );
    }
}
