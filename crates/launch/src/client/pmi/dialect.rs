//! The two dialects of PMI as messages: each request, the name of its answer, and what the answer
//! contains. Both use the descriptor PMI_FD.
//!
//! Slurm's server speaks both dialects, but rejects a job in which ranks choose differently. The
//! choice therefore depends only on what the launcher puts into every rank's environment
//! ([`Dialect::in_environment`]), never on probing: PMI-2 if Slurm names pmi2 as its plugin, else
//! PMI-1, which every other launcher with PMI_FD speaks. TOWPATH_PMI overrides the choice.
#![forbid(unsafe_code)]

use crate::wire::{LineReader, PmiMessage, records};

/// Version of PMI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// PMI-1: lines.
    One,
    /// PMI-2: records.
    Two,
}

impl Dialect {
    /// The dialect that all ranks of the job choose.
    pub(crate) fn in_environment(variable: &dyn Fn(&str) -> Option<String>) -> Dialect {
        match variable("TOWPATH_PMI").as_deref().map(str::trim) {
            Some("1") => Dialect::One,
            Some("2") => Dialect::Two,
            _ if variable("SLURM_MPI_TYPE").as_deref() == Some("pmi2") => Dialect::Two,
            _ => Dialect::One,
        }
    }

    /// The first request, a line in both dialects.
    pub(super) fn hello(self) -> PmiMessage {
        let (version, subversion) = match self {
            Dialect::One => (1, 1),
            Dialect::Two => (2, 0),
        };
        PmiMessage::new("init").with("pmi_version", version).with("pmi_subversion", subversion)
    }

    pub(super) fn put(self, space: &str, key: &str, value: &str) -> (PmiMessage, &'static str) {
        match self {
            Dialect::One => (
                PmiMessage::new("put").with("kvsname", space).with("key", key).with("value", value),
                "put_result",
            ),
            Dialect::Two => (
                PmiMessage::new("kvs-put").with("key", key).with("value", value),
                "kvs-put-response",
            ),
        }
    }

    pub(super) fn get(self, space: &str, key: &str) -> (PmiMessage, &'static str) {
        match self {
            Dialect::One => {
                (PmiMessage::new("get").with("kvsname", space).with("key", key), "get_result")
            }
            Dialect::Two => (
                PmiMessage::new("kvs-get").with("jobid", space).with("srcid", -1).with("key", key),
                "kvs-get-response",
            ),
        }
    }

    /// The request for what the launcher itself provides about the job.
    pub(super) fn attribute(self, space: &str, key: &str) -> (PmiMessage, &'static str) {
        match self {
            Dialect::One => self.get(space, key),
            Dialect::Two => {
                (PmiMessage::new("info-getjobattr").with("key", key), "info-getjobattr-response")
            }
        }
    }

    /// The value in the answer to a get; `None` if the server has none.
    pub(super) fn value(self, answer: &PmiMessage) -> Option<&str> {
        let found = match self {
            Dialect::One => true,
            Dialect::Two => {
                answer.get("found").is_some_and(|found| found.eq_ignore_ascii_case("true"))
            }
        };
        answer.get("value").filter(|_| found && answer.number::<i32>("rc").unwrap_or(0) == 0)
    }

    pub(super) fn fence(self) -> (PmiMessage, &'static str) {
        match self {
            Dialect::One => (PmiMessage::new("barrier_in"), "barrier_out"),
            Dialect::Two => (PmiMessage::new("kvs-fence"), "kvs-fence-response"),
        }
    }

    pub(super) fn finalize(self) -> (PmiMessage, &'static str) {
        let answer = match self {
            Dialect::One => "finalize_ack",
            Dialect::Two => "finalize-response",
        };
        (PmiMessage::new("finalize"), answer)
    }

    /// The request to end the job, which has no answer. PMI-2 carries no exit code; the launcher
    /// uses the process's own.
    pub(super) fn abort(self, code: i32, sentence: Option<&str>) -> PmiMessage {
        match self {
            Dialect::One => {
                let request = PmiMessage::new("abort").with("exitcode", code);
                match sentence {
                    Some(sentence) => {
                        request.with("towpath_message", crate::wire::escape(sentence.as_bytes()))
                    }
                    None => request,
                }
            }
            Dialect::Two => PmiMessage::new("abort")
                .with("isworld", "TRUE")
                .with("msg", sentence.unwrap_or("MPI_Abort")),
        }
    }
}

/// The framing of a byte stream, by dialect.
#[derive(Debug)]
pub(super) enum Framing {
    Lines(LineReader),
    Records(records::RecordReader),
}

impl Framing {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self {
            Framing::Lines(lines) => lines.push(bytes),
            Framing::Records(records) => records.push(bytes),
        }
    }

    /// The next message; `Ok(None)` if more bytes are needed.
    pub(super) fn next(&mut self) -> Result<Option<PmiMessage>, String> {
        Ok(match self {
            Framing::Lines(lines) => lines.next_line()?.map(|line| PmiMessage::parse(&line)),
            Framing::Records(records) => {
                records.next_record()?.map(|record| records::parse(&record))
            }
        })
    }

    pub(super) fn write(&self, message: &PmiMessage) -> Result<Vec<u8>, String> {
        match self {
            Framing::Lines(_) => message.to_line(),
            Framing::Records(_) => records::write(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides_alike_in_all_ranks() {
        let chosen = |variables: &[(&str, &str)]| {
            Dialect::in_environment(&|name| {
                variables
                    .iter()
                    .find(|(other, _)| *other == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(chosen(&[]), Dialect::One);
        assert_eq!(chosen(&[("SLURM_STEP_ID", "0")]), Dialect::One);
        assert_eq!(chosen(&[("SLURM_MPI_TYPE", "pmi2"), ("SLURM_STEP_ID", "0")]), Dialect::Two);
        assert_eq!(chosen(&[("SLURM_MPI_TYPE", "pmi2"), ("TOWPATH_PMI", "1")]), Dialect::One);
        assert_eq!(chosen(&[("TOWPATH_PMI", "2")]), Dialect::Two);
    }

    #[test]
    fn a_missing_key_has_no_value() {
        let absent = records::parse(b"cmd=kvs-get-response;rc=0;found=FALSE;value=old;");
        assert_eq!(Dialect::Two.value(&absent), None);
        assert_eq!(
            Dialect::One.value(&PmiMessage::parse(b"cmd=get_result rc=-1 value=unknown")),
            None
        );
        assert_eq!(Dialect::One.value(&PmiMessage::parse(b"cmd=get_result value=a")), Some("a"));
    }
}
