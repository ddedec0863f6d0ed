//! Writes everything that follows from `api/`: faces, headers, constants, names of calls, `docs/standard.md`.

mod bodies;

use std::path::Path;

use crate::api::Api;

/// Runs the generator; with `check`, only says which checked-in file is not current.
pub fn run(root: &Path, _check: bool) -> Result<(), String> {
    let api = Api::load(root)?;
    let target = root.join("target");
    std::fs::create_dir_all(&target).map_err(|e| format!("cannot make {}: {e}", target.display()))?;
    let path = target.join("bodies.txt");
    std::fs::write(&path, bodies::listing(&api)).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(())
}
