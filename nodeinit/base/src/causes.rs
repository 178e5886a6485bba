//! Why an error happened, as text.

use std::error::Error;

/// The causes of an error, outermost first, without the error itself.
#[must_use]
pub fn causes(error: &dyn Error) -> Vec<String> {
    std::iter::successors(error.source(), |cause| (*cause).source()).map(ToString::to_string).collect()
}

/// An error and its causes in one line. A cause that the text already contains is not repeated.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    causes(error).into_iter().fold(error.to_string(), |text, cause| match text.contains(&cause) {
        true => text,
        false => format!("{text}: {cause}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Layer>>);

    #[test]
    fn causes_follow_in_order_and_none_is_repeated() {
        let layer = |text, below| Layer(text, Some(Box::new(below)));
        let error = layer("cannot ask: refused", layer("refused", Layer("no route", None)));
        assert_eq!(causes(&error), ["refused", "no route"]);
        assert_eq!(with_causes(&error), "cannot ask: refused: no route");
    }
}
