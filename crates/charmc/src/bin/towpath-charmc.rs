//! The commands `towpath-charmc` and `towpath-charmrun` in one program: it is the second if it is
//! called so, or with `--charmrun` first. With `--prefix DIR`, the installation in that directory
//! is used instead of its own.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use towpath_charmc::driver::{Installation, compilation, launch};
use towpath_charmc::{SourceFile, translate};

const USAGE: &str = "\
usage: towpath-charmc file.ci ...           translates interface files into FILE.decl.h, FILE.def.h
       towpath-charmc [options] file.C ...  compiles and links like c++ (or $CXX)
       towpath-charmrun +pN program ...     runs a program on N ranks
  --prefix DIR  use the Towpath that is installed there";

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().collect();
    let called = Path::new(&words.remove(0)).file_name().map(|name| name.to_string_lossy().into());
    let mut is_launcher = called.is_some_and(|name: String| name.ends_with("charmrun"));
    if words.first().is_some_and(|word| word == "--charmrun") {
        words.remove(0);
        is_launcher = true;
    }
    let result = installation(&mut words).and_then(|installed| {
        if words.is_empty() || words[0] == "--help" {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        } else if is_launcher {
            run_job(&words, &installed)
        } else {
            compile(&words, &installed)
        }
    });
    result.unwrap_or_else(|sentence| {
        eprintln!("{sentence}");
        ExitCode::FAILURE
    })
}

fn installation(words: &mut Vec<String>) -> Result<Installation, String> {
    if words.first().is_some_and(|word| word == "--prefix") {
        let prefix = words.get(1).ok_or("A directory is missing after --prefix.")?;
        let prefix = std::path::absolute(prefix).map_err(|error| format!("{prefix}: {error}"))?;
        words.drain(..2);
        return Ok(Installation { prefix });
    }
    let program = std::env::current_exe()
        .map_err(|error| format!("Cannot tell where this program is installed: {error}."))?;
    Ok(Installation::of(&program))
}

fn compile(words: &[String], installed: &Installation) -> Result<ExitCode, String> {
    let asked = compilation(words, installed)?;
    asked.remarks.iter().for_each(|remark| eprintln!("towpath-charmc: {remark}"));
    asked.interfaces.iter().try_for_each(|file| translate_file(file))?;
    if asked.compiler.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let chosen =
        towpath_base::config::environment("CXX").filter(|chosen| !chosen.trim().is_empty());
    let chosen = chosen.unwrap_or_else(|| "c++".to_owned());
    let mut compiler = chosen.split_whitespace();
    let name = compiler.next().unwrap_or("c++");
    let mut command = Command::new(name);
    command.args(compiler).args(&asked.compiler);
    if asked.is_verbose {
        eprintln!("{command:?}");
    }
    let status = command.status().map_err(|error| format!("Cannot run {name}: {error}."))?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

fn translate_file(name: &str) -> Result<(), String> {
    let text =
        std::fs::read_to_string(name).map_err(|error| format!("Cannot read {name}: {error}."))?;
    let headers =
        translate(SourceFile { name, text: &text }).map_err(|diagnostic| diagnostic.to_string())?;
    for one in headers {
        write(&format!("{}.decl.h", one.module), &one.declarations)?;
        write(&format!("{}.def.h", one.module), &one.definitions)?;
    }
    Ok(())
}

/// Writes a file, unless it is as it is to be: what includes it need not be compiled again.
fn write(name: &str, text: &str) -> Result<(), String> {
    if std::fs::read_to_string(name).is_ok_and(|before| before == text) {
        return Ok(());
    }
    std::fs::write(name, text).map_err(|error| format!("Cannot write {name}: {error}."))
}

fn run_job(words: &[String], installed: &Installation) -> Result<ExitCode, String> {
    let asked = launch(words, installed)?;
    asked.remarks.iter().for_each(|remark| eprintln!("towpath-charmrun: {remark}"));
    let error = Command::new(&asked.mpiexec).args(&asked.arguments).exec();
    Err(format!("Cannot run {}: {error}.", asked.mpiexec.display()))
}
