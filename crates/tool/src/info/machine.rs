//! Reports what was found on this machine, with the functions that a job uses.
#![forbid(unsafe_code)]

use towpath_machine::memory::{create_file_some_way, file_system};
use towpath_machine::{cgroup, cores, membarrier};

use crate::report::{CellValue, ReportRow, ReportSection};
use towpath_launch::Error;
use towpath_launch::client::Trial;

/// Number of cores that the processes started by this one may use.
pub(super) fn allowed_cores() -> usize {
    cores::allowed(&cores::affinity())
}

/// Creates the section.
pub(super) fn section(trial: Result<&Trial, &Error>) -> ReportSection {
    let mut rows = vec![kernel()];
    rows.extend(processors());
    rows.extend(memory());
    rows.push(memory_file());
    rows.push(ReportRow::new(
        "membarrier",
        "membarrier",
        CellValue::Flag(membarrier::register() && membarrier::global()),
        "a barrier in other processes, which saves a fence in every message",
    ));
    rows.push(cross_memory(trial));
    ReportSection { key: "machine", title: "Found on this machine".to_owned(), headings: &[], rows }
}

fn kernel() -> ReportRow {
    let names = rustix::system::uname();
    let part = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let kernel = format!("{} {}", part(names.sysname()), part(names.release()));
    ReportRow::new(
        "kernel",
        "kernel",
        CellValue::Text(kernel),
        format!("{} on {}", part(names.machine()), part(names.nodename())),
    )
}

fn processors() -> Vec<ReportRow> {
    let mask = cores::affinity();
    let quota = cgroup::processor_quota();
    let quota_value =
        quota.map_or(CellValue::Nothing("no limit"), |cores| CellValue::Number(cores as u64));
    vec![
        ReportRow::new(
            "affinity",
            "processors",
            CellValue::Numbers(cores::listed(&mask)),
            "affinity mask of this process",
        ),
        ReportRow::new(
            "processor_quota",
            "processor quota",
            quota_value,
            "cores' worth of time of the control group, rounded up",
        ),
        ReportRow::new(
            "allowed_cores",
            "cores allowed",
            CellValue::Number(cores::allowed(&mask) as u64),
            "the smaller of the two: more ranks than these share cores",
        ),
    ]
}

fn memory() -> Vec<ReportRow> {
    let headroom =
        cgroup::memory_headroom().map_or(CellValue::Nothing("no limit"), CellValue::Bytes);
    let (size, remark) = match file_system("/dev/shm") {
        Some((size, free)) => (
            CellValue::Bytes(size),
            format!(
                "{} free; used only where memfd_create is refused",
                CellValue::Bytes(free).for_person()
            ),
        ),
        None => {
            (CellValue::Nothing("none"), "needed only where memfd_create is refused".to_owned())
        }
    };
    vec![
        ReportRow::new(
            "memory_headroom",
            "memory headroom",
            headroom,
            "left of the memory limit of the control group",
        ),
        ReportRow::new("dev_shm", "/dev/shm", size, remark),
    ]
}

fn memory_file() -> ReportRow {
    use towpath_machine::memory::FileOrigin;
    let (works, remark) = match create_file_some_way("towpath-info") {
        Ok((_, FileOrigin::Memfd)) => (true, "shared memory without a file's name".to_owned()),
        Ok((_, FileOrigin::Unlinked { directory, refusal })) => {
            (false, format!("{refusal}; an unlinked file in {directory} takes its place"))
        }
        Err(shortage) => (false, shortage.to_string()),
    };
    ReportRow::new("memfd", "memfd_create", CellValue::Flag(works), remark)
}

fn cross_memory(trial: Result<&Trial, &Error>) -> ReportRow {
    let (allowed, remark) = match trial {
        Ok(Trial { read: Ok(()), .. }) => {
            (CellValue::Flag(true), "a child process read its parent's memory".to_owned())
        }
        Ok(Trial { read: Err(error), .. }) => {
            (CellValue::Flag(false), format!("process_vm_readv: {error}"))
        }
        Err(error) => (CellValue::Nothing("not known"), error.to_string()),
    };
    let usage = "with it, large messages arrive while their sender computes";
    ReportRow::new("cross_memory_attach", "CMA", allowed, format!("{remark}; {usage}"))
}
