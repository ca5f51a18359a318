//! The errors that the generator finds in the document.

use std::fmt;

/// One or more errors in the document, each with the JSON pointer to the value that it is about.
#[derive(Debug)]
pub struct Faults(Vec<(String, String)>);

impl Faults {
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self(vec![(place.into(), message.into())])
    }
}

/// Returns all values if there are no faults, and all faults otherwise. A fault that several
/// readers of one value report is returned once.
pub fn all<T>(results: impl IntoIterator<Item = Result<T, Faults>>) -> Result<Vec<T>, Faults> {
    let (mut values, mut faults) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(Faults(further)) => {
                for fault in further {
                    if !faults.contains(&fault) {
                        faults.push(fault);
                    }
                }
            }
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(Faults(faults)) }
}

/// Prints one line for each fault.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.0.iter().map(|(place, message)| match place.as_str() {
            "" => message.clone(),
            place => format!("{place}: {message}"),
        });
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

impl std::error::Error for Faults {}
