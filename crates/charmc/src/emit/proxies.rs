//! `CProxy_X`, `CProxyElement_X` and `CProxySection_X`: how chares are made, and their methods
//! invoked.

use super::creation;
use super::names::{Listed, coordinates, ints, prefixed};
use super::text::{Text, line};
use crate::ast::{Attribute, Chare, ChareKind, Entry, Parameters};

const OPTIONS: &str = "const CkEntryOptions *ck_options";
const SECTION: &str = "CProxySection_";

/// A class of proxies.
struct ProxyClass {
    /// `CProxy_`, `CProxyElement_` or `CProxySection_`
    prefix: &'static str,
    /// Whether it stands for one chare.
    is_element: bool,
}

impl ProxyClass {
    /// Whether it stands for some of an array or group.
    fn is_section(&self) -> bool {
        self.prefix == SECTION
    }
}

/// The classes of proxies that a chare has.
fn classes(chare: &Chare) -> Vec<ProxyClass> {
    let mut all = vec![ProxyClass { prefix: "CProxy_", is_element: !chare.has_elements() }];
    if chare.has_elements() {
        all.insert(0, ProxyClass { prefix: "CProxyElement_", is_element: true });
        all.push(ProxyClass { prefix: SECTION, is_element: false });
    }
    all
}

/// The names alone, which other classes of the module use.
pub(super) fn announce(out: &mut Text, chare: &Chare) {
    let template = chare.template_line();
    line!(out, "{template}class {};", chare.name);
    line!(out, "{template}class CkIndex_{};", chare.name);
    for class in classes(chare) {
        line!(out, "{template}class {}{};", class.prefix, chare.name);
    }
}

/// The classes.
pub(super) fn declare(out: &mut Text, chare: &Chare) {
    classes(chare).iter().for_each(|class| declare_class(out, chare, class));
    let bases = if chare.bases.is_empty() { vec![chare.root()] } else { chare.bases.clone() };
    let proxy = chare.generated("CProxy_");
    let base = format!("CBaseT{}<{}, {proxy}>", bases.len(), bases.join(", "));
    match &chare.template {
        Some(_) => line!(out, "{}using CBase_{} = {base};", chare.template_line(), chare.name),
        None => line!(out, "typedef {base} CBase_{};", chare.name),
    }
}

/// What a class of proxies inherits from, and how that is made.
fn base_of(chare: &Chare, class: &ProxyClass) -> (String, &'static str, &'static str) {
    let (root, parameters, arguments) = match (&chare.kind, class.is_element) {
        (ChareKind::Array(_), true) => {
            ("ArrayBase", "CkArrayID ck_array, const CkArrayIndex &ck_index", "ck_array, ck_index")
        }
        (ChareKind::Array(_), false) => ("ArrayBase", "CkArrayID ck_array", "ck_array"),
        (ChareKind::Group | ChareKind::NodeGroup, true) => {
            ("Group", "CkGroupID ck_group, int ck_rank", "ck_group, ck_rank")
        }
        (ChareKind::Group | ChareKind::NodeGroup, false) => {
            ("Group", "CkGroupID ck_group", "ck_group")
        }
        _ => ("Chare", "const CkChareID &ck_chare", "ck_chare"),
    };
    let base = chare.bases.first().map_or(root, String::as_str);
    (prefixed(class.prefix, base), parameters, arguments)
}

fn declare_class(out: &mut Text, chare: &Chare, class: &ProxyClass) {
    let (base, parameters, arguments) = base_of(chare, class);
    let name = format!("{}{}", class.prefix, chare.name);
    line!(out, "{}class {name} : public {base} {{", chare.template_line());
    out.line("public:");
    line!(out, "  {name}() = default;");
    if class.is_section() {
        declare_section(out, chare, &base);
    } else {
        line!(out, "  {name}({parameters}) : {base}({arguments}) {{}}");
    }
    if class.is_element {
        line!(out, "  {} *ckLocal() const {{", chare.class());
        line!(out, "    return ck::cast<{}>(ck::local(this->ck_target()));", chare.class());
        out.line("  }");
    }
    if chare.is_array() && class.is_element {
        let index = chare.generated("CkIndex_");
        out.line("  void ckDestroy() const {");
        line!(out, "    this->ck_send({index}::ck_destroy, ck::marshal(), nullptr);");
        out.line("  }");
    }
    if !class.is_element && !class.is_section() {
        declare_elements(out, chare);
    }
    chare.each_entry(|listed| match listed {
        Listed::Condition(condition) => out.line(condition),
        Listed::Entry(_, entry) if entry.is_constructor() && class.is_section() => {}
        Listed::Entry(number, entry) if entry.is_constructor() => {
            for one in creation::functions(chare, class.is_element, number, entry) {
                one.declare(out);
            }
        }
        Listed::Entry(_, entry) => {
            if let Some(declared) = method(chare, class, entry, true) {
                line!(out, "  {declared};");
            }
        }
    });
    out.line("};");
}

/// How a section is made of a collection and what names its members, and the proxy of one is got.
fn declare_section(out: &mut Text, chare: &Chare, base: &str) {
    let (name, section) = (format!("{SECTION}{}", chare.name), chare.generated(SECTION));
    let element = chare.generated("CProxyElement_");
    let (collection, member) = if chare.is_array() {
        ("CkArrayID", "this->ckGetArrayID(), this->ck_member(ck_number)")
    } else {
        ("CkGroupID", "this->ckGetGroupID(), this->ck_member(ck_number).data()[0]")
    };
    out.line("  template <class CkFirst, class... CkRest>");
    let members = "const CkFirst &ck_first, const CkRest &...ck_rest";
    line!(out, "  {name}({collection} ck_all, {members})");
    line!(out, "      : {base}(ck_all, ck_first, ck_rest...) {{}}");
    out.line("  template <class... CkMembers>");
    line!(out, "  static {section} ckNew({collection} ck_all, const CkMembers &...ck_members) {{");
    line!(out, "    return {section}(ck_all, ck_members...);");
    out.line("  }");
    line!(out, "  {element} operator[](int ck_number) const {{");
    line!(out, "    return {element}({member});");
    out.line("  }");
}

/// How the proxy of one is got from that of all.
fn declare_elements(out: &mut Text, chare: &Chare) {
    let element = chare.generated("CProxyElement_");
    match &chare.kind {
        ChareKind::Array(index) => {
            if creation::has_empty(chare) {
                let proxy = chare.generated("CProxy_");
                let options = "const CkArrayOptions &ck_bounds = CkArrayOptions()";
                line!(out, "  static {proxy} ckNew({options});");
            }
            for subscript in subscripts(index) {
                line!(out, "  {element} operator[]({subscript} ck_index) const;");
                line!(out, "  {element} operator()({subscript} ck_index) const;");
            }
            let coordinates = coordinates(index);
            if coordinates.len() > 1 {
                line!(out, "  {element} operator()({}) const;", ints(&coordinates));
            }
        }
        _ => {
            line!(out, "  {element} operator[](int ck_rank) const;");
            line!(out, "  {} *ckLocalBranch() const;", chare.class());
        }
    }
}

/// What elements are named by.
fn subscripts(index: &str) -> Vec<String> {
    match (coordinates(index).len(), index) {
        (1, _) => vec!["int".to_owned(), "const CkArrayIndex &".to_owned()],
        (0, of_program) => vec![format!("const {} &", prefixed("CkArrayIndex", of_program))],
        (dimensions, _) => vec![format!("const CkArrayIndex{dimensions}D &")],
    }
}

/// A method of a proxy up to its parameters, declared or defined, unless proxies of this class do
/// not have it.
fn method(chare: &Chare, class: &ProxyClass, entry: &Entry, is_declared: bool) -> Option<String> {
    let waits = entry.has(Attribute::Sync) || entry.has(Attribute::Local);
    let on_branch = entry.has(Attribute::Local) && chare.is_group() && !class.is_section();
    if waits && !class.is_element && !on_branch {
        return None;
    }
    let mut list =
        if is_declared { entry.parameters.sent_with_defaults() } else { entry.parameters.sent() };
    if entry.has(Attribute::Local) {
        list = vec![entry.parameters.received()];
    } else if !waits {
        list.push(format!("{OPTIONS}{}", if is_declared { " = nullptr" } else { "" }));
    }
    let scope = format!("{}::", chare.generated(class.prefix));
    let scope = if is_declared { "" } else { &scope };
    let returns = entry.returns.as_deref().unwrap_or("void");
    Some(format!("{returns} {scope}{}({}) const", entry.name, list.join(", ")))
}

/// The methods of the classes.
pub(super) fn define(out: &mut Text, chare: &Chare) {
    for class in classes(chare) {
        if !class.is_element && !class.is_section() {
            define_elements(out, chare);
        }
        chare.each_entry(|listed| match listed {
            Listed::Condition(condition) => out.line(condition),
            Listed::Entry(_, entry) if entry.is_constructor() && class.is_section() => {}
            Listed::Entry(number, entry) if entry.is_constructor() => {
                let name = chare.generated(class.prefix);
                for one in creation::functions(chare, class.is_element, number, entry) {
                    one.define(out, &chare.template_line(), &name);
                }
            }
            Listed::Entry(number, entry) => define_method(out, chare, &class, number, entry),
        });
    }
}

fn define_elements(out: &mut Text, chare: &Chare) {
    let (proxy, element) = (chare.generated("CProxy_"), chare.generated("CProxyElement_"));
    let template = chare.template_line();
    match &chare.kind {
        ChareKind::Array(index) => {
            if creation::has_empty(chare) {
                line!(out, "{template}{proxy} {proxy}::ckNew(const CkArrayOptions &ck_bounds) {{");
                let index = chare.generated("CkIndex_");
                line!(out, "  return ck::create_empty_array({index}::ck_type, ck_bounds);");
                out.line("}");
            }
            let array = "this->ckGetArrayID()";
            for subscript in subscripts(index) {
                for operator in ["[]", "()"] {
                    line!(
                        out,
                        "{template}{element} {proxy}::operator{operator}({subscript} ck_index) \
                         const {{"
                    );
                    line!(out, "  return {element}({array}, CkArrayIndex(ck_index));");
                    out.line("}");
                }
            }
            let coordinates = coordinates(index);
            if coordinates.len() > 1 {
                let list = ints(&coordinates);
                line!(out, "{template}{element} {proxy}::operator()({list}) const {{");
                line!(
                    out,
                    "  return {element}({array}, CkArrayIndex({{{}}}));",
                    coordinates.join(", ")
                );
                out.line("}");
            }
        }
        ChareKind::Group | ChareKind::NodeGroup => {
            let class = chare.class();
            line!(out, "{template}{element} {proxy}::operator[](int ck_rank) const {{");
            line!(out, "  return {element}(this->ckGetGroupID(), ck_rank);");
            out.line("}");
            line!(out, "{template}{class} *{proxy}::ckLocalBranch() const {{");
            line!(out, "  return (*this)[CkMyPe()].ckLocal();");
            out.line("}");
        }
        ChareKind::Chare | ChareKind::MainChare => {}
    }
}

fn define_method(out: &mut Text, chare: &Chare, class: &ProxyClass, number: usize, entry: &Entry) {
    let Some(declared) = method(chare, class, entry, false) else { return };
    line!(out, "{}{declared} {{", chare.template_line());
    let local = if class.is_element { "this->ckLocal()" } else { "this->ckLocalBranch()" };
    let name = &entry.name;
    if entry.has(Attribute::Local) {
        let here = "auto *ck_object = ck::here";
        line!(out, "  {here}({local}, \"{}::{name}\");", chare.name);
        line!(out, "  return ck_object->{name}({});", entry.parameters.handed_through());
    } else {
        // Whoever lends arrays waits for messages.
        let lends = entry.parameters.has_lent();
        let is_direct = entry.has(Attribute::Inline) && class.is_element && !lends;
        if is_direct && !entry.has(Attribute::Sync) {
            let arguments = entry.parameters.handed_on();
            line!(out, "  if (auto *ck_object = {local})");
            line!(out, "    return ck_object->{name}({arguments});");
        }
        send(out, chare, number, entry);
    }
    out.line("}");
}

/// Makes a message and sends it; waits for the answer of a synchronous method.
fn send(out: &mut Text, chare: &Chare, number: usize, entry: &Entry) {
    let is_sync = entry.has(Attribute::Sync);
    let parameters = &entry.parameters;
    let first = match (is_sync, parameters.has_posted()) {
        (true, _) => Some("ck::value(ck_to)"),
        (false, true) => Some("ck::value(false)"),
        (false, false) => None,
    };
    if is_sync {
        out.line("  auto ck_wait = std::make_shared<ck::Wait>();");
        out.line("  const ck::ReplyTo ck_to = ck::replying(ck_wait);");
        if let Parameters::Message(_, name) = parameters {
            line!(out, "  ck::MessageHeader::of({name})->reply = ck_to;");
        }
    }
    let options = if is_sync { "nullptr" } else { "ck_options" };
    let index = chare.generated("CkIndex_");
    line!(
        out,
        "  this->ck_send({index}::ck_entry_{number}, {}, {options});",
        parameters.message(first)
    );
    if is_sync {
        let returns = entry.returns.as_deref().unwrap_or("void");
        line!(out, "  return ck::awaited<{returns}>(ck_wait->wait());");
    }
}
