//! The start and the end of a program of chares in any language, with what its user has set.

use std::rc::Rc;

use towpath_actors::sample::SampleRequest;
use towpath_actors::{Chares, QueueOrder, Runtime};
use towpath_base::config;
use towpath_machine::chares::ChareFile;

use crate::layer::open_watched;
use crate::library::LibraryError;
use crate::report::SampleWriter;
use crate::watch::RequestWatch;

const CHECK: &str = "TOWPATH_CHARES_CHECK";
const REPORT: &str = "TOWPATH_CHARES_REPORT";
const PERIOD: &str = "TOWPATH_CHARES_REPORT_MILLISECONDS";
const RANDOM: &str = "TOWPATH_CHARES_RANDOM";

/// Opens the MPI library of the process as [`crate::open`] does, and makes the runtime of this
/// rank, with the order, the report and the samples for `towpath info` that the user has set.
///
/// # Errors
/// There is no MPI library, it has failed or has been finalized, or another thread of the process
/// has called this before.
pub fn start(chares: Box<dyn Chares>) -> Result<Runtime, LibraryError> {
    let mut reporter = None;
    let layer = open_watched(|rank, ranks| {
        // What is wrong with a setting is said once.
        for name in [CHECK, RANDOM].into_iter().filter(|_| rank == 0) {
            complain(name);
        }
        (rank == 0).then(|| {
            let (watch, made) = watch(ranks);
            reporter = Some(made);
            watch
        })
    })?;
    let order = match value(RANDOM) {
        Some(seed) => QueueOrder::seeded(seed, layer.rank()),
        None => QueueOrder::Fifo,
    };
    let runtime = Runtime::new(layer, chares, order);
    if let Some((reporter, reports)) = reporter {
        runtime.observe(Box::new(reporter));
        if reports {
            runtime.ask_for_samples(SampleRequest { measures: true, until_end: true });
        }
    }
    Ok(runtime)
}

/// At rank 0: when it asks for samples, and what writes them; whether there is a report.
fn watch(ranks: u32) -> (RequestWatch, (SampleWriter, bool)) {
    // Without memory for it, `towpath info` finds no chares.
    let file = ChareFile::create(ranks).ok().map(Rc::new);
    let mut reporter = SampleWriter::new(file.clone(), ranks);
    let milliseconds = config::setting(REPORT).and_then(|path| {
        complain(PERIOD);
        let milliseconds = value(PERIOD)?;
        reporter.begin(&path, milliseconds).then_some(milliseconds)
    });
    let watch = RequestWatch::new(file, milliseconds.map(|number| number * 1_000_000));
    (watch, (reporter, milliseconds.is_some()))
}

/// The number of a setting, without a complaint.
fn value(name: &str) -> Option<u64> {
    config::number_of(name, &config::setting(name)?).0
}

/// Says what is wrong with a setting.
fn complain(name: &str) {
    let complaint = config::setting(name).and_then(|text| config::number_of(name, &text).1);
    if let Some(sentence) = complaint {
        eprintln!("towpath: {sentence}");
    }
}

/// Ends all communication, once all ranks call this. The job has ended. If the user has set that,
/// each rank lists the messages that were not delivered before.
pub fn stop(runtime: &Runtime) {
    if value(CHECK) == Some(1) {
        for sentence in runtime.undelivered() {
            eprintln!("towpath: rank {}: {sentence}", runtime.rank());
        }
    }
    runtime.close();
}
