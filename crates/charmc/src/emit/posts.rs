//! Methods with `nocopypost` or `nocopydevice` arrays: the post method says where the arrays are to
//! be. If they are not here, a second message invokes the method itself.

use super::steps;
use super::text::{Text, line};
use crate::ast::{ArrayTransfer, Chare, Entry, EntryParameter};

/// The part of a method's function for messages whose arrays are not yet where they are to be.
pub(super) fn define(out: &mut Text, chare: &Chare, number: usize, entry: &Entry) {
    let list = entry.parameters.list();
    let posted: Vec<&EntryParameter> = list.iter().filter(|one| one.transfer.is_posted()).collect();
    out.line("  if (!ck::are_placed(*ck_call.message)) {");
    out.line("  towpath_message_hold(ck_call.message);");
    out.line("  ck::Unmarshaller ck_in(*ck_call.message);");
    out.line("  ck_in.value<bool>();");
    for one in list {
        let EntryParameter { name, type_name, .. } = one;
        match (&one.length, one.transfer) {
            (Some(_), transfer) if transfer.is_posted() => {
                line!(out, "  auto ck_from_{name} = ck_in.array<{type_name}>();");
                line!(out, "  {type_name} *{name} = nullptr;");
            }
            (Some(_), transfer) => {
                let how = if transfer == ArrayTransfer::Copied { "given" } else { "shown" };
                line!(out, "  auto ck_array_{name} = ck_in.array<{type_name}>();");
                line!(out, "  auto ck_shown_{name} = ck_in.{how}(ck_array_{name});");
                line!(out, "  {type_name} *{name} = ck_shown_{name};");
            }
            (None, _) => line!(out, "  auto {name} = {};", one.read("ck_in")),
        }
    }
    let post = if entry.parameters.has_on_device() { "Device" } else { "Ncpy" };
    line!(out, "  ck::ArrayPosts<{}, Ck{post}BufferPost> ck_posts;", posted.len());
    let names = list.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let class = chare.class();
    line!(out, "  ck_call.object<{class}>()->{}({names}, ck_posts.all);", entry.name);
    line!(out, "  const std::array<ck::PostedArray, {}> ck_arrays = {{", posted.len());
    for (i, one) in posted.iter().enumerate() {
        let (EntryParameter { name, .. }, Some(length)) = (one, &one.length) else { continue };
        let count = format!("static_cast<std::size_t>({length})");
        line!(out, "    ck::posted(ck_from_{name}, {name}, {count}, ck_posts.all[{i}]),");
    }
    out.line("  };");
    // Other arrays are in the message until the method has run, or on a device.
    if list.iter().all(|one| one.length.is_none() || one.transfer == ArrayTransfer::NoCopyPost) {
        out.line("  if (ck::place_now(ck_call, ck_arrays)) {");
        define_now(out, chare, number, entry);
        out.line("  return;");
        out.line("  }");
    }
    line!(out, "  ck::place_arrays(ck_call, ck_entry_{number}, ck_arrays,");
    out.line("    [=](const ck::PostedArray *ck_arrays) {");
    let mut items = vec!["ck::value(true)".to_owned()];
    let mut number = 0;
    for one in list {
        let EntryParameter { name, type_name, .. } = one;
        items.push(match (&one.length, one.transfer) {
            (Some(_), transfer) if transfer.is_posted() => {
                number += 1;
                format!("ck::placed<{type_name}>(ck_arrays[{}])", number - 1)
            }
            (Some(_), _) => {
                format!("ck::inside<{type_name}>(ck_array_{name}.elements, ck_array_{name}.count)")
            }
            (None, _) => format!("ck::value<{type_name}>({name})"),
        });
    }
    line!(out, "    return ck::marshal({});", items.join(", "));
    out.line("  });");
    out.line("  return;");
    out.line("  }");
}

/// Invokes the method at once: all arrays are where they are to be.
fn define_now(out: &mut Text, chare: &Chare, number: usize, entry: &Entry) {
    let class = chare.class();
    if steps::has_steps(chare, entry) {
        let message = entry.parameters.own_message(Some("ck::value(true)"));
        line!(out, "  towpath_message ck_own = {message};");
        out.line("  ck_own.reference = ck_call.message->reference;");
        line!(out, "  ck_call.object<{class}>()->ck_take_{number}(ck_own);");
        return;
    }
    let arguments = entry.parameters.list().iter().map(|one| match one.length {
        Some(_) => one.name.clone(),
        None => one.handed(&one.name),
    });
    let arguments = arguments.collect::<Vec<_>>().join(", ");
    line!(out, "  ck_call.object<{class}>()->{}({arguments});", entry.name);
}
