//! The GPUs of this machine: driver, memory, and who holds it.

use bystander_host::machine::gpu_findings;
use bystander_model::printed::Finding;

use super::{finding, optional};

/// What is said of GPUs: one finding for all.
pub(super) fn findings() -> Vec<Finding> {
    let found = gpu_findings().map(|cards| cards.join("; "));
    vec![optional(finding("GPUs", found, "install the NVIDIA driver, where there is a GPU"))]
}
