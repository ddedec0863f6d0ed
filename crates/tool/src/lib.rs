//! The command `towpath`, which answers the user's questions about Towpath on this machine. Each
//! question is a subcommand, a row of [`SUBCOMMANDS`], which drives both parsing and `--help`.

mod info;
mod link_charm;
mod load;
mod report;
mod samples;
mod tune;

use std::ffi::OsString;
use std::io::Write;

use towpath_base::config::nearest;

/// One subcommand.
struct Subcommand {
    name: &'static str,
    /// Its line in the list of `towpath --help`.
    about: &'static str,
    /// The output of `towpath NAME --help`.
    help: &'static str,
    /// Parses the arguments after the name and returns the answer, or an error message for the
    /// user.
    answer: fn(&[String]) -> Result<String, String>,
}

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "info",
        about: "what is installed, what was found on this machine, what Towpath would choose and \
                why, all settings",
        help: info::HELP,
        answer: info::answer,
    },
    Subcommand {
        name: "tune",
        about: "measures the links between hosts once, for all later jobs on them",
        help: tune::HELP,
        answer: tune::answer,
    },
    Subcommand {
        name: "load",
        about: "how much each rank of a program of chares has done over time, out of its report",
        help: load::HELP,
        answer: load::answer,
    },
    Subcommand {
        name: "explain",
        about: "what a collective does on a described cluster, by levels, with predicted times",
        help: towpath_explain::HELP,
        answer: towpath_explain::answer,
    },
    Subcommand {
        name: "link-charm",
        about: "makes links named charmc and charmrun, for programs of Charm++",
        help: link_charm::HELP,
        answer: link_charm::answer,
    },
];

/// First argument of the program if it is to be the command `towpath`, whatever its own name.
const AS_TOOL: &str = "--towpath";

/// Runs the command line of this process and returns its exit code.
///
/// The program is both `towpath` and `mpiexec`, which share most of their code: in a wheel, a
/// second program would be a twentieth of it. It is installed as `mpiexec`, and `towpath` is a
/// script that starts it with `--towpath`. Under the name that cargo gives it, it is `towpath`.
pub fn main() -> i32 {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let asked = arguments.next_if(|first| first == AS_TOOL).is_some();
    let program = std::env::current_exe().unwrap_or_default();
    if !asked && program.file_name().is_none_or(|name| name != "towpath") {
        return towpath_launch::mpiexec::main();
    }
    match answer(arguments) {
        Ok(text) => {
            // A reader that has closed the pipe is not an error.
            let _ = std::io::stdout().write_all(text.as_bytes());
            0
        }
        Err(sentence) => {
            eprintln!("towpath: {sentence}");
            2
        }
    }
}

fn answer(arguments: impl Iterator<Item = OsString>) -> Result<String, String> {
    let arguments: Vec<String> =
        arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    let Some((name, rest)) = arguments.split_first() else {
        return Err(format!(
            "A subcommand is missing: {}. Try: towpath info (or towpath --help).",
            names().join(", ")
        ));
    };
    match name.as_str() {
        "--help" | "-h" | "help" => return Ok(help()),
        "--version" | "-V" | "version" => {
            return Ok(format!("towpath {}\n", env!("CARGO_PKG_VERSION")));
        }
        _ => {}
    }
    let Some(found) = SUBCOMMANDS.iter().find(|subcommand| subcommand.name == name) else {
        let hint = nearest(name, SUBCOMMANDS.iter().map(|subcommand| subcommand.name));
        let hint = hint.map_or_else(
            || "towpath --help lists the subcommands.".to_owned(),
            |n| format!("Try: towpath {n}"),
        );
        return Err(format!("There is no subcommand {name}. {hint}"));
    };
    if rest.iter().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(found.help.to_owned());
    }
    (found.answer)(rest)
}

fn names() -> Vec<&'static str> {
    SUBCOMMANDS.iter().map(|subcommand| subcommand.name).collect()
}

fn help() -> String {
    let mut text = String::from(
        "Usage: towpath SUBCOMMAND [options]\n\nAnswers questions about the MPI library Towpath on this machine. \
         Programs are started by mpiexec.\n\n",
    );
    for subcommand in SUBCOMMANDS {
        text.push_str(&format!("  {:10} {}\n", subcommand.name, subcommand.about));
    }
    text.push_str(
        "\n  -h, --help     print this; towpath SUBCOMMAND --help prints the options of one\n",
    );
    text.push_str("  -V, --version  print the version\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &str) -> Result<String, String> {
        answer(words.split_whitespace().map(OsString::from))
    }

    #[test]
    fn help_names_every_subcommand_and_fits_a_terminal() {
        let text = said("--help").unwrap();
        for subcommand in SUBCOMMANDS {
            assert!(text.contains(&format!("  {} ", subcommand.name)), "{text}");
            assert!(
                said(&format!("{} --help", subcommand.name)).unwrap().contains(subcommand.name)
            );
        }
        assert!(
            text.lines()
                .chain(SUBCOMMANDS.iter().flat_map(|s| s.help.lines()))
                .all(|line| line.len() <= 120)
        );
    }

    #[test]
    fn mistakes_are_sentences() {
        assert!(said("").unwrap_err().contains("towpath info"));
        assert!(said("inof").unwrap_err().contains("Try: towpath info"));
        assert!(said("sing").unwrap_err().contains("--help"));
        assert!(said("info --rank").unwrap_err().contains("--ranks"));
        assert!(said("info --ranks none").unwrap_err().contains("none"));
        assert!(said("info --ranks").unwrap_err().contains("number"));
    }
}
