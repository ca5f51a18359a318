//! Recordings of the simulator fit, and changed ones are found.

mod changed;
mod program;
mod simulated;
mod validator;
