//! Errors with what they were caused by.

use std::error::Error;

/// An error with its causes, outermost first: `start the keeper: No such file or directory (os error 2)`.
#[must_use]
pub fn with_causes(error: &(dyn Error + '_)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::with_causes;

    #[derive(Debug, thiserror::Error)]
    #[error("read the file")]
    struct Outer(#[source] std::fmt::Error);

    #[test]
    fn causes_follow_the_error() {
        assert_eq!(with_causes(&std::fmt::Error), std::fmt::Error.to_string());
        assert_eq!(with_causes(&Outer(std::fmt::Error)), format!("read the file: {}", std::fmt::Error));
    }
}
