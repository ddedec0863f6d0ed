//! `towpath-charmc [options] files`: interface files are translated, and the rest is for the C++
//! compiler.

use super::Installation;
use crate::libraries::missing_library;

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compilation {
    /// Interface files to translate.
    pub interfaces: Vec<String>,
    /// The words of the compiler's command line, after its name; none if it is not needed.
    pub compiler: Vec<String>,
    /// Whether commands are printed.
    pub is_verbose: bool,
    /// Sentences about what is ignored.
    pub remarks: Vec<String>,
}

/// Options that mean something to other implementations only, and whether a word follows.
const IGNORED: &[(&str, bool)] = &[
    ("-language", true),
    ("-tracemode", true),
    ("-memory", true),
    ("-cpp-option", true),
    ("-no-charmrun", false),
    ("-save", false),
    ("-no-trace-mode", false),
];

/// Options of the compiler that a word follows.
const WITH_WORD: &[&str] = &["-o", "-I", "-L", "-l", "-D", "-U", "-include", "-x", "-MF", "-MT"];

/// With these the compiler does not link.
const WITHOUT_LINKING: &[&str] = &["-c", "-E", "-S", "-M", "-MM", "-fsyntax-only"];

/// All ranks of a host can read large blocks of memory, as `towpath-actors.pc` has it.
const SHARED_HEAP: [&str; 3] =
    ["-Wl,--push-state,--no-as-needed", "-l:libtowpath-malloc.so", "-Wl,--pop-state"];

/// Reads a command line, without the name of the program.
///
/// # Errors
/// A word is missing, a module is of a library that does not exist, or there is nothing to do.
pub fn compilation(words: &[String], installed: &Installation) -> Result<Compilation, String> {
    let mut all = Compilation::default();
    let mut passed = Vec::new();
    let (mut has_files, mut has_standard, mut is_linking) = (false, false, true);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("A word is missing after {word}."));
        if let Some((_, has_value)) = IGNORED.iter().find(|(option, _)| option == word) {
            if *has_value {
                value()?;
            }
            continue;
        }
        match word.as_str() {
            "-module" | "-modules" => {
                let module = value()?;
                if let Some(sentence) = missing_library(module) {
                    return Err(sentence);
                }
                all.remarks.push(format!(
                    "-module {module} is ignored: name the module's own library with -l."
                ));
            }
            "-balancer" => {
                let name = value()?;
                all.remarks.push(format!(
                    "-balancer {name} is ignored: run the program with +balancer {name}."
                ));
            }
            "-verbose" | "-V" => all.is_verbose = true,
            "-optimize" | "-production" => passed.push("-O2".to_owned()),
            option if WITH_WORD.contains(&option) => {
                passed.extend([word.clone(), value()?.clone()]);
            }
            option if option.starts_with('-') => {
                has_standard |= option.starts_with("-std");
                is_linking &= !WITHOUT_LINKING.contains(&option);
                passed.push(word.clone());
            }
            file if file.ends_with(".ci") => all.interfaces.push(word.clone()),
            _ => {
                has_files = true;
                passed.push(word.clone());
            }
        }
    }
    if !has_files {
        return if all.interfaces.is_empty() {
            Err("There is no file to translate or compile.".to_owned())
        } else {
            Ok(all)
        };
    }
    if !has_standard {
        all.compiler.push("-std=c++17".to_owned());
    }
    all.compiler.append(&mut passed);
    let include = installed.include();
    all.compiler.extend(["-I.".to_owned(), format!("-I{}", include.display())]);
    if is_linking {
        let lib = installed.lib();
        let lib = lib.display();
        all.compiler.extend([
            format!("-L{lib}"),
            "-ltowpath_actors".to_owned(),
            format!("-Wl,-rpath,{lib}"),
        ]);
        all.compiler.extend(SHARED_HEAP.map(str::to_owned));
    }
    Ok(all)
}
