//! The order of work for each role, as a list that can be read aloud.
