//! The causes of errors, as text.

use std::error::Error;

/// Returns the causes of an error, outermost first, without the error itself.
#[must_use]
pub fn causes(error: &dyn Error) -> Vec<String> {
    std::iter::successors(error.source(), |cause| (*cause).source()).map(ToString::to_string).collect()
}

/// Returns an error and its causes in one line. Does not repeat a cause that the text already contains.
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
    fn causes_are_in_order_and_not_repeated() {
        let layer = |text, below| Layer(text, Some(Box::new(below)));
        let error = layer("cannot ask: refused", layer("refused", Layer("no route", None)));
        assert_eq!(causes(&error), ["refused", "no route"]);
        assert_eq!(with_causes(&error), "cannot ask: refused: no route");
    }
}
