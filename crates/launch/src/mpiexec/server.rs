//! The PMI-1 server as a state machine without I/O: lines of ranks go in, answers and events come
//! out.
//!
//! Answers have the form that the clients of MPICH and Intel MPI accept (see `crate::wire`). A rank
//! that violates the protocol gets an answer with `rc=-1` rather than none, so that it can fail by
//! itself.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use towpath_base::ids::JobId;

use crate::client::own::KEY;
use crate::client::store::{joined, key_of_piece, pieces};
use crate::hosts::write_mapping;
use crate::key::JobKey;
use crate::topology::{self, JobTopology};
use crate::wire::{PmiMessage, unescape};

/// Longest key in bytes, as announced.
const LONGEST_KEY: usize = 64;
/// Longest value in bytes, as announced.
const LONGEST_VALUE: usize = 1024;
/// Maximum number of bytes that the keys and values of all ranks may occupy, so that a program that
/// puts values endlessly cannot exhaust memory.
const LARGEST_STORE: usize = 256 << 20;

/// A result of processing a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Send this line to a rank.
    Answer(usize, Vec<u8>),
    /// A rank has requested the end of the job.
    Abort { rank: usize, code: i32, sentence: Option<String> },
}

#[derive(Clone, Copy, Default)]
struct ServedRank {
    appnum: i32,
    initialized: bool,
    finalized: bool,
    waiting: bool,
    /// Inside a request of several lines.
    in_long_request: bool,
}

/// The server of one job.
pub(crate) struct Server {
    space: String,
    ranks: Vec<ServedRank>,
    values: HashMap<String, String>,
    bytes: usize,
    barriers: usize,
}

impl Server {
    /// A server for ranks of these programs on these hosts, which may read the secret of the job
    /// and its topology.
    pub(crate) fn new(
        job: JobId,
        key: &JobKey,
        topology: Option<&JobTopology>,
        appnums: &[i32],
        node_of_rank: &[u32],
    ) -> Server {
        let mut values = HashMap::new();
        values.insert("PMI_process_mapping".to_owned(), write_mapping(node_of_rank));
        let key = (KEY, key.to_text_with(topology.is_some()));
        let topology = topology.map(|topology| (topology::KEY, topology.to_text()));
        for (name, value) in [key].into_iter().chain(topology) {
            let pieces = pieces(&value, LONGEST_VALUE).into_iter().enumerate();
            values.extend(pieces.map(|(number, piece)| (key_of_piece(name, number), piece)));
        }
        let ranks =
            appnums.iter().map(|&appnum| ServedRank { appnum, ..ServedRank::default() }).collect();
        Server { space: format!("towpath_{:x}", job.0), ranks, values, bytes: 0, barriers: 0 }
    }

    /// Removes the process mapping, to act as a server that does not know which ranks share a host.
    #[cfg(test)]
    pub(crate) fn forget_hosts(&mut self) {
        self.values.remove("PMI_process_mapping");
    }

    /// True if the rank has initialized PMI.
    pub(crate) fn initialized(&self, rank: usize) -> bool {
        self.ranks[rank].initialized
    }

    /// True if the rank has initialized PMI and not finalized it.
    pub(crate) fn inside(&self, rank: usize) -> bool {
        self.ranks[rank].initialized && !self.ranks[rank].finalized
    }

    /// True while some rank waits in the barrier.
    pub(crate) fn somebody_waits(&self) -> bool {
        self.ranks.iter().any(|rank| rank.waiting)
    }

    /// How many barriers have opened.
    pub(crate) fn barriers(&self) -> usize {
        self.barriers
    }

    /// A value that a rank of Towpath has put; `None` if there is none.
    pub(crate) fn value(&self, key: &str) -> Option<String> {
        joined(key, |key| Ok(self.values.get(key).cloned())).ok().flatten()
    }

    /// Processes a line that a rank has sent.
    pub(crate) fn line(&mut self, rank: usize, line: &[u8], events: &mut Vec<Event>) {
        let message = PmiMessage::parse(line);
        if self.ranks[rank].in_long_request {
            if message.get("endcmd").is_some() {
                self.ranks[rank].in_long_request = false;
                let answer =
                    refusal("spawn_result", "this mpiexec does not start further processes yet");
                events.push(answer_to(rank, answer.with("status", -1)));
            }
            return;
        }
        let answer = match message.command() {
            "init" => self.hello(rank, &message),
            "get_maxes" => fine("maxes")
                .with("kvsname_max", 256)
                .with("keylen_max", LONGEST_KEY)
                .with("vallen_max", LONGEST_VALUE),
            "get_my_kvsname" => fine("my_kvsname").with("kvsname", &self.space),
            "get_appnum" => fine("appnum").with("appnum", self.ranks[rank].appnum),
            "get_universe_size" => fine("universe_size").with("size", self.ranks.len()),
            "put" => self.put(&message),
            "get" => self.get(&message),
            "getbyidx" => refusal("getbyidx_results", "not offered").with("reason", "not_offered"),
            "publish_name" => refusal("publish_result", "not offered").with("info", "not_offered"),
            "lookup_name" => refusal("lookup_result", "not offered").with("info", "not_offered"),
            "unpublish_name" => {
                refusal("unpublish_result", "not offered").with("info", "not_offered")
            }
            "barrier_in" => return self.barrier(rank, events),
            "finalize" => {
                self.ranks[rank].finalized = true;
                fine("finalize_ack")
            }
            "spawn" => {
                self.ranks[rank].in_long_request = true;
                return;
            }
            "abort" => {
                let sentence = message
                    .get("towpath_message")
                    .map(|text| String::from_utf8_lossy(&unescape(text)).into_owned());
                let code = message.number("exitcode").unwrap_or(1);
                return events.push(Event::Abort { rank, code, sentence });
            }
            other => refusal(&format!("{}_result", printable(other)), "unknown request"),
        };
        events.push(answer_to(rank, answer));
    }

    fn hello(&mut self, rank: usize, message: &PmiMessage) -> PmiMessage {
        let reply =
            PmiMessage::new("response_to_init").with("pmi_version", 1).with("pmi_subversion", 1);
        if message.number("pmi_version") != Some(1) {
            return reply.with("rc", -1);
        }
        self.ranks[rank].initialized = true;
        self.ranks[rank].finalized = false;
        reply.with("rc", 0)
    }

    fn put(&mut self, message: &PmiMessage) -> PmiMessage {
        let (Some(key), Some(value)) = (message.get("key"), message.get("value")) else {
            return refusal("put_result", "key or value is missing");
        };
        if key.is_empty() || key.len() > LONGEST_KEY || value.len() > LONGEST_VALUE {
            return refusal("put_result", "key or value is too long");
        }
        if self.bytes + key.len() + value.len() > LARGEST_STORE {
            return refusal("put_result", "the store is full");
        }
        self.bytes += key.len() + value.len();
        self.values.insert(key.to_owned(), value.to_owned());
        fine("put_result").with("msg", "success")
    }

    fn get(&self, message: &PmiMessage) -> PmiMessage {
        match message.get("key").and_then(|key| self.values.get(key)) {
            Some(value) => fine("get_result").with("msg", "success").with("value", value),
            None => refusal("get_result", "key_not_found").with("value", "unknown"),
        }
    }

    fn barrier(&mut self, rank: usize, events: &mut Vec<Event>) {
        self.ranks[rank].waiting = true;
        if self.ranks.iter().all(|rank| rank.waiting) {
            self.barriers += 1;
            for (number, rank) in self.ranks.iter_mut().enumerate() {
                rank.waiting = false;
                events.push(answer_to(number, fine("barrier_out")));
            }
        }
    }
}

fn fine(answer: &str) -> PmiMessage {
    PmiMessage::new(answer).with("rc", 0)
}

fn refusal(answer: &str, reason: &str) -> PmiMessage {
    PmiMessage::new(answer).with("rc", -1).with("msg", reason.replace(' ', "_"))
}

/// A command name that is safe to send back.
fn printable(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect()
}

fn answer_to(rank: usize, message: PmiMessage) -> Event {
    let line = message.to_line().unwrap_or_else(|_| b"cmd=error rc=-1\n".to_vec());
    Event::Answer(rank, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn server(job: u128, appnums: &[i32]) -> Server {
        Server::new(JobId(job), &JobKey([7; 32]), None, appnums, &vec![0; appnums.len()])
    }

    fn ask(server: &mut Server, rank: usize, line: &str) -> Vec<Event> {
        let mut events = Vec::new();
        server.line(rank, line.as_bytes(), &mut events);
        events
    }

    fn answer(server: &mut Server, rank: usize, line: &str) -> PmiMessage {
        match ask(server, rank, line).as_slice() {
            [Event::Answer(to, line)] if *to == rank => PmiMessage::parse(line),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_usual_conversation() {
        let mut server = server(7, &[0, 1]);
        assert_eq!(
            answer(&mut server, 0, "cmd=init pmi_version=1 pmi_subversion=1").command(),
            "response_to_init"
        );
        assert_eq!(answer(&mut server, 1, "cmd=get_appnum").number("appnum"), Some(1));
        assert_eq!(answer(&mut server, 1, "cmd=get_universe_size").number("size"), Some(2));
        let mapping = answer(&mut server, 0, "cmd=get kvsname=x key=PMI_process_mapping");
        assert_eq!(mapping.get("value"), Some("(vector,(0,1,2))"));
        assert_eq!(
            answer(&mut server, 0, "cmd=put kvsname=x key=a value=b=c").number("rc"),
            Some(0)
        );
        assert_eq!(answer(&mut server, 1, "cmd=get kvsname=x key=a").get("value"), Some("b=c"));
        assert_eq!(answer(&mut server, 1, "cmd=get kvsname=x key=z").number("rc"), Some(-1));
        assert!(server.inside(0) && !server.inside(1));
        assert_eq!(answer(&mut server, 0, "cmd=finalize").command(), "finalize_ack");
        assert!(!server.inside(0) && server.initialized(0));
    }

    #[test]
    fn a_barrier_opens_when_all_are_there() {
        let mut server = server(7, &[0, 0, 0]);
        for opened in 1..3 {
            assert_eq!(ask(&mut server, 2, "cmd=barrier_in"), []);
            assert_eq!(ask(&mut server, 2, "cmd=barrier_in"), [], "one rank does not count twice");
            assert_eq!(ask(&mut server, 0, "cmd=barrier_in"), []);
            assert!(server.somebody_waits());
            assert_eq!(ask(&mut server, 1, "cmd=barrier_in").len(), 3);
            assert_eq!(server.barriers(), opened);
            assert!(!server.somebody_waits());
        }
    }

    #[test]
    fn values_of_ranks_are_joined() {
        let mut server = server(7, &[0]);
        for line in ["key=a value=2+b", "key=a+1 value=%20c", "key=wrong value=d"] {
            ask(&mut server, 0, &format!("cmd=put kvsname=x {line}"));
        }
        let values = ["a", "wrong", "z"].map(|key| server.value(key));
        assert_eq!(values, [Some("b c".to_owned()), None, None]);
    }

    #[test]
    fn abort_carries_code_and_sentence() {
        let mut server = server(7, &[0]);
        let events = ask(&mut server, 0, "cmd=abort exitcode=3 towpath_message=It%20broke.");
        assert_eq!(
            events,
            [Event::Abort { rank: 0, code: 3, sentence: Some("It broke.".to_owned()) }]
        );
    }

    #[test]
    fn spawn_is_refused_after_its_last_line() {
        let mut server = server(7, &[0]);
        for line in ["mcmd=spawn", "nprocs=1", "execname=x", "cmd=put key=a value=b"] {
            assert_eq!(ask(&mut server, 0, line), [], "{line}");
        }
        assert_eq!(answer(&mut server, 0, "endcmd").number("rc"), Some(-1));
    }

    proptest! {
        #[test]
        fn garbage_gets_an_answer_at_most(lines in proptest::collection::vec(
            prop_oneof![proptest::collection::vec(any::<u8>(), 0..60), "cmd=[a-z_]{0,12}( key=[a-z]{0,3})?( value=.{0,3})?".prop_map(String::into_bytes)],
            0..20,
        )) {
            let mut server = server(1, &[0, 0]);
            for line in lines {
                let mut events = Vec::new();
                server.line(1, &line, &mut events);
                prop_assert!(events.len() <= 1);
            }
        }
    }
}
