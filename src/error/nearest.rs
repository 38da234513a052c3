//! The valid name that a wrong one was probably meant to be.

/// `; did you mean 'x'?` for the nearest of these names, or nothing if none is near.
pub fn did_you_mean<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    // A third of the letters may differ. A long name is never a typing error of a known one.
    let length = name.chars().count();
    let limit = if length > 64 { 0 } else { (length / 3).clamp(1, 4) };
    let distances = names.into_iter().map(|other| (distance(name, other, limit), other));
    match distances.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance)
    {
        Some((_, nearest)) => format!("; did you mean '{nearest}'?"),
        None => String::new(),
    }
}

/// How many letters have to be inserted, removed or replaced; more than `limit` if that is exceeded.
fn distance(left: &str, right: &str, limit: usize) -> usize {
    let right: Vec<char> = right.chars().flat_map(char::to_lowercase).collect();
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = row;
        let mut left_of = row + 1;
        let mut least = left_of;
        for (b, cell) in right.iter().zip(previous.iter_mut().skip(1)) {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = *cell;
            left_of = replaced.min(left_of + 1).min(*cell + 1);
            *cell = left_of;
            least = least.min(left_of);
        }
        if let Some(first) = previous.first_mut() {
            *first = row + 1;
        }
        if least > limit {
            return limit + 1;
        }
    }
    previous.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested() {
        let names = ["code", "price", "qty", "create_time"];
        for (wrong, nearest) in
            [("prise", "price"), ("Code", "code"), ("qt", "qty"), ("createtime", "create_time")]
        {
            assert_eq!(did_you_mean(wrong, names), format!("; did you mean '{nearest}'?"));
        }
        assert_eq!(did_you_mean("volume", names), "");
        assert_eq!(did_you_mean("", names), "");
        assert_eq!(did_you_mean(&"price".repeat(100_000), names), "");
    }

    #[test]
    fn distances_count_edits() {
        for (left, right, edits) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("同", "同", 0)]
        {
            assert_eq!(distance(left, right, 9), edits, "{left} {right}");
        }
    }
}
