//! The steps. Each asks the pure rooms what should be, the effects what is, and closes the gap.
