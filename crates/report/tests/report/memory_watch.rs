//! What a watch of memory looks like: on a screen of 80 columns, drawn while it goes on, in one line.

use bystander_model::memory::{FORMAT, SamplingCost, WatchEnding, WatchedMemory, WatchedSubject};
use bystander_model::samples::{
    GpuHeld, GpuProcess, GpuSamples, KnownBy, Mark, MarkKind, Moment, PhaseSamples, ProcessPeak, Samples, Series, Stray, StrayWhy,
};
use bystander_report::{Style, memory_live, memory_pulse, memory_watch_text};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn moment(at_s: f64, phase: &str) -> Option<Moment> {
    Some(Moment { at_s, phase: Some(phase.to_owned()) })
}

fn process(pid: u32, peak: Option<u64>, known_by: KnownBy) -> GpuProcess {
    GpuProcess {
        pid,
        title: (known_by != KnownBy::Appearance).then(|| "/usr/bin/python3 -m sglang.launch_server --model-path x".to_owned()),
        known_by,
        pid_here: None,
        peak_bytes: peak,
        peak_at: peak.and_then(|_| moment(41.0, "graph_capture")),
        last_bytes: peak.map(|peak| peak / 2),
        series: Series::default(),
    }
}

fn gpu(index: u32, peak: u64) -> GpuSamples {
    GpuSamples {
        index,
        uuid: format!("GPU-{index}"),
        name: "NVIDIA H200".into(),
        total_bytes: 80 * GIB,
        before_bytes: Some(100 * MIB),
        peak_bytes: Some(peak),
        peak_at: moment(41.0, "graph_capture"),
        last_bytes: Some(peak / 2),
        after_bytes: Some(peak / 2),
        series: Series(vec![(0.0, 100 * MIB), (10.0, peak / 4), (20.0, peak / 2), (41.0, peak), (50.0, peak / 2)]),
        processes: vec![process(812, Some(peak), KnownBy::Tree)],
        ..GpuSamples::default()
    }
}

fn phase(name: &str, at_s: f64, gib: u64, gpus: usize) -> PhaseSamples {
    PhaseSamples {
        name: name.into(),
        at_s,
        from: Some("stderr:7".into()),
        peak_rss_bytes: Some(gib * 50 * MIB),
        least_available_bytes: Some(100 * GIB),
        gpus: (0..gpus as u32).map(|index| GpuHeld { index, bytes: gib * GIB + u64::from(index) * MIB }).collect(),
    }
}

fn watched(gpus: usize) -> WatchedMemory {
    let samples = Samples {
        peak_rss_bytes: Some(3 * GIB),
        peak_rss_at: moment(30.0, "weight_load"),
        rss: Series(vec![(0.0, 10 * MIB), (10.0, 3 * GIB), (45.0, GIB)]),
        least_available_bytes: Some(100 * GIB),
        available: Series(vec![(0.0, 120 * GIB), (10.0, 100 * GIB)]),
        load_before: None,
        processes: vec![
            ProcessPeak {
                pid: 812,
                title: "python3 -m sglang".into(),
                peak_rss_bytes: 3 * GIB,
                peak_at: moment(30.0, "weight_load"),
                last_bytes: Some(GIB),
                series: Series::default(),
            },
            ProcessPeak { pid: 813, title: "cc1".into(), peak_rss_bytes: MIB, ..ProcessPeak::default() },
        ],
        gpus: (0..gpus as u32).map(|index| gpu(index, 72 * GIB)).collect(),
        phases: vec![
            phase("starting", 0.0, 1, gpus),
            phase("weight_load", 4.0, 36, gpus),
            phase("graph_capture", 38.5, 72, gpus),
            PhaseSamples { name: "serving".into(), at_s: 62.0, ..PhaseSamples::default() },
        ],
        marks: vec![Mark {
            at_s: 20.25,
            kind: MarkKind::Hit,
            text: "kv rank 0 rest_memory=-20.6".into(),
            from: Some("probe/pid 812/0".into()),
            rss_bytes: Some(2 * GIB),
            gpus: vec![GpuHeld { index: 0, bytes: 36 * GIB }],
        }],
        unmarked: 3,
    };
    WatchedMemory {
        format: FORMAT,
        what: WatchedSubject::Command { pid: 812, command: vec!["python3".into(), "-m".into(), "sglang.launch_server".into()] },
        ending: WatchEnding::CommandEnded,
        why: None,
        exit: Some(0),
        signal: None,
        wall_s: 63.0,
        interval_s: 0.1,
        driver: Some("580.1".into()),
        no_gpus: None,
        told_by: Some("Processes on GPUs are told by their numbers, which are those of this machine".into()),
        machine_bytes: Some(128 * GIB),
        cost: SamplingCost { samples: 630, mean_ms: 0.42, gpu_samples: 625, gpu_mean_ms: 0.9, gpu_worst_ms: 12.4, processor_share: 0.0123 },
        samples,
        notes: Vec::new(),
    }
}

fn screen(watched: &WatchedMemory) -> String {
    memory_watch_text(watched, &Style::default())
}

#[test]
fn one_gpu_on_a_screen_of_eighty_columns() {
    let text = screen(&watched(1));
    insta::assert_snapshot!(text, @"
    `python3 -m sglang.launch_server` ended with exit 0 after 63 s: GPU 0 held at
    most 72.0 GiB of 80.0 GiB, at 41 s in graph capture; 36.0 GiB at the end.

    GPU 0            │                                       ▄▄▄▄▄▄▄▄▄
    of 80.0 GiB      │                                       █████████
                     │                   ▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂█████████▂▂▂▂▂▂▂▂▂▂▂▂▂
                     │         ▁▁▁▁▁▁▁▁▁▁██████████████████████████████████████████
                     │▁▁▁▁▁▁▁▁▁████████████████████████████████████████████████████
    resident 3.0 GiB │▁▁▁▁▁▁▁▁▁██████████████████████████████████▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃
    left 128.0 GiB   │█████████▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆
    phases            a  b                                 c                      d
                      0 s                                                      63 s

      phase            from  GPU 0      resident   left
      a starting       0 s   1.0 GiB    50 MiB     100.0 GiB
      b weight load    4 s   36.0 GiB   1.8 GiB    100.0 GiB
      c graph capture  38 s  72.0 GiB   3.5 GiB    100.0 GiB
      d serving        62 s  no sample  no sample  no sample

      at 20 s: kv rank 0 rest_memory=-20.6: GPU 0 36.0 GiB, 2.0 GiB resident
      and 3 moments more

      on GPU  pid  at most   when                at the end  process
      0       812  72.0 GiB  41 s graph capture  36.0 GiB    python3 -m sglang…

      resident  pid  when              at the end  process
      3.0 GiB   812  30 s weight load  1.0 GiB     python3 -m sglang
      and 1 more (--json has them)

    Every 0.1 s: 630 samples of the host, 0.4 ms each; 625 samples of all GPUs, 0.9
    ms each, 12 ms at most; 1.23 % of a processor in all. What rose and fell between
    two samples is not seen. Processes on GPUs are told by their numbers, which are
    those of this machine.
    ");
}

#[test]
fn any_number_of_gpus_fits_the_width_and_a_screen() {
    for gpus in [0, 1, 2, 4, 8, 16] {
        for width in [40, 80, 132] {
            let text = memory_watch_text(&watched(gpus), &Style { width, ..Style::default() });
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{gpus} GPUs in {width} columns:\n{text}");
            assert!(width < 80 || text.lines().count() <= 60, "{text}");
        }
    }
    let eight = screen(&watched(8));
    assert!(eight.contains("fullest GPU") && eight.contains("72.0 GiB (7)"), "{eight}");
}

#[test]
fn signs_are_plain_where_they_must_be() {
    let text = memory_watch_text(&watched(2), &Style { unicode: false, ..Style::default() });
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn what_is_wrong_is_said_before_the_chart() {
    let mut watched = watched(2);
    let strays = [(900, 480), (901, 500), (902, 510), (903, 520)];
    watched.samples.gpus[1].strays =
        strays.map(|(pid, mib)| Stray { pid, bytes: Some(mib * MIB), why: StrayWhy::AtHomeOn { index: 0 } }).into_iter().collect();
    watched.samples.gpus[0].strays = vec![Stray { pid: 77, bytes: Some(300 * MIB), why: StrayWhy::BesideRank { pid: 812 } }];
    watched.samples.gpus[1].processes = vec![process(5, None, KnownBy::Appearance), process(6, None, KnownBy::Other)];
    watched.samples.gpus[1].silent_from_s = Some(40.0);
    let folded = screen(&watched).split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "note: stray contexts on GPU 0: 1 process more than ranks, with 300 MiB (it has a context of its own there): pid 77 300 MiB, beside pid 812",
        "stray contexts on GPU 1: 4 processes more than ranks, with 2.0 GiB (each has a context of its own there): pid 900 480 MiB, most of its memory is on \
         GPU 0; pid 901 500 MiB, most of its memory is on GPU 0; pid 902 510 MiB, most of its memory is on GPU 0; and 1 more",
        "the driver does not tell how much 2 processes on GPU 1 hold",
        "GPU 1 did not answer any more from 40 s on",
        "not visible here (came while this was watched)",
        "not told",
    ] {
        assert!(folded.contains(said), "{said:?} is missing in\n{}", screen(&watched));
    }
    assert!(!folded.contains(" 0 MiB "), "what is not told is no zero:\n{}", screen(&watched));
}

#[test]
fn the_answer_fits_every_end() {
    let first = |watched: &WatchedMemory| screen(watched).lines().take(2).collect::<Vec<_>>().join(" ");
    let mut one = watched(1);
    (one.exit, one.signal) = (None, Some(9));
    assert!(first(&one).contains("ended with signal 9 after 63 s"), "{}", first(&one));
    one.ending = WatchEnding::Interrupted;
    assert!(first(&one).contains("was stopped by you (signal 9)"), "{}", first(&one));
    one.why = Some("its lease of 10 s was over".into());
    assert!(first(&one).contains("was stopped after 63 s (signal 9): its lease of 10 s was over"), "{}", first(&one));
    one.what = WatchedSubject::Machine;
    assert!(first(&one).contains("watched for 63 s, until its lease of 10 s was over"), "{}", first(&one));
    one.what = WatchedSubject::Process { pid: 4, title: "evil \u{1b}[31m".into() };
    one.ending = WatchEnding::ProcessEnded;
    assert!(first(&one).starts_with("pid 4 (`evil \\u{1b}[31m`) ended after 63 s of watching"), "{}", first(&one));
    let mut none = watched(0);
    none.no_gpus = Some("there is no NVIDIA driver".into());
    let folded = screen(&none).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(folded.contains("its processes held at most 3.0 GiB together, at 30 s in weight load"), "{folded}");
    assert!(folded.contains("nothing is known of GPUs (there is no NVIDIA driver); this is the memory of the host"), "{folded}");
    none.what = WatchedSubject::Machine;
    assert!(first(&none).contains("at least 100.0 GiB of 128.0 GiB were left to the machine"), "{}", first(&none));
    none.samples = Samples::default();
    assert!(first(&none).contains("no sample saw any memory"), "{}", first(&none));
}

#[test]
fn what_is_held_now_is_a_line_each_and_one_for_who_reads_along() {
    let watched = watched(2);
    let style = Style { width: 79, ..Style::default() };
    let lines = memory_live(&watched.samples, 63.0, Some("graph_capture"), &style);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("GPU 0  ") && lines[0].ends_with("  36.0 GiB of 80.0 GiB, peak 72.0 GiB"), "{lines:?}");
    assert!(lines[2].ends_with("  1.0 GiB resident, peak 3.0 GiB, 100.0 GiB left") && lines[3] == "63 s, graph capture", "{lines:?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 79));
    let pulse = memory_pulse(&watched.samples, 63.0, Some("graph_capture"));
    let wanted = "63 s graph capture: GPU 0 36.0 GiB (peak 72.0 GiB), GPU 1 36.0 GiB (peak 72.0 GiB), 1.0 GiB resident, 100.0 GiB left";
    assert_eq!(pulse, wanted);
    assert_eq!(memory_live(&Samples::default(), 0.0, None, &style).len(), 2);
}

#[test]
fn a_machine_without_gpus_is_not_called_its_gpus() {
    let mut machine = watched(1);
    machine.what = WatchedSubject::Machine;
    machine.ending = WatchEnding::TimeOver;
    assert!(screen(&machine).starts_with("the GPUs of this machine, watched for"), "{}", screen(&machine));
    machine.no_gpus = Some("there is no NVIDIA driver".into());
    assert!(screen(&machine).starts_with("this machine, watched for"), "{}", screen(&machine));
}
