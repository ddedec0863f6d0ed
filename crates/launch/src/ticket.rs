//! The ticket: what Towpath's own `mpiexec` passes to each rank in one environment variable, so
//! that a rank starts without a request to the server.
//!
//! Environments are inherited further than intended (by a rank's child processes, by another
//! launcher started inside a rank). The ticket therefore names the inode of its rank's PMI socket,
//! and is valid only in a process that has that socket open.
#![forbid(unsafe_code)]

use towpath_base::ids::JobId;

/// Name of the environment variable.
pub(crate) const VARIABLE: &str = "TOWPATH_JOB";

const VERSION: u32 = 3;

/// One rank's ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankTicket {
    pub(crate) job: JobId,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// Number of the program on the command line (MPI_APPNUM).
    pub(crate) appnum: i32,
    /// Descriptor number of the segment.
    pub(crate) segment: i32,
    /// Descriptor number of the PMI socket.
    pub(crate) pmi: i32,
    /// Inode of that socket.
    pub(crate) inode: u64,
    /// Hosts of all ranks, as a process mapping.
    pub(crate) mapping: String,
}

impl RankTicket {
    pub(crate) fn to_text(&self) -> String {
        let RankTicket { job, rank, size, appnum, segment, pmi, inode, mapping } = self;
        format!("{VERSION}:{:x}:{rank}:{size}:{appnum}:{segment}:{pmi}:{inode}:{mapping}", job.0)
    }

    pub(crate) fn parse(text: &str) -> Option<RankTicket> {
        let parts: Vec<&str> = text.split(':').collect();
        let &[version, job, rank, size, appnum, segment, pmi, inode, mapping] = parts.as_slice()
        else {
            return None;
        };
        let ticket = RankTicket {
            job: JobId(u128::from_str_radix(job, 16).ok()?),
            rank: rank.parse().ok()?,
            size: size.parse().ok()?,
            appnum: appnum.parse().ok()?,
            segment: segment.parse().ok()?,
            pmi: pmi.parse().ok()?,
            inode: inode.parse().ok()?,
            mapping: mapping.to_owned(),
        };
        (version == VERSION.to_string()
            && ticket.rank < ticket.size
            && ticket.pmi >= 0
            && ticket.segment >= 0)
            .then_some(ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_read_back_and_a_torn_one_is_not() {
        let mapping = "(vector,(0,2,2))".to_owned();
        let ticket = RankTicket {
            job: JobId(0xabc),
            rank: 3,
            size: 4,
            appnum: 1,
            segment: 65,
            pmi: 64,
            inode: 99,
            mapping,
        };
        assert_eq!(RankTicket::parse(&ticket.to_text()), Some(ticket));
        for text in [
            "",
            "3:abc:4:4:0:65:64:9:m",
            "2:abc:0:4:0:65:64:9:m",
            "3:abc:0:4:0:65:64:9",
            "3:abc:0:4:0:-1:64:9:m",
        ] {
            assert_eq!(RankTicket::parse(text), None, "{text}");
        }
    }
}
