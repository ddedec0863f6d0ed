//! How a host is reached: the command that runs a proxy there and connects its stdin and stdout to
//! `mpiexec`.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::path::Path;

use super::host_list::is_this_host;

/// Placeholder for the host's name in a template.
const HOST: &str = "{host}";

/// How to reach the hosts of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostLinks {
    words: Vec<String>,
    /// This host needs no launch command.
    direct: bool,
}

impl HostLinks {
    /// Parses `--launcher`: `ssh`, `srun`, or a command, to which the name of the host is appended
    /// if it does not contain {host}. Without `--launcher`: srun inside a Slurm allocation, else
    /// ssh.
    ///
    /// # Errors
    /// An error message for the user.
    pub(super) fn choose(launcher: Option<&str>, in_slurm: bool) -> Result<HostLinks, String> {
        let template = match launcher {
            Some("slurm" | "srun") => SRUN,
            None if in_slurm => SRUN,
            Some("ssh") | None => SSH,
            Some(template) => template,
        };
        let unclosed = || format!("A quote in --launcher {template:?} is not closed.");
        let mut words = split(template).ok_or_else(unclosed)?;
        if words.is_empty() {
            return Err("The option --launcher needs a command.".to_owned());
        }
        if !words.iter().any(|word| word.contains(HOST)) {
            words.push(HOST.to_owned());
        }
        // A command that the user has chosen is used for every host, because it may lead into a
        // container on this host.
        Ok(HostLinks { words, direct: matches!(launcher, None | Some("ssh")) && template == SSH })
    }

    /// The command for one host.
    pub(super) fn command(&self, host: &str, program: &Path) -> Vec<OsString> {
        let proxy = [program.as_os_str().to_owned(), "--proxy".into()];
        if self.direct && is_this_host(host) {
            return proxy.into();
        }
        let mut words: Vec<OsString> =
            self.words.iter().map(|word| word.replace(HOST, host).into()).collect();
        if self.through_a_shell() {
            words.extend(proxy.iter().map(|word| quoted(&word.to_string_lossy()).into()));
        } else {
            words.extend(proxy);
        }
        words
    }

    /// True for commands that pass their arguments to a shell on the other host.
    fn through_a_shell(&self) -> bool {
        let name = Path::new(&self.words[0]).file_name().unwrap_or_default();
        name == "ssh" || name == "rsh"
    }
}

/// BatchMode: there is no terminal on which to ask for a password. ServerAliveInterval: a host that
/// is silent for a minute is lost. ControlMaster: an existing shared connection may be used, but
/// none is created here, because it would end with the job and break the commands that share it.
const SSH: &str = "ssh -x -o BatchMode=yes -o ControlMaster=no -o ServerAliveInterval=20 {host}";
/// Runs next to a job step that may exist already, without PMI, and does not end the allocation if
/// a rank fails.
const SRUN: &str = "srun --nodes=1 --ntasks=1 --nodelist={host} --overlap --mpi=none \
                    --cpu-bind=none --kill-on-bad-exit=0 --quiet";

/// Splits a command into words, with quotes and backslashes as in a shell; `None` if a quote is not
/// closed.
pub(super) fn split(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (None, '\'' | '"') => (quote, begun) = (Some(sign), true),
            (None, _) if sign.is_whitespace() => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, '\\') => {
                word.extend(signs.next());
                begun = true;
            }
            // In double quotes, a backslash is kept before characters that have no special meaning
            // there.
            (Some('"'), '\\') => {
                word.push(signs.next_if(|next| "$`\"\\".contains(*next)).unwrap_or(sign))
            }
            _ => {
                word.push(sign);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    quote.is_none().then_some(words)
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    if !word.is_empty() && word.chars().all(harmless) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(launcher: Option<&str>, in_slurm: bool, host: &str) -> String {
        let words =
            HostLinks::choose(launcher, in_slurm).unwrap().command(host, Path::new("/a b/mpiexec"));
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn each_way_has_its_command() {
        assert_eq!(
            command(None, false, "far"),
            "ssh|-x|-o|BatchMode=yes|-o|ControlMaster=no|-o|ServerAliveInterval=20|far|'/a b/mpiexec'|--proxy"
        );
        assert_eq!(command(None, false, "localhost"), "/a b/mpiexec|--proxy");
        assert!(
            command(None, true, "n1").starts_with("srun|")
                && command(None, true, "n1").contains("=n1|")
        );
        assert_eq!(
            command(Some("ip netns exec {host}"), true, "h1"),
            "ip|netns|exec|h1|/a b/mpiexec|--proxy"
        );
        assert_eq!(
            command(Some("env 'X=a {host}'"), false, "localhost"),
            "env|X=a localhost|/a b/mpiexec|--proxy"
        );
        assert_eq!(command(Some("rsh"), false, "far"), "rsh|far|'/a b/mpiexec'|--proxy");
    }

    #[test]
    fn words_are_read_as_by_a_shell() {
        let words = |text| split(text).unwrap().join("|");
        assert_eq!(
            words(r#"sh -c "echo \$1 \"x\" \\ \n `" '\$' a\ b ''"#),
            r#"sh|-c|echo $1 "x" \ \n `|\$|a b|"#
        );
        assert!(split("a 'b").is_none() && split("a \"b\\\"").is_none());
    }

    #[test]
    fn mistakes_are_sentences() {
        assert!(HostLinks::choose(Some(" "), false).is_err());
        assert!(HostLinks::choose(Some("env 'x"), false).unwrap_err().contains("not closed"));
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
