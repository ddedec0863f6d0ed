//! Messages.

use super::{Parser, Result};
use crate::ast::{MessageArray, MessageType, Template};

impl Parser<'_> {
    /// `message M { int a[]; };` and `message M;`
    pub(super) fn message(&mut self, template: Option<Template>) -> Result<MessageType> {
        self.next()?;
        let name = self.type_of_template()?;
        let mut arrays = Vec::new();
        if self.accept("{")? {
            while !self.accept("}")? {
                arrays.push(self.message_array()?);
            }
        } else if !self.peek()?.is(";") {
            return self.unexpected(self.peek()?, "'{' or ';'");
        }
        Ok(MessageType { template, name, arrays })
    }

    fn message_array(&mut self) -> Result<MessageArray> {
        let token = self.peek()?;
        if token.is("conditional") {
            self.next()?;
        }
        let (type_name, _) = self.type_name()?;
        let name = self.identifier("The name of an array")?.text.to_owned();
        self.expect("[", "because a message declares only its arrays here")?;
        self.expect("]", "because the length is given when a message is made")?;
        self.expect(";", "after the array")?;
        Ok(MessageArray { type_name, name })
    }
}
