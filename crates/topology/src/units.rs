//! Rates and latencies as people write them.

/// Prefixes of bits and bytes, and their factors.
const PREFIXES: &[(&str, f64)] = &[
    ("", 1.0),
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
];

/// Units of time in nanoseconds.
const TIMES: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// The fastest rate, in bytes per second: far above any link.
const FASTEST: f64 = 1e15;

/// The longest latency, in nanoseconds: beyond any path on earth.
const LONGEST_LATENCY: f64 = 60e9;

/// Parses a rate such as `1Gbit`, `2.5 Gbit/s` or `125MB`, into bytes per second.
///
/// # Errors
/// What is wrong, as the end of a sentence that begins with the value.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let unit_only = unit.strip_suffix("/s").unwrap_or(unit);
    let factor = |word: &str, bytes: f64| {
        let prefix = unit_only.strip_suffix(word)?;
        let found = PREFIXES.iter().find(|(name, _)| *name == prefix);
        found.map(|(_, factor)| factor * bytes)
    };
    let Some(factor) = factor("bit", 0.125).or_else(|| factor("B", 1.0)) else {
        return Err(format!(
            "has no unit of a rate: '{unit}' is neither one such as kbit, Mbit or Gbit nor one \
             such as kB, MB or GB."
        ));
    };
    let bytes = (number * factor).round();
    if !(1.0..=FASTEST).contains(&bytes) {
        return Err("is out of range; from 1B to 1000TB a second are possible.".to_owned());
    }
    Ok(bytes as u64)
}

/// Parses a latency such as `40us` or `1.5 ms`, into nanoseconds.
///
/// # Errors
/// What is wrong, as the end of a sentence that begins with the value.
pub(crate) fn latency(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let Some((_, factor)) = TIMES.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("has no unit of time: '{unit}' is none of ns, us, ms and s."));
    };
    let nanoseconds = (number * factor).round();
    if !(0.0..=LONGEST_LATENCY).contains(&nanoseconds) {
        return Err("is out of range; from 0s to 60s are possible.".to_owned());
    }
    Ok(nanoseconds as u64)
}

/// Splits a quantity into number and unit.
fn split(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let is_number = |sign: char| sign.is_ascii_digit() || matches!(sign, '.' | '-' | '+');
    let (number, unit) = text.split_at(text.find(|sign| !is_number(sign)).unwrap_or(text.len()));
    let number = number.parse().map_err(|_| "does not begin with a number.".to_owned())?;
    Ok((number, unit.trim()))
}

/// A rate in bytes per second as text, in bits.
pub fn readable_rate(bytes: u64) -> String {
    let bits = bytes as f64 * 8.0;
    let steps = [(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    readable(bits, &steps, "bit/s")
}

/// A latency in nanoseconds as text.
pub fn readable_latency(nanoseconds: u64) -> String {
    readable(nanoseconds as f64, &[(1e9, "s"), (1e6, "ms"), (1e3, "us")], "ns")
}

/// A value in the largest unit of which it is at least 1, with at most three decimals.
fn readable(value: f64, units: &[(f64, &str)], smallest: &str) -> String {
    let (factor, unit) =
        units.iter().find(|(factor, _)| value >= *factor).copied().unwrap_or((1.0, smallest));
    let number = format!("{:.3}", value / factor);
    format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_in_bits_or_bytes() {
        for (text, bytes) in [
            ("1Gbit", 125_000_000),
            ("2.5 Gbit/s", 312_500_000),
            ("125MB", 125_000_000),
            ("1MiB/s", 1 << 20),
            ("100kbit", 12_500),
            ("8bit", 1),
            ("1TB", 1_000_000_000_000),
        ] {
            assert_eq!(rate(text), Ok(bytes), "{text}");
        }
        for (text, part) in [
            ("1Gb", "'Gb'"),
            ("1", "''"),
            ("Gbit", "begin with a number"),
            ("0MB", "out of range"),
            ("-1MB", "out of range"),
            ("1001TB", "out of range"),
            ("7bit/h", "'bit/h'"),
            ("1..5MB", "begin with a number"),
            ("1gbit", "'gbit'"),
        ] {
            let said = rate(text).unwrap_err();
            assert!(said.contains(part) && said.ends_with('.'), "{text}: {said}");
        }
    }

    #[test]
    fn latencies_have_units_of_time() {
        for (text, nanoseconds) in
            [("40us", 40_000), ("1.5 ms", 1_500_000), ("0s", 0), ("7ns", 7), ("2µs", 2000)]
        {
            assert_eq!(latency(text), Ok(nanoseconds), "{text}");
        }
        for (text, part) in
            [("40", "''"), ("1h", "'h'"), ("-1us", "out of range"), ("61s", "out of range")]
        {
            let said = latency(text).unwrap_err();
            assert!(said.contains(part) && said.ends_with('.'), "{text}: {said}");
        }
    }

    #[test]
    fn figures_are_readable() {
        assert_eq!(readable_rate(125_000_000), "1 Gbit/s");
        assert_eq!(readable_rate(12_500), "100 kbit/s");
        assert_eq!(readable_rate(1), "8 bit/s");
        assert_eq!(readable_rate(312_500_000), "2.5 Gbit/s");
        assert_eq!(readable_latency(40_000), "40 us");
        assert_eq!(readable_latency(0), "0 ns");
        assert_eq!(readable_latency(1_500_000), "1.5 ms");
    }
}
