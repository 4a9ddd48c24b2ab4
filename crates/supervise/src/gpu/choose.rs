//! Which GPUs are meant: by a list of an experiment, or by the variable that CUDA reads.

use super::{Driver, Gpu};

/// A GPU that is named and is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("find GPU {name}: this machine has {}", if *.gpus == 0 { "none".to_owned() } else { format!("GPU 0 to {}", .gpus - 1) })]
pub struct ChooseError {
    /// How it is named.
    pub name: String,
    /// How many there are.
    pub gpus: usize,
}

/// The GPUs of a list of indices and UUIDs; a UUID may be cut as long as it is one's alone, and the UUID of a slice (MIG) means the GPU that it lies on.
///
/// # Errors
/// The first name that none has.
pub fn named<'a>(names: &[String], gpus: &'a [Gpu], driver: Option<&Driver>) -> Result<Vec<&'a Gpu>, ChooseError> {
    let mut found: Vec<&Gpu> = Vec::new();
    for name in names {
        let gpu = one(name, gpus, driver).ok_or_else(|| ChooseError { name: name.clone(), gpus: gpus.len() })?;
        if found.iter().all(|known| known.uuid != gpu.uuid) {
            found.push(gpu);
        }
    }
    Ok(found)
}

/// The GPUs that a value of `CUDA_VISIBLE_DEVICES` leaves to a program. As for CUDA, what follows a name that none has is left out, and so is
/// everything where a name comes twice.
///
/// Indices are taken in the order of the bus, as the driver counts. CUDA counts so with `CUDA_DEVICE_ORDER=PCI_BUS_ID`, and wherever all GPUs are alike.
#[must_use]
pub fn visible<'a>(value: &str, gpus: &'a [Gpu], driver: Option<&Driver>) -> Vec<&'a Gpu> {
    let mut found: Vec<&Gpu> = Vec::new();
    for name in value.split(',').map(str::trim) {
        let Some(gpu) = one(name, gpus, driver) else { break };
        match found.iter().any(|known| known.uuid == gpu.uuid) {
            // Slices of one GPU have names of their own.
            true if name.starts_with("MIG-") => {}
            true => return Vec::new(),
            false => found.push(gpu),
        }
    }
    found
}

fn one<'a>(name: &str, gpus: &'a [Gpu], driver: Option<&Driver>) -> Option<&'a Gpu> {
    if let Ok(index) = name.parse::<u32>() {
        return gpus.iter().find(|gpu| gpu.index == index);
    }
    if let Some(slice) = name.strip_prefix("MIG-") {
        // Older drivers name a slice by its GPU: `MIG-GPU-UUID/1/0`.
        let parent = match slice.split('/').next().filter(|parent| parent.starts_with("GPU-")) {
            Some(parent) => parent.to_owned(),
            None => driver?.parent_of(name)?,
        };
        return gpus.iter().find(|gpu| gpu.uuid == parent);
    }
    let mut meant = gpus.iter().filter(|gpu| name.len() > "GPU-".len() && gpu.uuid.starts_with(name));
    let first = meant.next()?;
    meant.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::{ChooseError, named, visible};
    use crate::gpu::Gpu;

    fn gpus() -> Vec<Gpu> {
        let uuids = ["GPU-aa11-1", "GPU-aa22-2", "GPU-bb33-3"];
        (0..)
            .zip(uuids)
            .map(|(index, uuid)| Gpu { index, uuid: uuid.into(), name: "H".into(), total_bytes: 1, held_bytes: 0, holders: Vec::new() })
            .collect()
    }

    fn seen(value: &str) -> Vec<u32> {
        visible(value, &gpus(), None).iter().map(|gpu| gpu.index).collect()
    }

    #[test]
    fn the_variable_is_read_as_cuda_reads_it() {
        assert_eq!(seen("0,2"), [0, 2]);
        assert_eq!(seen(" 2 , 0 "), [2, 0]);
        assert_eq!(seen("GPU-bb33-3,1"), [2, 1]);
        assert_eq!(seen("GPU-bb"), [2], "a cut UUID that is one's alone");
        assert_eq!(seen("GPU-aa"), [0_u32; 0], "a cut UUID that two have");
        for none in ["", "-1", "NoDevFiles", "7,0", "GPU-"] {
            assert_eq!(seen(none), [0_u32; 0], "{none:?}");
        }
        assert_eq!(seen("1,-1,2"), [1], "what follows a name that none has is left out");
        assert_eq!(seen("1,1"), [0_u32; 0], "a name twice leaves nothing");
        assert_eq!(seen("MIG-GPU-aa22-2/1/0,MIG-GPU-aa22-2/2/0"), [1], "two slices of one GPU");
    }

    #[test]
    fn a_list_of_an_experiment_must_name_what_is_there() {
        let all = gpus();
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let found = named(&names(&["2", "GPU-bb33-3", "0"]), &all, None).expect("all are there");
        assert_eq!(found.iter().map(|gpu| gpu.index).collect::<Vec<_>>(), [2, 0], "each once");
        let missing = named(&names(&["0", "8"]), &all, None).expect_err("there are three");
        assert_eq!(missing, ChooseError { name: "8".into(), gpus: 3 });
        assert_eq!(missing.to_string(), "find GPU 8: this machine has GPU 0 to 2");
        assert_eq!(named(&names(&["0"]), &[], None).expect_err("no GPU").to_string(), "find GPU 0: this machine has none");
    }
}
