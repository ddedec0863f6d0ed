//! Whether statements wait for entry methods that exist.

use super::{Parser, Result};
use crate::ast::{Attribute, ChareMember, Entry, Parameters, Statement, Trigger, When};
use crate::triggers::find_entry;

impl Parser<'_> {
    pub(super) fn check_steps(&self, members: &[ChareMember]) -> Result<()> {
        let entries: Vec<&Entry> = crate::triggers::entries(members).collect();
        for body in entries.iter().filter_map(|entry| entry.body.as_ref()) {
            self.check_statement(body, &entries)?;
        }
        Ok(())
    }

    fn check_statement(&self, statement: &Statement, entries: &[&Entry]) -> Result<()> {
        match statement {
            Statement::Serial(_) => Ok(()),
            Statement::Sequence(list) | Statement::Overlap(list) => {
                list.iter().try_for_each(|one| self.check_statement(one, entries))
            }
            Statement::When(when) => self.check_when(when, entries),
            Statement::Case(list) => {
                list.iter().try_for_each(|when| self.check_when(when, entries))
            }
            Statement::For(_, _, _, body)
            | Statement::While(_, body)
            | Statement::ForAll(_, _, _, _, body) => self.check_statement(body, entries),
            Statement::If(_, then, otherwise) => {
                self.check_statement(then, entries)?;
                self.check_statement(otherwise, entries)
            }
        }
    }

    fn check_when(&self, when: &When, entries: &[&Entry]) -> Result<()> {
        when.triggers.iter().try_for_each(|trigger| self.check_trigger(trigger, entries))?;
        self.check_statement(&when.body, entries)
    }

    fn check_trigger(&self, trigger: &Trigger, entries: &[&Entry]) -> Result<()> {
        let name = &trigger.name;
        let refuse = |message: String| Err(self.lexer.error(trigger.at, message));
        let Some((_, entry)) = find_entry(entries, trigger) else {
            return refuse(format!(
                "'when' waits for {name}, but the chare has no such entry method with {}.",
                described(&trigger.parameters)
            ));
        };
        if entry.body.is_some() {
            return refuse(format!(
                "'when' waits for {name}, which has steps of its own: a method has either."
            ));
        }
        if entry.has(Attribute::Sync) {
            return refuse(format!(
                "'when' waits for {name}, which is [sync]: its caller would wait until then. Let \
                 the caller wait for a future."
            ));
        }
        if entry.returns.as_deref() != Some("void") {
            return refuse(format!("'when' waits for {name}, which is no method without result."));
        }
        Ok(())
    }
}

fn described(parameters: &Parameters) -> String {
    match parameters {
        Parameters::Message(message, _) => format!("a message {message}"),
        Parameters::Marshalled(list) => match list.len() {
            0 => "no parameters".to_owned(),
            1 => "one parameter".to_owned(),
            count => format!("{count} parameters"),
        },
    }
}
