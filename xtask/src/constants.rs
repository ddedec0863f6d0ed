//! Reads `api/constants.toml` and `api/errors.toml`.

use std::path::Path;

use serde::Deserialize;

use crate::api::Abi;
use crate::kinds;

/// The value of a constant in one ABI.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Number(i64),
    /// The word "symbol": an exported variable holds the value.
    Word(String),
}

/// One row of `constants.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    pub name: String,
    pub kind: String,
    pub same_as: Option<String>,
    pub standard: Option<Value>,
    pub mpich: Option<Value>,
    /// Towpath's own number, if the standard has none.
    pub neutral: Option<i64>,
}

/// One row of `errors.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorClass {
    pub name: String,
    pub standard: i64,
    pub mpich: i64,
    pub sentence: String,
}

/// Both tables.
pub struct Constants {
    pub constants: Vec<Constant>,
    pub classes: Vec<ErrorClass>,
}

#[derive(Deserialize)]
struct ConstantFile {
    constant: Vec<Constant>,
}

#[derive(Deserialize)]
struct ClassFile {
    class: Vec<ErrorClass>,
}

impl Constant {
    pub fn value(&self, abi: Abi) -> Option<&Value> {
        match abi {
            Abi::Standard => self.standard.as_ref(),
            Abi::Mpich => self.mpich.as_ref(),
        }
    }
    pub fn number(&self, abi: Abi) -> Option<i64> {
        match self.value(abi) {
            Some(Value::Number(n)) => Some(*n),
            _ => None,
        }
    }
    /// The neutral number: that of the standard, or else Towpath's own.
    pub fn neutral(&self) -> Option<i64> {
        self.number(Abi::Standard).or(self.neutral)
    }
    pub fn is_handle(&self) -> bool {
        kinds::handle(&self.kind).is_some()
    }
    /// The name in Rust: without `MPI_`, and not beginning with a digit.
    pub fn rust_name(&self) -> String {
        let bare = self.name.strip_prefix("MPI_").unwrap_or(&self.name);
        match bare.strip_prefix('2') {
            Some(rest) => format!("TWO_{rest}"),
            None => bare.to_string(),
        }
    }
}

impl Constants {
    pub fn load(root: &Path) -> Result<Constants, String> {
        let read = |name: &str| {
            std::fs::read_to_string(root.join("api").join(name))
                .map_err(|e| format!("cannot read api/{name}: {e}"))
        };
        let constants: ConstantFile = toml::from_str(&read("constants.toml")?)
            .map_err(|e| format!("api/constants.toml: {e}"))?;
        let classes: ClassFile =
            toml::from_str(&read("errors.toml")?).map_err(|e| format!("api/errors.toml: {e}"))?;
        let read = Constants { constants: constants.constant, classes: classes.class };
        for class in &read.classes {
            let row = read.constants.iter().find(|c| c.name == class.name);
            let agree = row.is_some_and(|c| {
                c.number(Abi::Standard) == Some(class.standard)
                    && c.number(Abi::Mpich) == Some(class.mpich)
            });
            if !agree {
                return Err(format!(
                    "{}: api/errors.toml and api/constants.toml disagree",
                    class.name
                ));
            }
        }
        Ok(read)
    }

    /// The neutral and the MPICH number of each constant of a kind that has both; aliases are left
    /// out.
    pub fn pairs(&self, kind: &str) -> Vec<(i64, i64, &Constant)> {
        self.constants
            .iter()
            .filter(|c| c.kind == kind && c.same_as.is_none())
            .filter_map(|c| Some((c.neutral()?, c.number(Abi::Mpich)?, c)))
            .collect()
    }
}
