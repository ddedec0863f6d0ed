//! What was found on this machine, by the functions with which a job looks.
#![forbid(unsafe_code)]

use towpath_machine::memory::{create_file_some_way, file_system};
use towpath_machine::{cgroup, cores, membarrier};

use super::super::report::{Row, Section, Value};
use crate::client::Trial;
use crate::error::Error;

/// How many cores the processes that this one starts may keep busy.
pub(super) fn allowed_cores() -> usize {
    cores::allowed(&cores::affinity())
}

/// The section.
pub(super) fn section(trial: Result<&Trial, &Error>) -> Section {
    let mut rows = vec![kernel()];
    rows.extend(processors());
    rows.extend(memory());
    rows.push(memory_file());
    rows.push(Row::new(
        "membarrier",
        "membarrier",
        Value::Flag(membarrier::register() && membarrier::global()),
        "a barrier in other processes, which saves a fence in every message",
    ));
    rows.push(cross_memory(trial));
    Section { key: "machine", title: "Found on this machine".to_owned(), headings: &[], rows }
}

fn kernel() -> Row {
    let names = rustix::system::uname();
    let part = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let kernel = format!("{} {}", part(names.sysname()), part(names.release()));
    Row::new(
        "kernel",
        "kernel",
        Value::Text(kernel),
        format!("{} on {}", part(names.machine()), part(names.nodename())),
    )
}

fn processors() -> Vec<Row> {
    let mask = cores::affinity();
    let quota = cgroup::processor_quota();
    let quota_value = quota.map_or(Value::Nothing("no limit"), |cores| Value::Number(cores as u64));
    vec![
        Row::new("affinity", "processors", Value::Numbers(cores::listed(&mask)), "affinity mask of this process"),
        Row::new(
            "processor_quota",
            "processor quota",
            quota_value,
            "cores' worth of time of the control group, rounded up",
        ),
        Row::new(
            "allowed_cores",
            "cores allowed",
            Value::Number(cores::allowed(&mask) as u64),
            "the smaller of the two: more ranks than these share cores",
        ),
    ]
}

fn memory() -> Vec<Row> {
    let headroom = cgroup::memory_headroom().map_or(Value::Nothing("no limit"), Value::Bytes);
    let (size, remark) = match file_system("/dev/shm") {
        Some((size, free)) => (
            Value::Bytes(size),
            format!("{} free; used only where memfd_create is refused", Value::Bytes(free).for_person()),
        ),
        None => (Value::Nothing("none"), "needed only where memfd_create is refused".to_owned()),
    };
    vec![
        Row::new("memory_headroom", "memory headroom", headroom, "left of the memory limit of the control group"),
        Row::new("dev_shm", "/dev/shm", size, remark),
    ]
}

fn memory_file() -> Row {
    use towpath_machine::memory::Way;
    let (works, remark) = match create_file_some_way("towpath-info") {
        Ok((_, Way::Memfd)) => (true, "shared memory without a file's name".to_owned()),
        Ok((_, Way::Unlinked { folder, refusal })) => {
            (false, format!("{refusal}; an unlinked file in {folder} takes its place"))
        }
        Err(shortage) => (false, shortage.to_string()),
    };
    Row::new("memfd", "memfd_create", Value::Flag(works), remark)
}

fn cross_memory(trial: Result<&Trial, &Error>) -> Row {
    let (allowed, remark) = match trial {
        Ok(Trial { read: Ok(()), .. }) => (Value::Flag(true), "a child process read its parent's memory".to_owned()),
        Ok(Trial { read: Err(error), .. }) => (Value::Flag(false), format!("process_vm_readv: {error}")),
        Err(error) => (Value::Nothing("not known"), error.to_string()),
    };
    Row::new("cross_memory_attach", "CMA", allowed, format!("{remark}; this version of Towpath does without"))
}
