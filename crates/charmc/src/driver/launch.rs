//! `towpath-charmrun +pN program arguments`: a job of N ranks.

use std::path::PathBuf;

use super::Installation;

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharmrunCommand {
    /// Where mpiexec is.
    pub mpiexec: PathBuf,
    /// The words of its command line, after its name.
    pub arguments: Vec<String>,
    /// Sentences about what is ignored.
    pub remarks: Vec<String>,
}

/// Options that a word follows.
const WITH_WORD: &[&str] = &[
    "+LBPeriod",
    "+LBDebug",
    "+LBDump",
    "+LBDumpFile",
    "+LBDumpSteps",
    "+LBSim",
    "+LBSimSteps",
    "+bgstacksize",
    "+commap",
    "+logsize",
    "+pemap",
    "+stacksize",
    "+tcharm_stacksize",
    "+traceroot",
    "+vp",
    "++batch",
    "++mpiexec-cmd",
    "++nodegroup",
    "++nodelist",
    "++processPerHost",
    "++remote-shell",
    "++runscript",
    "++server-port",
    "++timeout",
];

/// Options with a word that the program reads.
const OF_PROGRAM: &[&str] = &["+balancer", "+restart"];

/// Options that need no remark: the job is as they say.
const ACCEPTED: &[&str] = &["++local", "+setcpuaffinity"];

/// Reads a command line, without the name of the program.
///
/// # Errors
/// A number is wrong, or there is no program.
pub fn launch(words: &[String], installed: &Installation) -> Result<CharmrunCommand, String> {
    let (mut ranks, mut program, mut remarks) = (1, Vec::new(), Vec::new());
    let mut of_program = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("A word is missing after {word}."));
        if let Some(digits) = number_after(word, &["+p", "++p", "+n", "++n"]) {
            let digits = if digits.is_empty() { value()? } else { digits };
            ranks = positive(word, digits)?;
        } else if let Some(digits) = number_after(word, &["+ppn", "++ppn"]) {
            let digits = if digits.is_empty() { value()? } else { digits };
            if positive(word, digits)? != 1 {
                return Err(format!(
                    "{word} asks for several processing elements in a process, but each has a \
                     process of its own here: ask for more with +p."
                ));
            }
        } else if OF_PROGRAM.contains(&word.as_str()) {
            of_program.extend([word.clone(), value()?.clone()]);
        } else if word.starts_with('+') {
            let value = if WITH_WORD.contains(&word.as_str()) { Some(value()?) } else { None };
            if !ACCEPTED.contains(&word.as_str()) {
                let shown = value.map_or_else(|| word.clone(), |value| format!("{word} {value}"));
                remarks.push(format!("{shown} is ignored."));
            }
        } else {
            program.push(word.clone());
        }
    }
    if program.is_empty() {
        return Err("There is no program to run: towpath-charmrun +p2 ./program".to_owned());
    }
    let mut arguments = vec!["-n".to_owned(), ranks.to_string()];
    arguments.append(&mut program);
    arguments.append(&mut of_program);
    Ok(CharmrunCommand { mpiexec: installed.mpiexec(), arguments, remarks })
}

/// What follows one of these options, if it is digits or nothing.
fn number_after<'w>(word: &'w str, options: &[&str]) -> Option<&'w str> {
    let mut rests = options.iter().filter_map(|option| word.strip_prefix(option));
    rests.find(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn positive(option: &str, digits: &str) -> Result<u32, String> {
    let number = digits.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{option} needs a number of 1 at least, not '{digits}'."))
}
