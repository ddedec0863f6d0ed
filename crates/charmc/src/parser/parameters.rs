//! Parameters of entry methods and of `when`.

use super::types::BUILT_IN;
use super::{Parser, Result};
use crate::ast::{ArrayTransfer, EntryParameter, Parameters};

impl Parser<'_> {
    /// `(int n, double a[n])`, `(Message *m)`, `(void)` or `()`. Those of local methods may point.
    pub(super) fn parameters(&mut self, is_local: bool) -> Result<Parameters> {
        self.expect("(", "before the parameters")?;
        let mut list = Vec::new();
        if self.accept(")")? {
            return Ok(Parameters::Marshalled(list));
        }
        let begin = self.peek()?.at;
        loop {
            list.push(self.parameter(list.len())?);
            if !self.accept(",")? {
                break;
            }
        }
        self.expect(")", "after the parameters")?;
        self.message_or_values(list, begin, is_local)
    }

    fn message_or_values(
        &self,
        list: Vec<EntryParameter>,
        begin: usize,
        is_local: bool,
    ) -> Result<Parameters> {
        if let [only] = list.as_slice() {
            if only.type_name == "void" && only.length.is_none() {
                return Ok(Parameters::Marshalled(Vec::new()));
            }
            if let Some(message) = only.type_name.strip_suffix('*')
                && only.length.is_none()
                && !is_local
            {
                let message = message.trim_start_matches("const ").trim_end();
                if !message.split(' ').next().is_some_and(|word| BUILT_IN.contains(&word)) {
                    return Ok(Parameters::Message(message.to_owned(), only.name.clone()));
                }
            }
        }
        let pointer = list.iter().find(|one| one.type_name.ends_with('*') && !is_local);
        if let Some(EntryParameter { type_name, name, .. }) = pointer {
            let message = format!(
                "'{type_name}{name}' is a pointer, which says nothing on another rank: give the \
                 length, as in '{name}[n]', or let a message be the only parameter."
            );
            return Err(self.lexer.error(begin, message));
        }
        let nothing = list.iter().find(|one| one.type_name == "void");
        if nothing.is_some() {
            return Err(self.lexer.error(begin, "A parameter has a type other than 'void'."));
        }
        Ok(Parameters::Marshalled(list))
    }

    fn parameter(&mut self, number: usize) -> Result<EntryParameter> {
        let begin = self.peek()?;
        let transfer = match begin.text {
            "nocopy" | "Rdma" | "rdma" => ArrayTransfer::NoCopy,
            "nocopypost" => ArrayTransfer::NoCopyPost,
            "nocopydevice" => ArrayTransfer::NoCopyDevice,
            _ => ArrayTransfer::Copied,
        };
        if transfer != ArrayTransfer::Copied || begin.is("conditional") {
            self.next()?;
        }
        let (type_name, reference) = self.type_name()?;
        let token = self.peek()?;
        let is_named = !(token.is(",") || token.is(")") || token.is("[") || token.is("="));
        let name = if is_named {
            self.identifier("The name of a parameter")?.text.to_owned()
        } else {
            format!("ck_parameter{number}")
        };
        let length = self.array_length()?;
        if transfer != ArrayTransfer::Copied && length.is_none() {
            let message = format!("{} is for arrays: give the length, '[n]'.", begin.text);
            return Err(self.lexer.error(begin.at, message));
        }
        let default =
            if self.accept("=")? { Some(self.lexer.cpp_until(",)")?.0.to_owned()) } else { None };
        Ok(EntryParameter { type_name, reference, name, length, transfer, default })
    }

    fn array_length(&mut self) -> Result<Option<String>> {
        if !self.accept("[")? {
            return Ok(None);
        }
        let (length, at) = self.lexer.cpp_until("]")?;
        if length.is_empty() {
            let message = "The length of an array parameter is missing: '[n]'.";
            return Err(self.lexer.error(at, message));
        }
        self.expect("]", "after the length of the array")?;
        Ok(Some(length.to_owned()))
    }
}
