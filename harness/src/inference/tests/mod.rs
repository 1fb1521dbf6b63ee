//! Figures against scipy's, intervals against simulated data with known truth, and input that has no answer.

mod coverage;
mod degenerate;
mod scipy;
