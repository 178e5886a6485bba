//! Configuration to text: pure, no I/O.
