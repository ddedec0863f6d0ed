//! The standard as data: reads `api/functions.toml`, `api/constants.toml` and `api/errors.toml`.
//!
//! Each file begins with a description of its format. An error in one of them is reported as a
//! sentence that names the row.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// Direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    /// An input whose C type is a pointer to non-const data.
    InMutable,
    Out,
    InOut,
}

/// One parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub kind: String,
    pub direction: Direction,
    /// Length of an array, as an expression in the function's parameters.
    pub length: Option<String>,
    /// Size of a string's buffer, if it is a constant.
    pub max: Option<String>,
    /// Size of a string's buffer, if a parameter gives it.
    pub room: Option<String>,
    /// True if only the large-count form has the parameter.
    pub large_only: bool,
}

/// One row of `functions.toml`.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub chapter: String,
    pub body: String,
    pub returns: String,
    pub large: Large,
    pub tell_large: bool,
    pub abis: Vec<Abi>,
    pub status: Option<String>,
    pub any_time: bool,
    pub special: bool,
    pub variadic: bool,
    pub built: bool,
    pub form: Option<Form>,
    pub parameters: Vec<Parameter>,
}

/// What the binding does with a collective call that its body has prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Waits for the operation (MPI_X).
    Wait,
    /// Starts the operation and returns a request (MPI_IX).
    Begin,
    /// Keeps the operation for a persistent request (MPI_X_init).
    Keep,
}

impl Form {
    /// The name, without `MPI_`, of the blocking function that shares the body.
    fn blocking(self, name: &str) -> &str {
        match self {
            Form::Wait => name,
            Form::Begin => name.strip_prefix('I').unwrap_or(name),
            Form::Keep => name.strip_suffix("_init").unwrap_or(name),
        }
    }
}

/// The ABIs in which a function has a large-count form (`MPI_X_c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Large {
    Nowhere,
    StandardOnly,
    Both,
}

/// The two ABIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    Standard,
    Mpich,
}

impl Abi {
    pub fn other(self) -> Abi {
        match self {
            Abi::Standard => Abi::Mpich,
            Abi::Mpich => Abi::Standard,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Abi::Standard => "standard",
            Abi::Mpich => "mpich",
        }
    }
}

impl Function {
    pub fn has_large(&self, abi: Abi) -> bool {
        self.large == Large::Both || self.large == Large::StandardOnly && abi == Abi::Standard
    }
    pub fn in_abi(&self, abi: Abi) -> bool {
        self.abis.contains(&abi)
    }
}

/// All functions and chapters, as the code generator needs them.
pub struct Api {
    pub chapters: BTreeMap<String, String>,
    /// In the order of the file. A function's number is its index plus one, because 0 means "no
    /// call".
    pub functions: Vec<Function>,
}

#[derive(Deserialize)]
struct File {
    chapters: BTreeMap<String, String>,
    function: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    chapter: String,
    body: Option<String>,
    returns: Option<String>,
    large: Option<toml::Value>,
    #[serde(default)]
    tell_large: bool,
    abis: Option<Vec<String>>,
    status: Option<String>,
    #[serde(default)]
    any_time: bool,
    #[serde(default)]
    special: bool,
    #[serde(default)]
    variadic: bool,
    #[serde(default)]
    built: bool,
    form: Option<Form>,
    #[serde(default)]
    parameters: Vec<String>,
}

impl Api {
    pub fn load(root: &Path) -> Result<Api, String> {
        let path = root.join("api/functions.toml");
        let text = std::fs::read_to_string(&path)
            .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let file: File = toml::from_str(&text).map_err(|e| format!("api/functions.toml: {e}"))?;
        let functions = file.function.into_iter().map(function).collect::<Result<Vec<_>, _>>()?;
        for f in &functions {
            if !file.chapters.contains_key(&f.chapter) {
                return Err(format!("{}: there is no chapter {}", f.name, f.chapter));
            }
        }
        Ok(Api { chapters: file.chapters, functions })
    }
}

fn function(row: Row) -> Result<Function, String> {
    let parameters = row
        .parameters
        .iter()
        .map(|p| {
            parameter(p).ok_or_else(|| format!("{}: cannot read the parameter \"{p}\"", row.name))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let large = match &row.large {
        None => Large::Nowhere,
        Some(toml::Value::Boolean(true)) => Large::Both,
        Some(toml::Value::String(s)) if s == "standard" => Large::StandardOnly,
        Some(other) => {
            return Err(format!("{}: large = {other} is neither true nor \"standard\"", row.name));
        }
    };
    let abis = match &row.abis {
        None => vec![Abi::Standard, Abi::Mpich],
        Some(words) => words
            .iter()
            .map(|w| match w.as_str() {
                "standard" => Ok(Abi::Standard),
                "mpich" => Ok(Abi::Mpich),
                other => Err(format!("{}: there is no ABI {other}", row.name)),
            })
            .collect::<Result<Vec<_>, _>>()?,
    };
    let name = row.name.trim_start_matches("MPI_");
    let blocking = row.form.map_or(name, |form| form.blocking(name));
    let body = row.body.unwrap_or_else(|| blocking.to_lowercase());
    if row.form.is_some() && !row.built {
        return Err(format!("{}: only a function that is built has a form", row.name));
    }
    let last = parameters.iter().rfind(|p| p.direction == Direction::In);
    if row.form == Some(Form::Keep) && last.is_none_or(|p| p.kind != "info") {
        return Err(format!("{}: what is kept has info as its last argument", row.name));
    }
    Ok(Function {
        body,
        returns: row.returns.unwrap_or_else(|| "code".into()),
        large,
        tell_large: row.tell_large,
        abis,
        status: row.status,
        any_time: row.any_time,
        special: row.special,
        variadic: row.variadic,
        built: row.built,
        form: row.form,
        parameters,
        name: row.name,
        chapter: row.chapter,
    })
}

fn parameter(text: &str) -> Option<Parameter> {
    let (name, rest) = text.split_once(": ")?;
    let mut words = rest.split(' ');
    let kind = words.next()?.to_string();
    let direction = match words.next()? {
        "in" => Direction::In,
        "in_mutable" => Direction::InMutable,
        "out" => Direction::Out,
        "inout" => Direction::InOut,
        _ => return None,
    };
    let mut p = Parameter {
        name: name.to_string(),
        kind,
        direction,
        length: None,
        max: None,
        room: None,
        large_only: false,
    };
    for word in words {
        if word == "large" {
            p.large_only = true;
        } else if let Some(max) = word.strip_prefix("max=") {
            p.max = Some(max.to_string());
        } else if let Some(room) = word.strip_prefix("length=") {
            p.room = Some(room.to_string());
        } else if let Some(length) = word.strip_prefix('[') {
            p.length = Some(length.trim_end_matches(']').to_string());
        } else {
            return None;
        }
    }
    Some(p)
}
