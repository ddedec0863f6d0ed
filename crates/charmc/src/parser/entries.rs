//! Entry methods: attributes, names, and what follows the parameters.

use super::{Parser, Result};
use crate::ast::{ArrayTransfer, Attribute, Entry, Parameters};
use crate::lexer::TokenKind;

const ATTRIBUTES: &[(&str, Attribute)] = &[
    ("threaded", Attribute::Threaded),
    ("sync", Attribute::Sync),
    ("exclusive", Attribute::Exclusive),
    ("expedited", Attribute::Expedited),
    ("immediate", Attribute::Immediate),
    ("inline", Attribute::Inline),
    ("local", Attribute::Local),
    ("nokeep", Attribute::NoKeep),
    ("notrace", Attribute::NoTrace),
    ("whenidle", Attribute::WhenIdle),
    ("reductiontarget", Attribute::ReductionTarget),
    ("createhere", Attribute::CreateHere),
    ("createhome", Attribute::CreateHome),
    ("appwork", Attribute::AppWork),
    ("memcritical", Attribute::MemCritical),
    ("migratable", Attribute::Migratable),
];

/// Attributes that a method can have which its rank calls when it is idle.
const OF_WHEN_IDLE: &[Attribute] = &[
    Attribute::WhenIdle,
    Attribute::Local,
    Attribute::NoTrace,
    Attribute::AppWork,
    Attribute::MemCritical,
];

impl Parser<'_> {
    pub(super) fn entry(&mut self, chare: &str) -> Result<Entry> {
        self.expect("entry", "here")?;
        let mut attributes = self.entry_attributes()?;
        let at = self.peek()?.at;
        let (returns, name) = self.entry_name(chare)?;
        // Nothing but the rank itself invokes it by a message.
        if attributes.contains(&Attribute::WhenIdle) {
            attributes.push(Attribute::Local);
        }
        let parameters = self.parameters(attributes.contains(&Attribute::Local))?;
        let mut entry = Entry { attributes, returns, name, parameters, body: None };
        // All user-level threads have stacks of the same size.
        if self.accept("stacksize")? {
            self.expect("(", "after 'stacksize'")?;
            self.lexer.cpp_until(")")?;
            self.expect(")", "after the size of the stack")?;
        }
        let token = self.peek()?;
        if token.kind == TokenKind::Identifier || token.is("{") {
            entry.body = Some(self.statement()?);
            self.accept(";")?;
        } else {
            self.expect(";", "after the entry method")?;
        }
        self.check_entry(&entry, at)?;
        Ok(entry)
    }

    fn entry_attributes(&mut self) -> Result<Vec<Attribute>> {
        let mut attributes = Vec::new();
        if !self.accept("[")? {
            return Ok(attributes);
        }
        while !self.accept("]")? {
            let token = self.identifier("An attribute of the entry method")?;
            let known = ATTRIBUTES.iter().find(|(name, _)| *name == token.text);
            let Some((_, attribute)) = known else {
                return Err(self.lexer.error(token.at, unknown_attribute(token.text)));
            };
            attributes.push(*attribute);
            if !self.accept(",")? {
                self.expect("]", "after the attributes")?;
                break;
            }
        }
        Ok(attributes)
    }

    /// What the method returns, nothing for a constructor, and its name.
    fn entry_name(&mut self, chare: &str) -> Result<(Option<String>, String)> {
        let at = self.peek()?.at;
        let (type_name, reference) = self.type_name()?;
        if self.peek()?.is("(") {
            if type_name == chare {
                return Ok((None, type_name));
            }
            // The published interface files name no type of an entry method that returns nothing.
            if type_name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Ok((Some("void".to_owned()), type_name));
            }
        }
        if reference {
            let message = "An entry method returns no reference.";
            return Err(self.lexer.error(at, message));
        }
        let name = self.identifier("The name of the entry method")?.text.to_owned();
        Ok((Some(type_name), name))
    }

    fn check_entry(&self, entry: &Entry, at: usize) -> Result<()> {
        let refuse = |message: String| Err(self.lexer.error(at, message));
        let name = &entry.name;
        let gets_nothing =
            matches!(&entry.parameters, Parameters::Marshalled(list) if list.is_empty());
        let asks_again = entry.returns.as_deref() == Some("bool");
        if entry.has(Attribute::WhenIdle) && !(gets_nothing && asks_again) {
            return refuse(format!(
                "{name} is [whenidle]: it gets nothing, and returns bool, which says whether it is \
                 called again."
            ));
        }
        if entry.has(Attribute::WhenIdle)
            && !entry.attributes.iter().all(|attribute| OF_WHEN_IDLE.contains(attribute))
        {
            return refuse(format!(
                "{name} is [whenidle]: its rank calls it, with no message and no thread, so no \
                 attribute of messages and threads goes with it."
            ));
        }
        let returns_value = entry.returns.as_ref().is_some_and(|returns| returns != "void");
        let answers = entry.has(Attribute::Sync) || entry.has(Attribute::Local);
        if returns_value && !answers {
            return refuse(format!(
                "{name} returns a value, but nobody waits for it: declare it [sync] or [local], or \
                 let it return void."
            ));
        }
        if entry.is_constructor() && entry.body.is_some() {
            return refuse(format!("{name} is a constructor, which has no steps of its own here."));
        }
        if entry.is_constructor() && entry.has(Attribute::Threaded) {
            return refuse(format!(
                "{name} is a constructor, which has no thread: let it send a message to a \
                 [threaded] method."
            ));
        }
        if entry.has(Attribute::Sync) && entry.body.is_some() {
            return refuse(format!(
                "{name} is [sync], but has steps, which can end when its caller has long gone on: \
                 let the caller wait for a future that a step sets."
            ));
        }
        if entry.has(Attribute::ReductionTarget)
            && let Parameters::Message(type_name, _) = &entry.parameters
            && type_name != "CkReductionMsg"
        {
            return refuse(format!(
                "{name} is a [reductiontarget]: it gets values or a CkReductionMsg, no {type_name}."
            ));
        }
        let posts_nothing = entry.is_constructor()
            || entry.has(Attribute::Sync)
            || entry.has(Attribute::ReductionTarget);
        if entry.parameters.has_posted() && posts_nothing {
            return refuse(format!(
                "{name} has an array whose receiver names the memory ('nocopypost', \
                 'nocopydevice'), which constructors, [sync] methods and [reductiontarget]s cannot \
                 have: use 'nocopy'."
            ));
        }
        if let Parameters::Marshalled(list) = &entry.parameters
            && entry.parameters.has_on_device()
            && list.iter().any(|one| one.transfer == ArrayTransfer::NoCopyPost)
        {
            return refuse(format!(
                "{name} has both 'nocopypost' and 'nocopydevice' arrays, but one post method gets \
                 one kind of posts: send them to two methods."
            ));
        }
        Ok(())
    }
}

fn unknown_attribute(name: &str) -> String {
    match name {
        "aggregate" => "Aggregation of messages by TRAM ('aggregate') is not supported: remove \
            the attribute, and each call sends a message."
            .to_owned(),
        "python" => "Entry methods for Python scripts ('python') are not supported.".to_owned(),
        _ => {
            let known = ATTRIBUTES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            format!("There is no attribute '{name}' of entry methods; these are: {known}.")
        }
    }
}
