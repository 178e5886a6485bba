//! Keys and certificates: bytes to bytes, no I/O.
