//! Which bodies exist: looks for `pub fn NAME` in the chapter's module of crates/mpi.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::api::{Api, Function};

/// The bodies found, with the file that holds each.
pub struct Built {
    found: BTreeMap<(String, String), PathBuf>,
}

impl Built {
    pub fn look(root: &Path, api: &Api) -> Result<Built, String> {
        let source = root.join("crates/mpi/src");
        let library = std::fs::read_to_string(source.join("lib.rs")).unwrap_or_default();
        let modules: BTreeSet<&str> =
            library.lines().filter_map(|l| l.trim().strip_prefix("pub mod ")?.strip_suffix(';')).collect();
        let mut found = BTreeMap::new();
        for chapter in api.chapters.keys().filter(|c| modules.contains(c.as_str())) {
            let mut files = vec![source.join(format!("{chapter}.rs"))];
            if let Ok(entries) = std::fs::read_dir(source.join(chapter)) {
                files.extend(entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "rs")));
            }
            files.sort();
            for file in files.iter().filter(|f| f.exists()) {
                let text = std::fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
                let shown = file.strip_prefix(root).unwrap_or(file).to_path_buf();
                for name in text.lines().filter_map(defined) {
                    found.insert((chapter.clone(), name.to_string()), shown.clone());
                }
            }
        }
        Ok(Built { found })
    }

    /// The file that holds the function's body.
    pub fn file(&self, f: &Function) -> Option<&Path> {
        self.found.get(&(f.chapter.clone(), f.body.clone())).map(PathBuf::as_path)
    }
}

fn defined(line: &str) -> Option<&str> {
    // Only items of the module itself: no indentation.
    let rest = line.strip_prefix("pub unsafe fn ").or_else(|| line.strip_prefix("pub fn "))?;
    let end = rest.find(['(', '<'])?;
    Some(&rest[..end])
}
