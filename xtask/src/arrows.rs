//! Compares the dependencies between the crates with the table in ARCHITECTURE.md.
//!
//! Dependencies of tests (`dev-dependencies`) do not count, because no program contains them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Table = BTreeMap<String, BTreeSet<String>>;

/// Fails if the dependencies differ from the table, and lists the differences.
pub fn run(root: &Path) -> Result<(), String> {
    let architecture =
        std::fs::read_to_string(root.join("ARCHITECTURE.md")).map_err(|e| e.to_string())?;
    let allowed = table(&architecture)?;
    let present = manifests(root)?;
    let mut wrong = Vec::new();
    for (name, arrows) in &present {
        match allowed.get(name) {
            None => wrong.push(format!("{name} is not in the table of ARCHITECTURE.md")),
            Some(allowed) => wrong.extend(
                arrows
                    .difference(allowed)
                    .map(|to| format!("{name} must not depend on {to} (ARCHITECTURE.md)")),
            ),
        }
    }
    wrong.extend(
        allowed
            .keys()
            .filter(|name| !present.contains_key(*name))
            .map(|name| format!("there is no crate {name}")),
    );
    if wrong.is_empty() {
        println!("{} crates keep to the arrows", present.len());
        return Ok(());
    }
    Err(wrong.join("; "))
}

/// The table between the two marker comments: for each crate, the crates on which it may depend.
fn table(text: &str) -> Result<Table, String> {
    let part = text
        .split_once("<!-- arrows:begin -->")
        .and_then(|(_, rest)| rest.split_once("<!-- arrows:end -->"));
    let (part, _) = part.ok_or(
        "ARCHITECTURE.md has no table between <!-- arrows:begin --> and <!-- arrows:end -->",
    )?;
    let rows = part.lines().filter_map(|line| {
        let mut cells = line.trim().strip_prefix('|')?.split('|').map(str::trim);
        Some((cells.next()?.to_string(), cells.next()?.to_string()))
    });
    Ok(rows
        .filter(|(name, _)| name != "crate" && !name.starts_with("---"))
        .map(|(name, to)| {
            (name, to.split(',').map(|t| t.trim().to_string()).filter(|t| !t.is_empty()).collect())
        })
        .collect())
}

fn manifests(root: &Path) -> Result<Table, String> {
    let directory = root.join("crates");
    let entries = std::fs::read_dir(&directory)
        .map_err(|e| format!("cannot read {}: {e}", directory.display()))?;
    let mut all = Table::new();
    for entry in entries.flatten() {
        let Ok(text) = std::fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
        let manifest: toml::Table =
            toml::from_str(&text).map_err(|e| format!("{}: {e}", entry.path().display()))?;
        all.insert(entry.file_name().to_string_lossy().into_owned(), arrows(&manifest));
    }
    Ok(all)
}

fn arrows(manifest: &toml::Table) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for section in ["dependencies", "build-dependencies"] {
        if let Some(toml::Value::Table(dependencies)) = manifest.get(section) {
            found.extend(
                dependencies.keys().filter_map(|k| k.strip_prefix("towpath-")).map(str::to_string),
            );
        }
    }
    if let Some(toml::Value::Table(targets)) = manifest.get("target") {
        for target in targets.values().filter_map(toml::Value::as_table) {
            found.extend(arrows(target));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let text = "x <!-- arrows:begin -->\n| crate | may depend on |\n|---|---|\n| base | |\n| mpi | base, machine |\n<!-- arrows:end -->";
        let table = table(text).unwrap();
        assert_eq!(table.len(), 2);
        assert!(table["base"].is_empty());
        assert!(table["mpi"].contains("machine"));
    }

    #[test]
    fn dependencies_of_targets_count_and_those_of_tests_do_not() {
        let manifest = "[dependencies]\ntowpath-base = \"1\"\nlibc = \"1\"\n[dev-dependencies]\ntowpath-mpi = \"1\"\n\
                        [target.'cfg(unix)'.dependencies]\ntowpath-machine = \"1\"\n";
        let found = arrows(&toml::from_str(manifest).unwrap());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["base", "machine"]);
    }
}
