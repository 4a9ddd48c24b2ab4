//! Pure statistics, each with its source.
