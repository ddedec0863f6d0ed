//! A network with faults for hosts that are network namespaces: a user-space switch that drops,
//! duplicates and delays frames.
//!
//!     rough_wire [--loss P] [--duplicate P] [--reorder P] [--seed N]
//!                [--swallow frames|udp] DEVICE...
//!
//! P is a percentage of all frames that arrive. Each device is a port of the switch and the other
//! end of a host's veth pair; the hosts must send complete frames with checksums (no segmentation
//! offload). It runs until its standard input ends, and then prints its counts. With `--swallow
//! frames`, only IP (and ARP) passes, as in many rented networks; with `--swallow udp`, no UDP over
//! IPv4 passes. Frame n of a port always has the same fate, regardless of timing: each port has its
//! own generator.

mod fate;
mod socket;
mod switch;

use std::process::ExitCode;

use fate::Percentages;
use switch::{Swallowed, Switch};

/// The command line.
#[derive(Debug)]
struct Options {
    percentages: Percentages,
    seed: u64,
    swallow: Option<Swallowed>,
    devices: Vec<String>,
}

fn number<T: std::str::FromStr>(word: &str, value: Option<String>) -> Result<T, String> {
    let value = value.ok_or_else(|| format!("{word} lacks its value"))?;
    value.parse().map_err(|_| format!("{word} is followed by {value:?}, which is no number"))
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        percentages: Percentages::default(),
        seed: 1,
        swallow: None,
        devices: Vec::new(),
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--loss" => options.percentages.loss = number(&word, words.next())?,
            "--duplicate" => options.percentages.duplicate = number(&word, words.next())?,
            "--reorder" => options.percentages.reorder = number(&word, words.next())?,
            "--seed" => options.seed = number(&word, words.next())?,
            "--swallow" => {
                options.swallow = Some(Swallowed::of(&words.next().unwrap_or_default())?)
            }
            _ if word.starts_with('-') => {
                return Err(format!("{word} is not an option of this program"));
            }
            _ => options.devices.push(word),
        }
    }
    if options.devices.len() < 2 {
        Err("a network has two devices at least".to_owned())
    } else {
        Ok(options)
    }
}

fn main() -> ExitCode {
    let done = options(std::env::args().skip(1)).and_then(|options| {
        let mut switch =
            Switch::new(&options.devices, options.percentages, options.seed, options.swallow)?;
        println!("ready");
        switch.run_until_input_ends()?;
        println!("{}", switch.counts());
        Ok(())
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("rough_wire: {sentence}");
            ExitCode::FAILURE
        }
    }
}
