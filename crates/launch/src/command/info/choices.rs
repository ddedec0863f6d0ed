//! What Towpath would choose for a job of so many ranks on this host, each choice asked of the code
//! that makes it.
#![forbid(unsafe_code)]

use std::os::fd::AsFd;

use towpath_machine::cores::{self, Mask};
use towpath_machine::memory::Way;
use towpath_machine::{cgroup, wait::Policy};

use super::super::report::{Row, Section, Value};
use crate::client::{self, Reached, Seen, Trial};
use crate::error::Error;
use crate::mpiexec::binding;
use crate::segment::{self, View};

/// The section.
pub(super) fn section(ranks: usize, seen: &Result<Seen, Error>, trial: Result<&Trial, &Error>) -> Section {
    let mut rows = vec![launcher(seen)];
    let in_job = matches!(seen, Ok(Seen { place: Some(_), .. }));
    let (masks, bound) = if in_job { of_this_job(ranks) } else { of_a_new_job(ranks) };
    rows.push(bound);
    rows.extend(waiting(&masks, in_job));
    rows.push(handover(seen, trial));
    let title = format!("Choices for {ranks} rank{} on this host", if ranks == 1 { "" } else { "s" });
    Section { key: "choices", title, headings: &[], rows }
}

fn launcher(seen: &Result<Seen, Error>) -> Row {
    let (value, why) = match seen {
        Ok(Seen { launcher, place: Some((rank, size)), .. }) => {
            let size = size.map(|size| format!(" of {size}")).unwrap_or_default();
            (Value::text(launcher), format!("Its variables are in the environment: this is rank {rank}{size}."))
        }
        Ok(Seen { launcher, place: None, .. }) => (
            Value::text(launcher),
            "A program started here runs alone, as rank 0 of 1; mpiexec -n N starts a job.".to_owned(),
        ),
        Err(error) => (Value::text("refused"), error.to_string()),
    };
    Row::new("launcher", "launcher seen", value, why)
}

/// Where the ranks of the job that this process belongs to may run, as far as this process can
/// tell.
fn of_this_job(ranks: usize) -> (Vec<Mask>, Row) {
    let mask = cores::affinity();
    let why = "The launcher has done what it does: these are the processors of this rank.";
    let row = Row::new("binding", "binding", Value::Numbers(cores::listed(&mask)), why);
    (vec![mask; ranks], row)
}

/// Where mpiexec would let the ranks run.
fn of_a_new_job(ranks: usize) -> (Vec<Mask>, Row) {
    let (bound, why) = binding::by_default(ranks);
    let own = cores::affinity();
    let masks = bound.iter().map(|cores| if cores.is_empty() { own } else { cores::mask_of(cores) }).collect();
    let is_bound = bound.iter().any(|cores| !cores.is_empty());
    if !is_bound {
        return (masks, Row::new("binding", "binding", Value::text("none"), why));
    }
    let first: Vec<String> = bound.iter().take(8).map(|cores| Value::Numbers(cores.clone()).for_person()).collect();
    let more = if bound.len() > first.len() { "; ..." } else { "" };
    let why = format!("{why} Processors of each rank in turn: {}{more}.", first.join("; "));
    (masks, Row::new("binding", "binding", Value::text("to cores"), why))
}

/// How a rank waits and is woken, and how the segment is made.
fn waiting(masks: &[Mask], in_job: bool) -> Vec<Row> {
    let (policy, way) = match policy_of(masks) {
        Ok(made) => made,
        Err(error) => return vec![Row::new("segment", "segment", Value::text("none"), error.to_string())],
    };
    // A rank of a job knows its own processors only: the others may share them, or have as many of
    // their own.
    let others_decide = in_job && policy_of(&apart(masks)).is_ok_and(|(other, _)| other.fits != policy.fits);
    let [wait, wake] = if others_decide {
        let why = format!(
            "This rank may use {} processor(s). Whether the {} ranks fit on those of all ranks together, they find out \
             when MPI starts; started alone, towpath info --ranks {1} tells.",
            masks.first().map_or(0, cores::count),
            masks.len()
        );
        let later = |key, label| Row::new(key, label, Value::text("not known yet"), &why);
        [later("waiting", "waiting"), later("wake_up", "wake-up")]
    } else {
        [how_to_wait(&policy), how_to_wake(&policy)]
    };
    vec![wait, wake, how_to_make(&way)]
}

/// The policy of ranks with these masks: asked of a segment that no job uses.
fn policy_of(masks: &[Mask]) -> Result<(Policy, Way), Error> {
    let (file, way) = segment::make_some_way(segment::new_nonce(), 1)?;
    let view = View::map(file.as_fd(), 1)?;
    Ok((Policy::of_ranks(masks, cgroup::processor_quota(), view.head(), view.page(0)), way))
}

/// As many masks with as many processors each, none of which is in two.
fn apart(masks: &[Mask]) -> Vec<Mask> {
    let mut next = 0;
    let mut own = |mask| {
        let begin = next;
        next += cores::count(mask);
        cores::mask_of(&(begin..next).collect::<Vec<_>>())
    };
    masks.iter().map(&mut own).collect()
}

fn how_to_wait(policy: &Policy) -> Row {
    let Policy { ranks, cores, .. } = *policy;
    let (value, why) = if policy.fits {
        let value = if policy.spin.is_zero() { "yield, sleep" } else { "spin, yield, sleep" };
        let why = format!(
            "{ranks} rank(s) fit on {cores} core(s): a wait polls for {} us, yields up to {} us, then sleeps.",
            policy.spin.as_micros(),
            policy.yield_limit.as_micros()
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
    Row::new("waiting", "waiting", Value::text(value), why)
}

fn how_to_wake(policy: &Policy) -> Row {
    let (value, why) = if policy.barrier_before_sleep {
        ("membarrier", "Who goes to sleep asks for a barrier in all ranks; messages need no fence.")
    } else if policy.membarrier {
        ("fence", "Ranks that share cores sleep often: a fence in each message is cheaper than a barrier in all ranks.")
    } else {
        ("fence", "The kernel or a sandbox refuses membarrier, so each message carries a fence.")
    };
    Row::new("wake_up", "wake-up", Value::text(value), why)
}

fn how_to_make(way: &Way) -> Row {
    match way {
        Way::Memfd => Row::new("segment", "segment", Value::text("memfd"), "memfd_create works: no file has a name."),
        Way::Unlinked { folder, refusal } => {
            let why = format!("memfd_create is refused ({refusal}); the file loses its name as soon as it is made.");
            Row::new("segment", "segment", Value::text(format!("file in {folder}")), why)
        }
    }
}

/// How ranks come by the segment: under the launcher that is seen, or a foreign one.
fn handover(seen: &Result<Seen, Error>, trial: Result<&Trial, &Error>) -> Row {
    let tried = match trial {
        Ok(Trial { reached: Some(Reached::Proc), .. }) => "opens /proc/PID/fd of the rank that made it",
        Ok(Trial { reached: Some(Reached::Socket), .. }) => {
            "receives it over an abstract socket (/proc/PID/fd of another process cannot be opened)"
        }
        Ok(Trial { reached: None, .. }) => {
            "opens a file with a name in /dev/shm or TMPDIR, removed when all have it (neither /proc/PID/fd nor an \
             abstract socket works)"
        }
        Err(error) => return Row::new("handover", "handover", Value::text("not known"), error.to_string()),
    };
    let value = match seen {
        Ok(Seen { place: Some(_), handover, .. }) => handover,
        Ok(Seen { place: None, .. }) => client::BY_OWN_MPIEXEC,
        Err(_) => "none",
    };
    let why = format!(
        "Ranks of Towpath's mpiexec inherit the segment, a program alone keeps its own. Under another launcher a rank \
         {tried}: tried just now."
    );
    Row::new("handover", "handover", Value::text(value), why)
}
