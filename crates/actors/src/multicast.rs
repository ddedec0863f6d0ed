//! Multicasts to sections, and their members: see [`crate::section`].

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::chares::ChareId;
use crate::collection::{Collection, CollectionId};
use crate::control::CollectionMessage;
use crate::error::ActorError;
use crate::index::Index;
use crate::message::{ActorHeader, ActorMessage, JOIN, MessageHandle, MessageKind};
use crate::reduction::Contribution;
use crate::runtime::{Processed, Runtime};
use crate::section::{Membership, SectionId, SectionMessage, branches, multicast, split_multicast};

/// Of copies of multicasts: they are for each life of an index, but for members only.
const ANY_LIFE: u32 = u32::MAX;

impl Runtime {
    /// Makes a section of the elements of a collection with these indexes, which exist or are about
    /// to be made. An element that is deleted is a member no more, nor is a later one of its index.
    ///
    /// # Errors
    /// No element can have one of these indexes, or single chares are meant.
    pub fn create_section(
        &self,
        collection: CollectionId,
        members: &[Index],
    ) -> Result<SectionId, ActorError> {
        if collection == CollectionId::SINGLE_CHARES {
            return Err(ActorError::NoSection);
        }
        let mut state = self.state.borrow_mut();
        let known = state.collections.get(&collection);
        let wrong =
            members.iter().find(|index| known.is_some_and(|known| !known.location.contains(index)));
        if let Some(index) = wrong {
            drop(state);
            return Err(self.no_such_member(collection, *index));
        }
        state.sections_made += 1;
        let section = SectionId { collection, root: state.rank, number: state.sections_made };
        let (root, create) = (section.root, SectionMessage::Create(members.to_vec()));
        state.tell(root, collection, CollectionMessage::Section(section, create));
        Ok(section)
    }

    /// Invokes an entry method of all members of a section; the message's header says which.
    ///
    /// # Errors
    /// There is no such section, or it is of before the restart.
    pub fn multicast(
        &self,
        section: SectionId,
        mut message: ActorMessage,
    ) -> Result<(), ActorError> {
        self.check_is_new_section(section)?;
        self.check_rank(Some(section.root))?;
        let header = message.header_mut();
        header.set_kind(MessageKind::MulticastRequest);
        section.name_in(header);
        let mut state = self.state.borrow_mut();
        state.counts.sent += 1;
        if section.root != state.rank {
            state.layer.send(section.root, message.into());
            return Ok(());
        }
        drop(state);
        self.handle(message.into(), None)
    }

    /// The sections of which a chare of this rank is a member, as far as it knows.
    #[must_use]
    pub fn sections(&self, id: ChareId) -> Vec<SectionId> {
        let state = self.state.borrow();
        let collection = state.collections.get(&id.collection);
        let element = collection.and_then(|known| known.element(&id.index));
        let memberships = element.into_iter().flat_map(|element| &element.memberships);
        memberships.map(|membership| membership.section).collect()
    }

    /// Whether a section is of before the restart: sections are not saved, so it exists no more.
    #[must_use]
    pub fn is_old_section(&self, section: SectionId) -> bool {
        // No section has the number 0.
        (1..=self.state.borrow().old_sections).contains(&section.number)
    }

    pub(crate) fn check_is_new_section(&self, section: SectionId) -> Result<(), ActorError> {
        let SectionId { root, number, .. } = section;
        if self.is_old_section(section) {
            return Err(ActorError::OldSection { root, number });
        }
        Ok(())
    }

    fn no_such_member(&self, collection: CollectionId, index: Index) -> ActorError {
        let (chare, _) = self.named(ChareId { collection, index }, 0);
        ActorError::NoSuchMember { chare, index }
    }

    /// Contributes to the next reduction of a chare of this rank over a section to which it
    /// belongs, and returns its number.
    ///
    /// # Errors
    /// The chare is not here, or has had no multicast of the section, which may be of before the
    /// restart, or its contribution does not fit to the others.
    pub fn contribute_to_section(
        &self,
        id: ChareId,
        section: SectionId,
        mut contribution: Contribution,
    ) -> Result<u32, ActorError> {
        self.check_is_new_section(section)?;
        contribution.elements = 1;
        let mut state = self.state.borrow_mut();
        let rank = state.rank;
        let collection = state.collections.get_mut(&id.collection);
        let collection = collection.ok_or(ActorError::NotHere { what: "contribute", rank })?;
        let chare = collection.chare;
        let membership = self.membership(collection, rank, id, section)?;
        contribution.value = self.prepared(chare, contribution.reducer, contribution.value)?;
        let number = membership.reduction;
        membership.reduction += 1;
        let reductions = &mut collection.section(section).reductions;
        let steps = reductions.contribute(number, contribution, &self.combining());
        drop(state);
        self.follow_section(section, chare, steps)?;
        Ok(number)
    }

    /// The number of the next reduction of a chare of this rank over a section to which it belongs.
    ///
    /// # Errors
    /// As for [`Runtime::contribute_to_section`].
    pub fn next_section_reduction(
        &self,
        id: ChareId,
        section: SectionId,
    ) -> Result<u32, ActorError> {
        self.check_is_new_section(section)?;
        let mut state = self.state.borrow_mut();
        let rank = state.rank;
        let collection = state.collections.get_mut(&id.collection);
        let collection = collection.ok_or(ActorError::NotHere { what: "contribute", rank })?;
        Ok(self.membership(collection, rank, id, section)?.reduction)
    }

    fn membership<'a>(
        &self,
        collection: &'a mut Collection,
        rank: u32,
        id: ChareId,
        section: SectionId,
    ) -> Result<&'a mut Membership, ActorError> {
        let chare = collection.chare;
        let element = collection.element_mut(&id.index);
        let element = element.ok_or(ActorError::NotHere { what: "contribute", rank })?;
        let mut memberships = element.memberships.iter_mut();
        memberships.find(|membership| membership.section == section).ok_or_else(|| {
            let chare = self.chares.chare_name(chare);
            ActorError::NoMember { chare, index: id.index }
        })
    }

    /// Another runtime says something about a section.
    pub(crate) fn about_section(&self, id: SectionId, what: SectionMessage) -> Processed {
        let mut state = self.state.borrow_mut();
        let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
        let chare = collection.chare;
        let section = collection.section(id);
        match what {
            SectionMessage::Create(members) => {
                drop(state);
                return self.make_section(id, members);
            }
            SectionMessage::Client(client) => {
                section.members.client = Some(client);
                return Ok(());
            }
            SectionMessage::Joined { rank, members } => {
                section.members.joined(members.len());
                members.into_iter().for_each(|member| section.members.seen(member, rank));
            }
            SectionMessage::Moved(moved) => {
                moved.into_iter().for_each(|(member, rank)| section.members.seen(member, rank));
                return Ok(());
            }
            SectionMessage::Gone { member, joined } => {
                section.members.gone(&member);
                section.members.joined(usize::from(!joined));
            }
            SectionMessage::Reduction(message) => {
                let steps = section.reductions.message(message, &self.combining());
                drop(state);
                return self.follow_section(id, chare, steps);
            }
        }
        drop(state);
        self.release_multicasts(id)
    }

    /// At the root: makes the section of these members.
    pub(crate) fn make_section(&self, id: SectionId, members: Vec<Index>) -> Processed {
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
        let members: BTreeSet<Index> = members.into_iter().collect();
        if let Some(index) = members.iter().find(|index| !collection.location.contains(index)) {
            let index = *index;
            drop(guard);
            return Err(self.no_such_member(id.collection, index));
        }
        let places = members.into_iter().map(|index| (index, collection.whereabouts(&index)));
        let places = places.collect();
        let section = collection.section(id);
        section.members.create(places);
        let parts = section.members.parts(state.rank);
        let count = parts.iter().map(|(_, members)| members.len()).sum::<usize>();
        section.reductions.begin_elsewhere(count as i64);
        let mut header = ActorHeader::new(MessageKind::Multicast, 0, None, 0);
        header.flags = JOIN;
        id.name_in(&mut header);
        let message = multicast(&ActorMessage::new(header, 0), header, &parts, &[]);
        state.counts.sent += 1;
        drop(guard);
        self.pass_multicast(message.into())?;
        self.release_multicasts(id)
    }

    /// At the root: somebody asks for a multicast, and this has been counted as processed.
    pub(crate) fn multicast_requested(&self, message: MessageHandle) -> Processed {
        let mut header = *message.header();
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let id = SectionId::of(&header).ok_or(ActorError::Unknown { rank: state.rank })?;
        if !state.has_made(id) {
            return Err(ActorError::NoSuchSection { root: id.root, number: id.number });
        }
        let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
        let members = &mut collection.section(id).members;
        if !members.are_ready() {
            members.held.push(message.kept());
            state.counts.processed -= 1;
            state.counts.waiting += 1;
            return Ok(());
        }
        header.set_kind(MessageKind::Multicast);
        let parts = members.parts(state.rank);
        let message = multicast(&message, header, &parts, message.payload());
        state.counts.sent += 1;
        drop(guard);
        self.pass_multicast(message.into())
    }

    /// At the root: lets multicasts go if all members know that they are.
    pub(crate) fn release_multicasts(&self, id: SectionId) -> Processed {
        let held = {
            let mut guard = self.state.borrow_mut();
            let state = &mut *guard;
            let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
            let members = &mut collection.section(id).members;
            if !members.are_ready() {
                return Ok(());
            }
            let held = std::mem::take(&mut members.held);
            state.counts.waiting -= held.len() as u64;
            state.counts.processed += held.len() as u64;
            held
        };
        held.into_iter().try_for_each(|message| self.multicast_requested(message))
    }

    /// A multicast has come: passes it on. This rank's own part waits in the queue.
    pub(crate) fn pass_multicast(&self, message: MessageHandle) -> Processed {
        let (parts, payload) = split_multicast(&message).ok_or_else(|| self.unknown())?;
        let state = &mut *self.state.borrow_mut();
        let header = *message.header();
        for branch in branches(&parts) {
            let below = multicast(&message, header, branch, payload);
            state.counts.sent += 1;
            state.layer.send(branch[0].0, below.into());
        }
        state.queue.push(message);
        Ok(())
    }

    /// Invokes the method of a multicast on the members that are here, and sends it after others.
    pub(crate) fn deliver_multicast(&self, message: &ActorMessage) -> Processed {
        let mut header = *message.header();
        let split = split_multicast(message).zip(SectionId::of(&header));
        let ((parts, payload), section) = split.ok_or_else(|| self.unknown())?;
        let members = parts.into_iter().next().unwrap_or_default().1;
        self.state.borrow_mut().counts.processed += 1;
        if header.flags & JOIN != 0 {
            return self.join_all(section, members);
        }
        header.set_kind(MessageKind::Invoke);
        let mut own = message.resized(header, payload.len());
        own.payload_mut().copy_from_slice(payload);
        let message = Rc::new(own.with_arrays(message.arrays().to_vec()));
        let mut moved = Vec::new();
        for index in members {
            let id = ChareId { collection: section.collection, index };
            let mut guard = self.state.borrow_mut();
            let state = &mut *guard;
            let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
            let Some(element) = collection.element_mut(&index) else {
                moved.push((index, collection.whereabouts(&index)));
                state.copy(&message, &index, ANY_LIFE);
                continue;
            };
            let object = element.object.filter(|_| element.is_member(section));
            let Some(object) = object else { continue };
            element.is_running = true;
            drop(guard);
            let copy = MessageHandle::Shared(message.clone());
            self.run_method(id, header.entry, || self.chares.invoke(self, id, object, copy))?;
        }
        if !moved.is_empty() {
            self.tell_root(section, SectionMessage::Moved(moved));
        }
        Ok(())
    }

    /// These elements are members of a section: tells those that are here, and the others by
    /// messages.
    fn join_all(&self, section: SectionId, members: Vec<Index>) -> Processed {
        let mut joined = Vec::new();
        let mut state = self.state.borrow_mut();
        let rank = state.rank;
        for index in members {
            let Some(collection) = state.collections.get_mut(&section.collection) else { break };
            if collection.join(section, &index) {
                joined.push(index);
                continue;
            }
            let mut header = ActorHeader::new(MessageKind::Join, 0, Some(&index), 0);
            section.name_in(&mut header);
            state.counts.sent += 1;
            let routed = state.route(ActorMessage::of(header, &[]).into());
            debug_assert!(routed.is_ok(), "the root has looked at the index");
        }
        drop(state);
        if !joined.is_empty() {
            self.tell_root(section, SectionMessage::Joined { rank, members: joined });
        }
        Ok(())
    }

    /// A message that tells an element that it is a member has left the queue.
    pub(crate) fn join_now(&self, message: MessageHandle) -> Processed {
        let header = *message.header();
        let index = header.index();
        let section = SectionId::of(&header).ok_or_else(|| self.unknown())?;
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let rank = state.rank;
        let Some(collection) = state.collections.get_mut(&section.collection) else {
            return Ok(());
        };
        if collection.join(section, &index) {
            state.counts.processed += 1;
            drop(guard);
            let members = vec![index];
            self.tell_root(section, SectionMessage::Joined { rank, members });
            return Ok(());
        }
        if !collection.is_known_deleted(&index) {
            let routed = state.route(message);
            drop(guard);
            return routed.map_err(|_| self.misdirected(&header));
        }
        state.counts.processed += 1;
        let chare = collection.chare;
        let reductions = &mut collection.section(section).reductions;
        reductions.arrived(0);
        let steps = reductions.deleted(0, &self.combining());
        drop(guard);
        self.tell_root(section, SectionMessage::Gone { member: index, joined: false });
        self.follow_section(section, chare, steps)
    }

    pub(crate) fn tell_root(&self, section: SectionId, what: SectionMessage) {
        let what = CollectionMessage::Section(section, what);
        self.state.borrow_mut().tell(section.root, section.collection, what);
    }

    /// A member of sections has left this rank, or was deleted.
    pub(crate) fn member_left(
        &self,
        id: ChareId,
        chare: u32,
        memberships: Vec<Membership>,
        is_deleted: bool,
    ) -> Processed {
        for Membership { section, reduction } in memberships {
            let steps = {
                let mut state = self.state.borrow_mut();
                let collection = state.collections.get_mut(&id.collection);
                let Some(collection) = collection else { return Ok(()) };
                let (reductions, combine) =
                    (&mut collection.section(section).reductions, self.combining());
                if is_deleted {
                    reductions.deleted(reduction, &combine)
                } else {
                    reductions.departed(reduction, &combine)
                }
            };
            if is_deleted {
                self.tell_root(section, SectionMessage::Gone { member: id.index, joined: true });
            }
            self.follow_section(section, chare, steps)?;
        }
        Ok(())
    }
}
