//! A host with its proxy, as seen by `mpiexec`: the launch command and the connection over it.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};

use super::frames::FrameReader;
use super::link::ProxyLink;
use super::plan::StartRefusal;
use super::report::signal_name;
use super::signals::Set;

/// One host with its proxy.
pub(super) struct Station {
    pub(super) name: String,
    /// Name of the launch command, for messages.
    shown: String,
    pub(super) link: ProxyLink,
    pub(super) link_watched: bool,
    pub(super) ready: bool,
    /// The host is no longer served: its proxy is done, refused the job, never became ready, or was
    /// lost.
    pub(super) over: bool,
    /// Bytes of each stream that were printed and not yet acknowledged.
    pub(super) owed: [u32; 2],
    pub(super) command: Child,
}

/// How long a command that has closed its output may take to exit.
const LAST_MOMENT: Duration = Duration::from_millis(300);

impl Station {
    /// Explains why the connection ended: how the launch command ended, and what it has printed
    /// instead of frames.
    pub(super) fn why_ended(&mut self) -> String {
        let begin = Instant::now();
        let status = loop {
            match self.command.try_wait() {
                Ok(None) if begin.elapsed() < LAST_MOMENT => {
                    std::thread::sleep(Duration::from_millis(1))
                }
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        let mut reason = "the connection to it ended".to_owned();
        if let Some(status) = status {
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("ended with exit code {code}"),
                (_, Some(signal)) => format!("was killed by {}", signal_name(signal)),
                _ => "ended".to_owned(),
            };
            reason.push_str(&format!(": {} {how}", self.shown));
        }
        let line = self.link.last_line();
        if !line.is_empty() {
            reason.push_str(&format!("; its last line: {line}"));
        }
        reason
    }

    /// Starts the launch command and connects to it.
    ///
    /// # Errors
    /// Exit code and error message.
    pub(super) fn start(
        name: &str,
        words: &[std::ffi::OsString],
        mask: Set,
    ) -> Result<Station, StartRefusal> {
        let shown = words[0].to_string_lossy().into_owned();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        // SAFETY: between fork and exec the closure makes only async-signal-safe calls
        // (`sigprocmask`, `prctl`). With the process group, they make signals of the terminal reach
        // the command through `mpiexec` alone, and terminate the command when `mpiexec` ends.
        unsafe {
            command.pre_exec(move || {
                mask.block();
                Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
            });
        }
        let mut child = command.spawn().map_err(|error| {
            StartRefusal::from(format!(
                "The host {name} cannot be reached: {shown} cannot be started ({error})."
            ))
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(StartRefusal::from(format!(
                "The host {name} cannot be reached: {shown} has no input."
            )));
        };
        let link = ProxyLink::new(output.into(), input.into(), FrameReader::new(true));
        let name = name.to_owned();
        Ok(Station {
            name,
            shown,
            link,
            link_watched: false,
            ready: false,
            over: false,
            owed: [0; 2],
            command: child,
        })
    }
}
