//! What others took of the trial's GPUs while it ran: it was not alone there, and neither its memory nor its times are its own.

use bystander_lab::cause::Contamination;
use bystander_model::evidence::Evidence;
use bystander_model::ids::TrialId;
use bystander_model::samples::{GpuProcess, GpuSamples, KnownBy, Samples};
use bystander_supervise::gpu::Gpu;

use crate::local::before::words::size;

/// What is left to do about it.
const ADVICE: &str =
    "end it or wait until it is gone, name other GPUs (`gpus`), or raise `gpu_memory` where it is the trial's own and a daemon started it";

/// The GPUs of a trial of which others took more while it ran than they may hold before it, each with who did.
pub(in crate::local) fn took(allowed: u64, trial: TrialId, before: &[Gpu], samples: Option<&Samples>) -> Vec<Contamination> {
    let of = |gpu: &GpuSamples| {
        let then = before.iter().find(|known| known.uuid == gpu.uuid)?;
        let mut grown: Vec<(&GpuProcess, u64)> =
            gpu.processes.iter().filter_map(|process| Some((process, grown(then, process)?))).collect();
        grown.sort_by_key(|(process, more)| (std::cmp::Reverse(*more), process.pid));
        let taken = grown.iter().fold(0_u64, |sum, (_, more)| sum.saturating_add(*more));
        (taken > allowed).then(|| {
            let by: Vec<String> = grown.iter().map(|(process, more)| who(process, *more)).collect();
            let text = format!(
                "GPU {} ({}): while the trial ran, others took {} of it, more than the {} that `gpu_memory` in [conditions] allows: {}; {ADVICE}",
                gpu.index,
                gpu.name,
                size(taken),
                size(allowed),
                by.join(", ")
            );
            let evidence = vec![Evidence::sample(trial, &format!("nvml GPU {}", gpu.index), &text)];
            Contamination { class: "gpu_memory_held".to_owned(), text, evidence }
        })
    };
    samples.iter().flat_map(|samples| &samples.gpus).filter_map(of).collect()
}

/// How much more somebody else's process held at its most than before the trial. One that was not there then, and of which nothing could be seen, may have
/// been the trial's own, just ending.
fn grown(then: &Gpu, process: &GpuProcess) -> Option<u64> {
    let known = then.holders.iter().find(|holder| holder.host_pid == process.pid);
    let is_other = process.known_by == KnownBy::Other && (known.is_some() || process.title.is_some());
    // How much of what it held before was its own is not known where the driver did not tell.
    let held = known.map_or(Some(0), |holder| holder.bytes)?;
    process.peak_bytes.filter(|_| is_other).map(|peak| peak.saturating_sub(held)).filter(|more| *more > 0)
}

fn who(process: &GpuProcess, more: u64) -> String {
    let title = process.title.as_ref().map_or_else(String::new, |title| format!(" ({title})"));
    format!("{} by pid {}{title}", size(more), process.pid)
}

#[cfg(test)]
mod tests {
    use bystander_model::ids::TrialId;
    use bystander_model::samples::{GpuProcess, GpuSamples, KnownBy, Samples, Series};
    use bystander_supervise::gpu::{Gpu, GpuHolder};

    use super::took;

    const GIB: u64 = 1 << 30;
    const TRIAL: TrialId = TrialId(7);

    fn before(holders: &[(u32, Option<u64>)]) -> Gpu {
        let holders = holders.iter().map(|&(host_pid, bytes)| GpuHolder { host_pid, bytes, process: None }).collect();
        Gpu { index: 3, uuid: "GPU-3".into(), name: "H".into(), total_bytes: 80 * GIB, held_bytes: 0, holders }
    }

    fn process(pid: u32, known_by: KnownBy, title: Option<&str>, peak_bytes: Option<u64>) -> GpuProcess {
        GpuProcess {
            pid,
            known_by,
            title: title.map(str::to_owned),
            pid_here: None,
            peak_bytes,
            peak_at: None,
            last_bytes: peak_bytes,
            series: Series::default(),
        }
    }

    fn said(before: &Gpu, processes: Vec<GpuProcess>) -> Option<String> {
        let gpu = GpuSamples { index: 3, uuid: "GPU-3".into(), name: "H".into(), processes, ..GpuSamples::default() };
        let samples = Samples { gpus: vec![gpu], ..Samples::default() };
        let mut found = took(GIB, TRIAL, std::slice::from_ref(before), Some(&samples));
        assert!(found.iter().all(|found| found.class == "gpu_memory_held" && found.evidence.len() == 1));
        found.pop().map(|found| found.text)
    }

    #[test]
    fn who_came_and_who_grew_is_named_and_the_largest_first() {
        let came = |pid, bytes| process(pid, KnownBy::Other, Some("python3 serve.py"), Some(bytes));
        let text = said(&before(&[(9, Some(GIB / 2))]), vec![came(9, GIB), came(10, 40 * GIB)]).expect("is void");
        let expected = "GPU 3 (H): while the trial ran, others took 40.5 GiB of it, more than the 1.0 GiB that `gpu_memory` in [conditions] allows: \
                        40.0 GiB by pid 10 (python3 serve.py), 512 MiB by pid 9 (python3 serve.py); end it";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(said(&before(&[]), vec![came(9, GIB)]), None, "no more than is allowed");
        assert!(said(&before(&[]), vec![came(9, GIB), came(10, 1)]).is_some(), "together it is more");
        assert_eq!(said(&before(&[(9, Some(40 * GIB))]), vec![came(9, 40 * GIB)]), None, "it was there, and took nothing more");
    }

    #[test]
    fn the_trials_own_and_what_nobody_knows_void_nothing() {
        for own in [KnownBy::Tree, KnownBy::NsPid, KnownBy::Appearance] {
            assert_eq!(said(&before(&[]), vec![process(9, own, Some("x"), Some(40 * GIB))]), None, "{own:?}");
        }
        let other = |title, bytes| vec![process(9, KnownBy::Other, title, bytes)];
        assert_eq!(said(&before(&[]), other(None, Some(40 * GIB))), None, "it may have been the trial's, just ending");
        assert_eq!(said(&before(&[]), other(Some("x"), None)), None, "the driver does not tell");
        assert_eq!(said(&before(&[(9, None)]), other(Some("x"), Some(40 * GIB))), None, "nobody knows what it held before");
        assert!(said(&before(&[(9, Some(0))]), other(None, Some(2 * GIB))).is_some(), "it was there before the trial");
        assert!(took(0, TRIAL, &[before(&[])], None).is_empty());
    }
}
