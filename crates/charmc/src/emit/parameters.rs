//! Parameters: as methods declare them, in messages, and out of messages.

use crate::ast::{ArrayTransfer, EntryParameter, Parameters};

/// How messages have arrays: those that are copied, those that are lent, those that are lent and
/// whose receiver says where they are to be, and such ones on devices.
struct Marshalling {
    copied: &'static str,
    lent: &'static str,
    posted: &'static str,
    device: &'static str,
}

/// Messages of proxies' methods.
const SENT: Marshalling = Marshalling {
    copied: "ck::copied",
    lent: "ck::lent",
    posted: "ck::lent_posted",
    device: "ck::lent_on_device",
};

/// Messages of constructors, with all parameters in their payload.
const TAKEN: Marshalling =
    Marshalling { copied: "ck::inside", lent: "ck::taken", posted: "ck::taken", ..SENT };

/// Messages that a chare invokes its own method by, which has the memory that was posted.
const OWN: Marshalling = Marshalling {
    copied: "ck::inside",
    lent: "ck::inside",
    posted: "ck::placed",
    device: "ck::placed",
};

/// Types that are handed on by value.
const PLAIN: &[&str] = &[
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "short",
    "unsigned short",
    "char",
    "signed char",
    "unsigned char",
    "bool",
    "float",
    "double",
    "size_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "CmiInt8",
    "CmiUInt8",
    "signed int",
    "long int",
    "unsigned long int",
];

impl EntryParameter {
    fn is_plain(&self) -> bool {
        PLAIN.contains(&self.type_name.trim_start_matches("std::"))
    }

    /// How a method of a proxy declares it.
    fn sent(&self) -> String {
        let EntryParameter { type_name, name, .. } = self;
        match (&self.length, self.transfer) {
            (Some(_), ArrayTransfer::Copied) => format!("const {type_name} *{name}"),
            (Some(_), ArrayTransfer::NoCopyDevice) => format!("const CkDeviceBuffer &{name}"),
            (Some(_), _) => format!("const CkNcpyBuffer &{name}"),
            (None, _) if self.is_plain() => format!("{type_name} {name}"),
            (None, _) => format!("const {type_name} &{name}"),
        }
    }

    /// How a method of the chare declares it.
    fn received(&self) -> String {
        let EntryParameter { type_name, name, .. } = self;
        match (&self.length, self.reference) {
            (Some(_), _) => format!("{type_name} *{name}"),
            (None, true) => format!("{type_name} &{name}"),
            (None, false) => format!("{type_name} {name}"),
        }
    }

    /// How it is put into a message.
    fn marshalled(&self, marshalling: &Marshalling) -> String {
        let EntryParameter { type_name, name, .. } = self;
        let Some(length) = &self.length else { return format!("ck::value<{type_name}>({name})") };
        let how = match self.transfer {
            ArrayTransfer::Copied => marshalling.copied,
            ArrayTransfer::NoCopy => marshalling.lent,
            ArrayTransfer::NoCopyPost => marshalling.posted,
            ArrayTransfer::NoCopyDevice => marshalling.device,
        };
        format!("{how}<{type_name}>({name}, static_cast<std::size_t>({length}))")
    }

    /// How it is read out of a message.
    pub(super) fn read(&self, reader: &str) -> String {
        self.read_by(reader, if self.transfer.is_posted() { "array" } else { "received" })
    }

    /// The same, by this function if it is an array.
    fn read_by(&self, reader: &str, array: &str) -> String {
        let how = if self.length.is_some() { array } else { "value" };
        format!("{reader}.{how}<{}>()", self.type_name)
    }

    /// A value of this name, handed to a method of the chare.
    pub(super) fn handed(&self, value: &str) -> String {
        match &self.length {
            Some(_) if self.transfer.is_posted() => format!("{value}.elements"),
            // It becomes what the method declares: something to read, or to write.
            Some(_) => value.to_owned(),
            None if self.reference || self.is_plain() => value.to_owned(),
            None => format!("std::move({value})"),
        }
    }

    /// The parameter of a proxy's method, handed to a method of the chare on this rank.
    fn handed_on(&self) -> String {
        let EntryParameter { type_name, name, .. } = self;
        match (&self.length, self.transfer) {
            (Some(_), ArrayTransfer::Copied) => format!("const_cast<{type_name} *>({name})"),
            (Some(_), _) => {
                format!("static_cast<{type_name} *>(const_cast<void *>({name}.ptr))")
            }
            (None, _) if self.reference => format!("const_cast<{type_name} &>({name})"),
            (None, _) => name.clone(),
        }
    }
}

impl Parameters {
    pub(super) fn list(&self) -> &[EntryParameter] {
        match self {
            Parameters::Message(..) => &[],
            Parameters::Marshalled(list) => list,
        }
    }

    fn each(&self, mut how: impl FnMut(&EntryParameter) -> String) -> Vec<String> {
        self.list().iter().map(&mut how).collect()
    }

    /// The parameters of a proxy's method.
    pub(super) fn sent(&self) -> Vec<String> {
        match self {
            Parameters::Message(type_name, name) => vec![format!("{type_name} *{name}")],
            Parameters::Marshalled(_) => self.each(EntryParameter::sent),
        }
    }

    /// The same with the values that they have when the caller gives none.
    pub(super) fn sent_with_defaults(&self) -> Vec<String> {
        let list = self.list();
        let defaults = list.iter().map(|one| one.default.as_deref());
        let declared = self.sent();
        let defaults = defaults.chain(std::iter::repeat(None));
        let both = declared.into_iter().zip(defaults);
        both.map(|(one, default)| match default {
            Some(default) => format!("{one} = {default}"),
            None => one,
        })
        .collect()
    }

    /// The parameters of the chare's method.
    pub(super) fn received(&self) -> String {
        match self {
            Parameters::Message(type_name, name) => format!("{type_name} *{name}"),
            Parameters::Marshalled(_) => self.each(EntryParameter::received).join(", "),
        }
    }

    /// A message with the parameters of a proxy's method; `first` goes before them.
    pub(super) fn message(&self, first: Option<&str>) -> String {
        self.message_with(first, &SENT)
    }

    /// A message whose payload has all parameters.
    pub(super) fn payload(&self) -> String {
        self.message_with(None, &TAKEN)
    }

    fn message_with(&self, first: Option<&str>, marshalling: &Marshalling) -> String {
        match self {
            Parameters::Message(_, name) => format!("ck::as_message({name})"),
            Parameters::Marshalled(_) => {
                let mut items: Vec<String> = first.map(str::to_owned).into_iter().collect();
                items.extend(self.each(|one| one.marshalled(marshalling)));
                format!("ck::marshal({})", items.join(", "))
            }
        }
    }

    /// A message with the parameters of the chare's own method.
    pub(super) fn own_message(&self, first: Option<&str>) -> String {
        self.message_with(first, &OWN)
    }

    /// Whether the sender lends arrays.
    pub(super) fn has_lent(&self) -> bool {
        self.list().iter().any(|one| one.transfer != ArrayTransfer::Copied)
    }

    /// Reads values, with names of their own, out of a message.
    pub(super) fn read(&self, reader: &str) -> Vec<String> {
        self.read_with(|one| one.read(reader))
    }

    /// The same out of a message that was kept, whose arrays may be written to.
    pub(super) fn read_own(&self, reader: &str) -> Vec<String> {
        self.read_with(|one| one.read_by(reader, "own"))
    }

    fn read_with(&self, how: impl Fn(&EntryParameter) -> String) -> Vec<String> {
        let numbered = self.list().iter().enumerate();
        numbered.map(|(i, one)| format!("auto ck_value{i} = {};", how(one))).collect()
    }

    /// These values, handed to a method of the chare.
    pub(super) fn handed(&self) -> String {
        let numbered = self.list().iter().enumerate();
        let each = numbered.map(|(i, one)| one.handed(&format!("ck_value{i}")));
        each.collect::<Vec<_>>().join(", ")
    }

    /// The parameters of a proxy's method, handed to a method of the chare on this rank.
    pub(super) fn handed_on(&self) -> String {
        match self {
            Parameters::Message(_, name) => name.clone(),
            Parameters::Marshalled(_) => self.each(EntryParameter::handed_on).join(", "),
        }
    }

    /// The parameters of a local method, handed through.
    pub(super) fn handed_through(&self) -> String {
        match self {
            Parameters::Message(_, name) => name.clone(),
            Parameters::Marshalled(_) => self.each(|one| one.name.clone()).join(", "),
        }
    }

    /// Reads the result of a reduction: an array is all of it, and integers beside it are its
    /// length.
    pub(super) fn read_result(&self) -> Vec<String> {
        self.read_result_with(|array| array.read("ck_result"))
    }

    /// The same out of a message that was kept.
    pub(super) fn read_own_result(&self) -> Vec<String> {
        self.read_result_with(|array| array.read_by("ck_result", "own"))
    }

    fn read_result_with(&self, how: impl Fn(&EntryParameter) -> String) -> Vec<String> {
        let Some(array) = self.list().iter().position(|one| one.length.is_some()) else {
            return self.read("ck_result");
        };
        let mut lines = vec![format!("auto ck_value{array} = {};", how(&self.list()[array]))];
        for (i, one) in self.list().iter().enumerate().filter(|(i, _)| *i != array) {
            let type_name = &one.type_name;
            lines.push(format!(
                "auto ck_value{i} = ck_result.beside<{type_name}>(ck_value{array}.count);"
            ));
        }
        lines
    }

    /// How messages name the types.
    pub(super) fn signature(&self) -> String {
        match self {
            Parameters::Message(type_name, _) => format!("{type_name}*"),
            Parameters::Marshalled(_) => self
                .each(|one| {
                    let suffix = if one.length.is_some() { "[]" } else { "" };
                    format!("{}{suffix}", one.type_name)
                })
                .join(","),
        }
    }
}
