//! Builds the description from the tables of a file, and finds contradictions between them.

use std::collections::HashMap;

use towpath_machine::levels::MachineDescription;

use crate::error::{Error, Result};
use crate::figures::Stated;
use crate::links::{LinkFacts, contradiction};
use crate::table::{self, FileTable, FileTables, LINK_KEYS};
use crate::{GroupNumber, NetworkTopology};

/// Maximum number of host names in all tables of a file, so that a short text with many ranges
/// cannot exhaust memory.
const MOST_NAMES: usize = 1 << 18;

/// What the file states about a host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HostFacts {
    pub(crate) name: String,
    pub(crate) link: LinkFacts,
    pub(crate) leads: Option<Stated<bool>>,
    pub(crate) processor: Option<Stated<f64>>,
    pub(crate) levels: Option<Stated<MachineDescription>>,
    /// The innermost group.
    pub(crate) group: Option<GroupNumber>,
}

/// What the file states about a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GroupFacts {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) uplink: LinkFacts,
    pub(crate) parent: Option<GroupNumber>,
    /// Hosts that are in no group inside this one.
    pub(crate) hosts: Vec<usize>,
}

/// A description that is being built.
#[derive(Default)]
pub(crate) struct Assembly {
    topology: NetworkTopology,
    /// The groups that name each host, in the order of the file.
    groups_of: Vec<Vec<GroupNumber>>,
    /// Number of names in the tables so far; at most [`MOST_NAMES`].
    names_so_far: usize,
}

impl Assembly {
    /// Reads all tables of a text.
    pub(crate) fn of_text(text: &str) -> Result<Assembly> {
        let document = table::document(text)?;
        let tables = FileTables::of(text, document.get_ref())?;
        let mut assembly = Assembly::default();
        if let Some(table) = &tables.default {
            table.only(&[&["levels"], &LINK_KEYS[..]].concat())?;
            assembly.topology.usual = table.link()?;
            assembly.topology.usual_levels = table.levels()?.map(|levels| levels.value);
        }
        tables.links.iter().try_for_each(|table| assembly.add_links(table))?;
        assembly.add_groups(&tables.groups)?;
        tables.hosts.iter().try_for_each(|table| assembly.add_hosts(table))?;
        Ok(assembly)
    }

    /// The number of a host that a table names; a new host gets the next number.
    fn host(&mut self, name: &str) -> usize {
        let hosts = &mut self.topology.hosts;
        self.topology.names.find(name).unwrap_or_else(|| {
            self.topology.names.insert(name, hosts.len());
            hosts.push(HostFacts {
                name: name.to_owned(),
                link: LinkFacts::default(),
                leads: None,
                processor: None,
                levels: None,
                group: None,
            });
            self.groups_of.push(Vec::new());
            hosts.len() - 1
        })
    }

    /// The hosts of a table, by number.
    fn hosts_of(&mut self, table: &FileTable<'_>) -> Result<Vec<usize>> {
        let Stated { value: names, line } = table.hosts()?;
        self.names_so_far += names.len();
        if self.names_so_far > MOST_NAMES {
            return Err(Error::new(
                line,
                format!("the file names more than {MOST_NAMES} hosts up to here."),
            ));
        }
        Ok(names.iter().map(|name| self.host(name)).collect())
    }

    /// The hosts of a table that must name at least one.
    fn hosts_needed(&mut self, table: &FileTable<'_>) -> Result<Vec<usize>> {
        let hosts = self.hosts_of(table)?;
        if hosts.is_empty() {
            return Err(Error::new(
                table.line,
                format!("{} needs the key hosts, such as \"a,n[0-15]\".", table.title),
            ));
        }
        Ok(hosts)
    }

    fn add_links(&mut self, table: &FileTable<'_>) -> Result<()> {
        table.only(&[&["hosts"], &LINK_KEYS[..]].concat())?;
        let facts = table.link()?;
        for host in self.hosts_needed(table)? {
            let HostFacts { name, link, .. } = &mut self.topology.hosts[host];
            link.add(&facts, name, table.line)?;
        }
        Ok(())
    }

    fn add_hosts(&mut self, table: &FileTable<'_>) -> Result<()> {
        table.only(&["hosts", "leads", "processor", "levels"])?;
        let (leads, processor) = (table.flag("leads")?, table.speed("processor")?);
        let levels = table.levels()?;
        for host in self.hosts_needed(table)? {
            let facts = &mut self.topology.hosts[host];
            let other = |key, first| contradiction(&facts.name, key, first, table.line);
            Stated::keep(&mut facts.leads, leads).map_err(|first| other("leads", first))?;
            Stated::keep(&mut facts.processor, processor)
                .map_err(|first| other("processor", first))?;
            Stated::keep(&mut facts.levels, levels.clone())
                .map_err(|first| other("levels", first))?;
        }
        Ok(())
    }

    /// Adds all groups: first their names, because a group may contain one that follows it.
    fn add_groups(&mut self, tables: &[FileTable<'_>]) -> Result<()> {
        let mut numbers: HashMap<&str, GroupNumber> = HashMap::new();
        for (number, table) in tables.iter().enumerate() {
            table.only(&[&["name", "hosts", "groups"], &LINK_KEYS[..]].concat())?;
            let name = table.text("name", "\"rack1\"")?.map(|name| name.value);
            let name = name.filter(|name| !name.trim().is_empty()).ok_or_else(|| {
                Error::new(table.line, "[[group]] needs the key name, such as \"rack1\".")
            })?;
            if let Some(first) = numbers.insert(name, number) {
                let first = tables[first].line;
                let sentence = format!("group {name} is in line {first} already.");
                return Err(Error::new(table.line, sentence));
            }
            self.topology.groups.push(GroupFacts {
                name: name.to_owned(),
                line: table.line,
                uplink: table.link()?,
                parent: None,
                hosts: Vec::new(),
            });
        }
        for (number, table) in tables.iter().enumerate() {
            let hosts = self.hosts_of(table)?;
            let inner = table.texts("groups")?;
            if hosts.is_empty() && inner.as_ref().is_none_or(|inner| inner.value.is_empty()) {
                let name = &self.topology.groups[number].name;
                let sentence = format!("group {name} has neither hosts nor groups.");
                return Err(Error::new(table.line, sentence));
            }
            for host in hosts {
                self.groups_of[host].push(number);
            }
            let Some(Stated { value: inner, line }) = inner else { continue };
            for name in inner {
                let Some(&inner) = numbers.get(name) else {
                    let what = format!("there is no group {name}");
                    let mut known: Vec<&str> = numbers.keys().copied().collect();
                    known.sort_unstable();
                    return Err(table::unknown(line, &what, known.into_iter(), name));
                };
                self.put_inside(inner, number, line)?;
            }
        }
        Ok(())
    }

    /// Puts a group into another one.
    fn put_inside(&mut self, inner: GroupNumber, outer: GroupNumber, line: usize) -> Result<()> {
        let groups = &mut self.topology.groups;
        let name = groups[inner].name.clone();
        if let Some(first) = groups[inner].parent.filter(|&first| first != outer) {
            let (first, outer) = (&groups[first].name, &groups[outer].name);
            return Err(Error::new(
                line,
                format!("group {name} is in two groups, {first} and {outer}."),
            ));
        }
        // The groups form trees up to here, so this loop ends.
        if std::iter::successors(Some(outer), |&group| groups[group].parent)
            .any(|group| group == inner)
        {
            return Err(Error::new(line, format!("group {name} contains itself.")));
        }
        groups[inner].parent = Some(outer);
        Ok(())
    }

    /// Puts each host into the innermost of the groups that name it.
    pub(crate) fn finish(mut self) -> Result<NetworkTopology> {
        for (host, named) in self.groups_of.iter().enumerate() {
            let Some(innermost) = self.innermost(host, named)? else { continue };
            self.topology.hosts[host].group = Some(innermost);
            self.topology.groups[innermost].hosts.push(host);
        }
        Ok(self.topology)
    }

    /// The innermost of some groups, all of which must be around it.
    fn innermost(&self, host: usize, named: &[GroupNumber]) -> Result<Option<GroupNumber>> {
        let groups = &self.topology.groups;
        let around =
            |group: GroupNumber| std::iter::successors(Some(group), |&group| groups[group].parent);
        let Some(innermost) = named.iter().copied().max_by_key(|&group| around(group).count())
        else {
            return Ok(None);
        };
        let outside = named.iter().find(|&&other| around(innermost).all(|group| group != other));
        match outside {
            None => Ok(Some(innermost)),
            Some(&other) => {
                let (first, second) = (innermost.min(other), innermost.max(other));
                let (first, second) = (&groups[first], &groups[second]);
                Err(Error::new(
                    second.line,
                    format!(
                        "host {} is in group {} and in group {} of line {}, and neither contains \
                         the other.",
                        self.topology.hosts[host].name, second.name, first.name, first.line
                    ),
                ))
            }
        }
    }
}
