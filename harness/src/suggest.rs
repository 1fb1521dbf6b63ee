//! The nearest of the names that exist, for one that does not.

/// The candidate that `name` was most likely meant to be, if one is near enough.
///
/// One edit in three characters is forgiven, so `weel` is `wheel` and `x` is nothing.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let allowed = name.chars().count().div_ceil(3);
    let near = |candidate: &'a str| {
        let distance = strsim::damerau_levenshtein(&name, &candidate.to_lowercase());
        let extends = candidate.starts_with(&name) && name.len() > 2;
        (distance <= allowed || extends).then_some((distance, candidate))
    };
    candidates.into_iter().filter_map(near).min().map(|(_, candidate)| candidate)
}

/// `; did you mean ...?` for the nearest candidate, or nothing.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map_or_else(String::new, |candidate| format!("; did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_name_and_nonsense_finds_none() {
        let names = ["burst", "grow-in-order", "cycle", "window"];
        assert_eq!(nearest("brust", names), Some("burst"));
        assert_eq!(nearest("Window", names), Some("window"));
        assert_eq!(nearest("grow", names), Some("grow-in-order"));
        assert_eq!(nearest("qqq", names), None);
    }
}
