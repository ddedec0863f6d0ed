//! Options of other launchers that need more than a row of the table: option files, `--output`,
//! `--display` and `--forward-signals`.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::path::PathBuf;

use super::options::{self, JobRequest};
use super::reach;
use super::table::OptionMeaning;

/// Replaces options that name option files (`-configfile`) with the contents of the files. Each
/// line of a file is one program with its options, as if separated by `:`; `#` begins a comment.
///
/// # Errors
/// An error message for the user.
pub(super) fn with_files(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let (mut all, mut rest, mut in_program) = (Vec::new(), arguments.into_iter(), false);
    while let Some(argument) = rest.next() {
        if argument == ":" {
            in_program = false;
        } else if !in_program {
            in_program = !options::is_option(&argument);
            // Unknown options are reported later, by `options::parse`.
            if let Some(found) =
                Some(&argument).filter(|_| !in_program).and_then(|word| options::find(word).ok())
            {
                let (row, attached) = found;
                if row.meaning == OptionMeaning::OptionFile {
                    let path = attached.or_else(|| rest.next());
                    all.extend(words_of(PathBuf::from(
                        path.ok_or("The option -configfile needs FILE.")?,
                    ))?);
                    in_program = true;
                    continue;
                }
                let mut values: Vec<OsString> = attached.into_iter().collect();
                let have = values.len();
                options::complete(row, &argument, &mut values, &mut rest)?;
                all.push(argument);
                all.extend(values.drain(have..));
                continue;
            }
        }
        all.push(argument);
    }
    Ok(all)
}

fn words_of(path: PathBuf) -> Result<Vec<OsString>, String> {
    let text = std::fs::read_to_string(&path).map_err(|error| {
        format!("The file {} of -configfile cannot be read ({error}).", path.display())
    })?;
    let mut words = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let unclosed =
            || format!("A quote in the line {line:?} of {} is not closed.", path.display());
        let line = reach::split(line).ok_or_else(unclosed)?;
        if !line.is_empty() && !words.is_empty() {
            words.push(OsString::from(":"));
        }
        words.extend(line.into_iter().map(OsString::from));
    }
    Ok(words)
}

/// Open MPI's `--output`: a list of modes.
pub(super) fn output(list: &str, request: &mut JobRequest) -> Result<(), String> {
    for way in list.split(',') {
        let (name, value) = way.split_once('=').unwrap_or((way, ""));
        match name.to_ascii_lowercase().as_str() {
            "tag" | "rank" | "tag-detailed" | "tag-fullname" => request.tag_lines = true,
            "merge" | "merge-stderr-to-stdout" => request.merge_errors = true,
            "dir" | "directory" if !value.is_empty() => {
                request.output_directory = Some(PathBuf::from(value))
            }
            "file" | "filename" if !value.is_empty() => {
                request.output_pattern = Some(format!("{value}.%r.out"));
                request.errors_pattern = Some(format!("{value}.%r.err"));
            }
            _ => {
                return Err(format!(
                    "The option --output takes tag, merge, dir=DIRECTORY and file=NAME, \
                     not '{way}'."
                ));
            }
        }
    }
    Ok(())
}

/// Open MPI's `--display`: of the things it can display, only the bindings are supported.
pub(super) fn display(list: &str, request: &mut JobRequest) {
    request.report_bindings |=
        list.split(',').any(|what| what.to_ascii_lowercase().starts_with("bind"));
}

/// Open MPI's `--forward-signals`: accepts the signals that `mpiexec` forwards or handles anyway.
pub(super) fn forwarded(list: &str) -> Result<(), String> {
    let passed =
        ["none", "USR1", "USR2", "CONT", "TSTP", "INT", "TERM", "HUP", "10", "12", "18", "20"];
    let unknown = list.split(',').find(|name| !passed.contains(&name.trim_start_matches("SIG")));
    match unknown {
        Some(name) => Err(format!(
            "mpiexec passes SIGUSR1, SIGUSR2, SIGCONT and SIGTSTP on to the ranks, and ends the job at others; it \
             cannot pass on {name}."
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn files_of_options_stand_for_their_lines() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("jobs");
        std::fs::write(&file, "# two programs\n-n 1 ./a 'x y'\n\n-n 2 -env A 1 ./b\n").unwrap();
        let name = file.to_str().unwrap();
        for option in
            [format!("-configfile {name}"), format!("--app={name}"), format!("--app {name}")]
        {
            let all = with_files(words(&format!("-genv G H {option}"))).unwrap();
            assert_eq!(
                all.join(&OsString::from("|")),
                "-genv|G|H|-n|1|./a|x y|:|-n|2|-env|A|1|./b"
            );
        }
        let own = words("-n 2 ./a -configfile x : -wdir -configfile ./b");
        assert_eq!(with_files(own.clone()), Ok(own));
        assert!(with_files(words("-configfile /no/such")).unwrap_err().contains("/no/such"));
    }

    #[test]
    fn lists_of_ways() {
        let mut request = JobRequest::default();
        output("tag,merge,dir=x", &mut request).unwrap();
        assert!(
            request.tag_lines
                && request.merge_errors
                && request.output_directory == Some("x".into())
        );
        output("file=log", &mut request).unwrap();
        assert_eq!(request.output_pattern.as_deref(), Some("log.%r.out"));
        assert!(output("xml", &mut request).is_err() && output("dir", &mut request).is_err());
        display("map,bindings", &mut request);
        assert!(request.report_bindings);
        assert!(
            forwarded("SIGUSR1,USR2").is_ok()
                && forwarded("SIGALRM").unwrap_err().contains("SIGALRM")
        );
    }
}
