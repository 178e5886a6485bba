//! Arguments in, plan chosen, outcome told.
