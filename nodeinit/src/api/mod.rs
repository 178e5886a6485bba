//! The only code that speaks HTTP.
