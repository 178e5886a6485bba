//! Durations as users write them.

use std::time::Duration;

/// Parses `500ms`, `90s`, `5m`, `1h30m` or `7d`. Returns `None` if the text is not a duration.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = Some(text).filter(|text| !text.is_empty())?;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        let unit = &rest[digits..];
        let unit = &unit[..unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len())];
        let millis = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 24 * 3_600_000,
            _ => return None,
        };
        total = total.saturating_add(Duration::from_millis(number.saturating_mul(millis)));
        rest = &rest[digits + unit.len()..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_need_a_unit() {
        let read = |text: &str| parse(text).map(|time| time.as_millis());
        let known = [("500ms", 500), ("90s", 90_000), ("1h30m", 5_400_000), ("7d", 604_800_000), ("0s", 0)];
        known.iter().for_each(|(text, millis)| assert_eq!(read(text), Some(*millis), "{text}"));
        for wrong in ["", "24", "h", "-1h", "1.5h", "1w", "24hh", "1 h", "1h ", "é"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_is_read_or_refused(text in ".*", h in 0..1000_u64, s in 0..10_000_u64) {
            let _ = parse(&text);
            prop_assert_eq!(parse(&format!("{h}h{s}s")), Some(Duration::from_secs(h * 3600 + s)));
        }
    }
}
