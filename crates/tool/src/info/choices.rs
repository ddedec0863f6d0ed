//! Reports what Towpath would choose for a job of a given number of ranks on this host. Each choice
//! comes from the code that makes it.
#![forbid(unsafe_code)]

use std::os::fd::AsFd;

use towpath_machine::cores::{self, Mask};
use towpath_machine::memory::FileOrigin;
use towpath_machine::{cgroup, wait::Policy};

use crate::report::{CellValue, ReportRow, ReportSection};
use towpath_launch::Error;
use towpath_launch::client::{self, Reached, Seen, Trial};
use towpath_launch::mpiexec::binding;
use towpath_launch::segment::{self, View};

/// Creates the section.
pub(super) fn section(
    ranks: usize,
    seen: &Result<Seen, Error>,
    trial: Result<&Trial, &Error>,
) -> ReportSection {
    let mut rows = vec![launcher(seen)];
    let in_job = matches!(seen, Ok(Seen { rank_and_size: Some(_), .. }));
    let (masks, bound) = if in_job { of_this_job(ranks) } else { of_a_new_job(ranks) };
    rows.push(bound);
    rows.extend(waiting(&masks, in_job));
    rows.push(handover(seen, trial));
    let title =
        format!("Choices for {ranks} rank{} on this host", if ranks == 1 { "" } else { "s" });
    ReportSection { key: "choices", title, headings: &[], rows }
}

fn launcher(seen: &Result<Seen, Error>) -> ReportRow {
    let (value, why) = match seen {
        Ok(Seen { launcher, rank_and_size: Some((rank, size)), .. }) => {
            let size = size.map(|size| format!(" of {size}")).unwrap_or_default();
            (
                CellValue::text(launcher),
                format!("Its variables are in the environment: this is rank {rank}{size}."),
            )
        }
        Ok(Seen { launcher, rank_and_size: None, .. }) => (
            CellValue::text(launcher),
            "A program started here runs alone, as rank 0 of 1; mpiexec -n N starts a job."
                .to_owned(),
        ),
        Err(error) => (CellValue::text("refused"), error.to_string()),
    };
    ReportRow::new("launcher", "launcher seen", value, why)
}

/// Where the ranks of the job that this process belongs to may run, as far as this process can
/// tell.
fn of_this_job(ranks: usize) -> (Vec<Mask>, ReportRow) {
    let mask = cores::affinity();
    let why = "The launcher has done what it does: these are the processors of this rank.";
    let row = ReportRow::new("binding", "binding", CellValue::Numbers(cores::listed(&mask)), why);
    (vec![mask; ranks], row)
}

/// Where mpiexec would let the ranks run.
fn of_a_new_job(ranks: usize) -> (Vec<Mask>, ReportRow) {
    let (bound, why) = binding::by_default(ranks);
    let own = cores::affinity();
    let masks = bound
        .iter()
        .map(|cores| if cores.is_empty() { own } else { cores::mask_of(cores) })
        .collect();
    let is_bound = bound.iter().any(|cores| !cores.is_empty());
    if !is_bound {
        return (masks, ReportRow::new("binding", "binding", CellValue::text("none"), why));
    }
    let first: Vec<String> =
        bound.iter().take(8).map(|cores| CellValue::Numbers(cores.clone()).for_person()).collect();
    let more = if bound.len() > first.len() { "; ..." } else { "" };
    let why = format!("{why} Processors of each rank in turn: {}{more}.", first.join("; "));
    (masks, ReportRow::new("binding", "binding", CellValue::text("to cores"), why))
}

/// How a rank waits and is woken up, and how the segment is created.
fn waiting(masks: &[Mask], in_job: bool) -> Vec<ReportRow> {
    let (policy, way) = match policy_of(masks) {
        Ok(made) => made,
        Err(error) => {
            return vec![ReportRow::new(
                "segment",
                "segment",
                CellValue::text("none"),
                error.to_string(),
            )];
        }
    };
    // A rank of a job knows its own processors only. The other ranks may share them, or have as
    // many of their own.
    let others_decide =
        in_job && policy_of(&apart(masks)).is_ok_and(|(other, _)| other.fits != policy.fits);
    let [wait, wake] = if others_decide {
        let why = format!(
            "This rank may use {} processor(s). Whether the {} ranks fit on those of all ranks together, they find out \
             when MPI starts; started alone, towpath info --ranks {1} tells.",
            masks.first().map_or(0, cores::count),
            masks.len()
        );
        let later = |key, label| ReportRow::new(key, label, CellValue::text("not known yet"), &why);
        [later("waiting", "waiting"), later("wake_up", "wake-up")]
    } else {
        [how_to_wait(&policy), how_to_wake(&policy)]
    };
    vec![wait, wake, how_to_make(&way)]
}

/// The wait policy of ranks with these masks, computed with a segment that no job uses.
fn policy_of(masks: &[Mask]) -> Result<(Policy, FileOrigin), Error> {
    let (file, way) = segment::make_some_way(segment::new_nonce(), 1)?;
    let view = View::map(file.as_fd(), 1)?;
    Ok((Policy::of_ranks(masks, cgroup::processor_quota(), view.head(), view.page(0)), way))
}

/// Returns disjoint masks with as many processors each as `masks` have.
fn apart(masks: &[Mask]) -> Vec<Mask> {
    let mut next = 0;
    let mut own = |mask| {
        let begin = next;
        next += cores::count(mask);
        cores::mask_of(&(begin..next).collect::<Vec<_>>())
    };
    masks.iter().map(&mut own).collect()
}

fn how_to_wait(policy: &Policy) -> ReportRow {
    let Policy { ranks, cores, .. } = *policy;
    let (value, why) = if policy.fits {
        let value = if policy.spin.is_zero() { "yield, sleep" } else { "spin, yield, sleep" };
        let soon = if ranks == 1 {
            format!(
                ", and over TCP and libfabric sleeps after {} yields",
                policy.yields_before_sleep
            )
        } else {
            String::new()
        };
        let why = format!(
            "{ranks} rank(s) fit on {cores} core(s): a wait polls for {} us, yields up to {} us, \
             then sleeps. While ranks of other hosts take turns on the same core, it yields from \
             the start{soon}.",
            policy.spin.as_micros(),
            policy.yield_limit.as_micros(),
        );
        (value, why)
    } else {
        let why = format!(
            "{ranks} ranks share {cores} core(s), where polling would hold up who is waited for: a wait sleeps after {} \
             yields, or at once for a while after a yield that took more than {} us.",
            policy.yields_before_sleep,
            policy.slow_yield.as_micros()
        );
        ("yield, sleep", why)
    };
    ReportRow::new("waiting", "waiting", CellValue::text(value), why)
}

fn how_to_wake(policy: &Policy) -> ReportRow {
    let (value, why) = if policy.barrier_before_sleep {
        (
            "membarrier",
            "A rank that goes to sleep issues a barrier in all ranks; messages need no fence.",
        )
    } else if policy.membarrier {
        (
            "fence",
            "Ranks that share cores sleep often: a fence in each message is cheaper than a barrier \
             in all ranks.",
        )
    } else {
        ("fence", "The kernel or a sandbox refuses membarrier, so each message carries a fence.")
    };
    ReportRow::new("wake_up", "wake-up", CellValue::text(value), why)
}

fn how_to_make(way: &FileOrigin) -> ReportRow {
    match way {
        FileOrigin::Memfd => ReportRow::new(
            "segment",
            "segment",
            CellValue::text("memfd"),
            "memfd_create works: no named file is needed.",
        ),
        FileOrigin::Unlinked { directory, refusal } => {
            let why = format!(
                "memfd_create is refused ({refusal}); the file is unlinked as soon as it is \
                 created."
            );
            ReportRow::new(
                "segment",
                "segment",
                CellValue::text(format!("file in {directory}")),
                why,
            )
        }
    }
}

/// How ranks obtain the segment: under the launcher found, or under a launcher other than
/// Towpath's.
fn handover(seen: &Result<Seen, Error>, trial: Result<&Trial, &Error>) -> ReportRow {
    let tried = match trial {
        Ok(Trial { reached: Some(Reached::Proc), .. }) => {
            "opens /proc/PID/fd of the rank that created it"
        }
        Ok(Trial { reached: Some(Reached::Socket), .. }) => {
            "receives it over an abstract socket (/proc/PID/fd of another process cannot be opened)"
        }
        Ok(Trial { reached: None, .. }) => {
            "opens a file with a name in /dev/shm or TMPDIR, removed when all have it (neither /proc/PID/fd nor an \
             abstract socket works)"
        }
        Err(error) => {
            return ReportRow::new(
                "handover",
                "handover",
                CellValue::text("not known"),
                error.to_string(),
            );
        }
    };
    let value = match seen {
        Ok(Seen { rank_and_size: Some(_), handover, .. }) => handover,
        Ok(Seen { rank_and_size: None, .. }) => client::BY_OWN_MPIEXEC,
        Err(_) => "none",
    };
    let why = format!(
        "Ranks of Towpath's mpiexec inherit the segment, a program alone keeps its own. Under another launcher a rank \
         {tried}: tried just now."
    );
    ReportRow::new("handover", "handover", CellValue::text(value), why)
}
