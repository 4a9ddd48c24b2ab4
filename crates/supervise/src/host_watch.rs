//! The memory of processes and of the machine over time, and how it is put together with that of GPUs.

use std::time::Duration;

use bystander_model::samples::Samples;

use crate::course::{Course, Told, Track};
use crate::gpu::{GpuWatch, Keep};
use crate::host_memory;

/// Points that are kept of each quantity.
const POINTS: usize = 256;

/// The sum of resident memory over some processes, and the memory that is left to the machine.
#[derive(Debug)]
pub(crate) struct HostTracks {
    rss: Track,
    available: Track,
}

impl Default for HostTracks {
    fn default() -> Self {
        Self { rss: Track::new(POINTS, Keep::Largest), available: Track::new(POINTS, Keep::Least) }
    }
}

impl HostTracks {
    /// Takes a sample of processes that hold so much together; looks at the machine. Gives what is left to it.
    pub(crate) fn take(&mut self, after: Duration, rss_bytes: u64, told: &Told) -> Option<u64> {
        self.rss.take(after, rss_bytes, told);
        let available = host_memory::available();
        available.into_iter().for_each(|bytes| self.available.take(after, bytes, told));
        available
    }

    /// The sum of resident memory at the last sample.
    pub(crate) fn rss_now(&self) -> Option<u64> {
        self.rss.last()
    }

    /// What was seen so far; phases and marks are for [`joined`].
    pub(crate) fn so_far(&self, told: &Told) -> Samples {
        Samples {
            peak_rss_bytes: self.rss.extreme().filter(|peak| *peak > 0),
            peak_rss_at: self.rss.moment(told),
            rss: self.rss.series(),
            least_available_bytes: self.available.extreme(),
            available: self.available.series(),
            ..Samples::default()
        }
    }
}

/// Everything that was seen, on one time axis.
pub(crate) fn joined(course: &Course, host: &mut HostTracks, gpus: Option<&GpuWatch>) -> Samples {
    let (mut phases, mut marks, mut samples) = {
        let told = course.told();
        host.rss.finish(&told);
        host.available.finish(&told);
        let mut phases = told.phases();
        for (id, phase) in &mut phases {
            phase.peak_rss_bytes = host.rss.in_phase(*id);
            phase.least_available_bytes = host.available.in_phase(*id);
        }
        let mut marks = told.marks().to_vec();
        for (number, mark) in marks.iter_mut().enumerate() {
            mark.rss_bytes = host.rss.at_mark(number);
        }
        (phases, marks, Samples { unmarked: told.unmarked_count(), ..host.so_far(&told) })
    };
    samples.gpus = gpus.map(|gpus| gpus.close(&mut phases, &mut marks)).unwrap_or_default();
    samples.phases = phases.into_iter().map(|(_, phase)| phase).collect();
    marks.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    samples.marks = marks;
    samples.find_strays();
    samples
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bystander_model::samples::MarkKind;

    use super::{HostTracks, joined};
    use crate::course::Course;

    #[test]
    fn memory_of_the_host_is_told_by_phase_and_at_marks_without_any_gpu() {
        let course = Course::default();
        let mut host = HostTracks::default();
        course.phase(0.0, "starting", None);
        for (at, rss) in [(0, 10), (500, 30), (1200, 90), (1500, 70)] {
            host.take(Duration::from_millis(at), rss, &course.told());
        }
        course.phase(1.0, "weight_load", Some("stderr:4"));
        course.mark(1.3, MarkKind::Hit, "kv rest=3", Some("probe/pid 7/0"));
        course.mark(0.6, MarkKind::Hit, "kv rest=2", None);
        let samples = joined(&course, &mut host, None);
        let phases: Vec<(&str, Option<u64>)> = samples.phases.iter().map(|phase| (phase.name.as_str(), phase.peak_rss_bytes)).collect();
        assert_eq!(phases, [("starting", Some(30)), ("weight_load", Some(90))]);
        assert_eq!(samples.phases[1].from.as_deref(), Some("stderr:4"));
        assert!(samples.phases.iter().all(|phase| phase.least_available_bytes.is_some() && phase.gpus.is_empty()));
        let marks: Vec<(f64, Option<u64>)> = samples.marks.iter().map(|mark| (mark.at_s, mark.rss_bytes)).collect();
        assert_eq!(marks, [(0.6, Some(30)), (1.3, Some(90))]);
        let at = samples.peak_rss_at.expect("there were samples");
        assert_eq!((samples.peak_rss_bytes, at.at_s, at.phase.as_deref()), (Some(90), 1.2, Some("weight_load")));
    }
}
