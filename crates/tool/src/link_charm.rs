//! `towpath link-charm DIR`: the names by which makefiles of Charm++ programs call their compiler
//! and launcher. Other packages install these names too, so Towpath does not by itself.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub(crate) const HELP: &str = "\
Usage: towpath link-charm DIRECTORY

Makes links named charmc and charmrun in a directory: the compiler of Charm++ programs and their
launcher, which Towpath installs as towpath-charmc and towpath-charmrun. The directory is made if it
does not exist. Other files of these names stay as they are.
";

/// The program that is both.
const PROGRAM: &str = "towpath-charmc";
const LINKS: [&str; 2] = ["charmc", "charmrun"];

pub(crate) fn answer(arguments: &[String]) -> Result<String, String> {
    let [directory] = arguments else {
        return Err("link-charm needs one directory. Try: towpath link-charm bin".to_owned());
    };
    if directory.starts_with('-') {
        return Err(format!("link-charm has no option {directory}; it needs one directory."));
    }
    let installed = std::env::current_exe()
        .map_err(|error| format!("Cannot tell where this program is installed: {error}."))?;
    link(&installed.with_file_name(PROGRAM), Path::new(directory))
}

fn link(program: &Path, directory: &Path) -> Result<String, String> {
    if !program.is_file() {
        return Err(format!(
            "{} is not there: this installation cannot compile programs of Charm++.",
            program.display()
        ));
    }
    fs::create_dir_all(directory)
        .map_err(|error| format!("Cannot make the directory {}: {error}.", directory.display()))?;
    let links = LINKS.map(|name| directory.join(name));
    let missing: Vec<&PathBuf> =
        links.iter().filter(|link| fs::symlink_metadata(link).is_err()).collect();
    let taken = links
        .iter()
        .find(|link| !missing.contains(link) && !fs::read_link(link).is_ok_and(|to| to == program));
    if let Some(taken) = taken {
        return Err(format!(
            "{} exists already, and is no link to {}: remove it, or name another directory.",
            taken.display(),
            program.display()
        ));
    }
    for link in missing {
        symlink(program, link)
            .map_err(|error| format!("Cannot make the link {}: {error}.", link.display()))?;
    }
    let shown = |link: &PathBuf| format!("{} -> {}\n", link.display(), program.display());
    Ok(links.iter().map(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installation() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let all = tempfile::tempdir().unwrap();
        let (program, links) = (all.path().join(PROGRAM), all.path().join("some/links"));
        fs::write(&program, "").unwrap();
        (all, program, links)
    }

    #[test]
    fn both_names_lead_to_the_program() {
        let (_all, program, links) = installation();
        for _ in 0..2 {
            let said = link(&program, &links).unwrap();
            assert_eq!(said.lines().count(), 2, "{said}");
            for name in LINKS {
                assert_eq!(fs::read_link(links.join(name)).unwrap(), program);
            }
        }
    }

    #[test]
    fn other_files_stay() {
        let (_all, program, links) = installation();
        fs::create_dir_all(&links).unwrap();
        fs::write(links.join("charmrun"), "of another package").unwrap();
        let error = link(&program, &links).unwrap_err();
        assert!(error.contains("charmrun exists already"), "{error}");
        assert!(!links.join("charmc").exists());
        fs::remove_file(links.join("charmrun")).unwrap();
        symlink("/elsewhere/charmc", links.join("charmc")).unwrap();
        assert!(link(&program, &links).unwrap_err().contains("charmc exists already"));
        assert_eq!(fs::read_link(links.join("charmc")).unwrap(), Path::new("/elsewhere/charmc"));
    }

    #[test]
    fn mistakes_are_sentences() {
        let (all, program, _) = installation();
        assert!(answer(&[]).unwrap_err().contains("one directory"));
        assert!(answer(&["--all".to_owned()]).unwrap_err().contains("--all"));
        let missing = all.path().join("other");
        assert!(link(&missing, all.path()).unwrap_err().contains("is not there"));
        let error = link(&program, &program.join("below")).unwrap_err();
        assert!(error.contains("Cannot make the directory"), "{error}");
    }
}
