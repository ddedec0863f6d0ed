//! The steps of an entry method (structured dagger).

use super::{Parser, Result};
use crate::ast::{Cpp, Statement, Trigger, When};
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Result<Statement> {
        self.nested(Self::one_statement)
    }

    fn one_statement(&mut self) -> Result<Statement> {
        let token = self.next()?;
        match token.text {
            "{" if token.is("{") => Ok(Statement::Sequence(self.statements()?)),
            "serial" | "atomic" => self.serial(),
            "when" => Ok(Statement::When(self.when()?)),
            "overlap" => {
                self.expect("{", "after 'overlap'")?;
                Ok(Statement::Overlap(self.statements()?))
            }
            "case" => self.case(),
            "for" => self.for_loop(),
            "while" => {
                let condition = self.condition()?;
                Ok(Statement::While(condition, Box::new(self.statement()?)))
            }
            "if" => self.if_statement(),
            "forall" => self.for_all(),
            _ => self.unexpected(token, "A step, such as 'serial', 'when' or 'for',"),
        }
    }

    /// Statements up to the brace that ends them.
    fn statements(&mut self) -> Result<Vec<Statement>> {
        let mut list = Vec::new();
        while !self.accept("}")? {
            let token = self.peek()?;
            if token.kind == TokenKind::Directive {
                let message = "A line with '#' is possible only within 'serial', or between \
                    members of a chare.";
                return Err(self.lexer.error(token.at, message));
            }
            if !self.accept(";")? {
                list.push(self.statement()?);
            }
        }
        Ok(list)
    }

    fn serial(&mut self) -> Result<Statement> {
        if self.peek()?.kind == TokenKind::String {
            self.next()?;
        }
        self.expect("{", "after 'serial'")?;
        let block = self.lexer.cpp_block()?;
        Ok(Statement::Serial(self.cpp(block)))
    }

    fn condition(&mut self) -> Result<Cpp> {
        self.expect("(", "before the condition")?;
        let condition = self.cpp_until(")")?;
        self.expect(")", "after the condition")?;
        Ok(condition)
    }

    fn when(&mut self) -> Result<When> {
        let mut triggers = Vec::new();
        loop {
            let name = self.identifier("The name of an entry method")?;
            let mut reference = None;
            if self.accept("[")? {
                reference = Some(self.cpp_until("]")?);
                self.expect("]", "after the reference number")?;
            }
            let parameters = self.parameters(false)?;
            let (name, at) = (name.text.to_owned(), name.at);
            triggers.push(Trigger { name, reference, parameters, at });
            if !self.accept(",")? {
                break;
            }
        }
        let body =
            if self.accept(";")? { Statement::Sequence(Vec::new()) } else { self.statement()? };
        Ok(When { triggers, body: Box::new(body) })
    }

    fn case(&mut self) -> Result<Statement> {
        self.expect("{", "after 'case'")?;
        let mut alternatives = Vec::new();
        while !self.accept("}")? {
            if !self.accept(";")? {
                self.expect("when", "because 'case' chooses between them")?;
                alternatives.push(self.when()?);
            }
        }
        Ok(Statement::Case(alternatives))
    }

    fn for_loop(&mut self) -> Result<Statement> {
        self.expect("(", "after 'for'")?;
        let begin = self.cpp_until(";")?;
        self.expect(";", "after the first expression")?;
        let condition = self.cpp_until(";")?;
        self.expect(";", "after the condition")?;
        let step = self.cpp_until(")")?;
        self.expect(")", "after the last expression")?;
        Ok(Statement::For(begin, condition, step, Box::new(self.statement()?)))
    }

    fn if_statement(&mut self) -> Result<Statement> {
        let condition = self.condition()?;
        let then = Box::new(self.statement()?);
        let otherwise =
            if self.accept("else")? { self.statement()? } else { Statement::Sequence(Vec::new()) };
        Ok(Statement::If(condition, then, Box::new(otherwise)))
    }

    fn for_all(&mut self) -> Result<Statement> {
        self.expect("[", "after 'forall'")?;
        let name = self.identifier("The name of a variable")?.text.to_owned();
        self.expect("]", "after the variable")?;
        self.expect("(", "before the range")?;
        let begin = self.cpp_until(":")?;
        self.expect(":", "after the first value")?;
        let end = self.cpp_until(",")?;
        self.expect(",", "after the last value")?;
        let step = self.cpp_until(")")?;
        self.expect(")", "after the step")?;
        Ok(Statement::ForAll(name, begin, end, step, Box::new(self.statement()?)))
    }
}
