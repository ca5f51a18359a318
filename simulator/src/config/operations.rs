//! Checks the names of operations in the settings.

use super::Config;
use crate::{contract::Contract, error::StartError};

impl Config {
    /// Rejects a setting for an operation that does not exist.
    pub(crate) fn check_operations(&self, contract: &Contract) -> Result<(), StartError> {
        let tables = [
            ("ready_after_of", self.ready_after_of.keys().collect::<Vec<_>>()),
            ("output_format_of", self.output_format_of.keys().collect()),
            ("prices.of", self.prices.of.keys().collect()),
            ("organizations.projects.endpoints", self.endpoints().collect()),
        ];
        for (setting, patterns) in tables {
            for pattern in patterns {
                let problem =
                    |problem| StartError::setting(setting, format!("is invalid: {problem}"));
                contract.check_pattern(pattern).map_err(problem)?;
            }
        }
        Ok(())
    }

    fn endpoints(&self) -> impl Iterator<Item = &String> {
        let projects = self.organizations.iter().flat_map(|organization| &organization.projects);
        projects.flat_map(|project| project.endpoints.iter().flatten())
    }
}
