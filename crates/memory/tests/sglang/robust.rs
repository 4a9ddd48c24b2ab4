//! Whatever a log says, the reader neither panics nor grows.

use bystander_memory::sglang::SglangReader;
use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::reading::{ErrorSeen, LogLine};
use bystander_model::value::Value;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use crate::feed::{TRIAL, hit};

fn fragment() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        Just("[2026-11-29 13:31:46 TP1] "),
        Just("server_args=ServerArgs(mem_fraction_static="),
        Just("Load weight begin. avail mem="),
        Just("Load weight end. avail mem="),
        Just("KV Cache is allocated. #tokens: "),
        Just(", K size: "),
        Just(" GB, V size: "),
        Just("max_total_num_tokens="),
        Just("is larger than the profiled value "),
        Just("Current value: mem_fraction_static="),
        Just("page_size="),
    ];
    let number = prop_oneof![any::<f64>().prop_map(|n| n.to_string()), any::<i64>().prop_map(|n| n.to_string()), Just("0".to_owned())];
    prop_oneof![known.prop_map(str::to_owned), number, any::<String>()]
}

proptest! {
    #[test]
    fn arbitrary_lines_and_hits_are_survived(
        lines in proptest::collection::vec(proptest::collection::vec(fragment(), 0..6), 0..12),
        numbers in proptest::collection::vec(any::<f64>(), 5),
        message in any::<String>(),
    ) {
        let mut reader = SglangReader::new();
        for (parts, number) in lines.iter().zip(1..) {
            reader.line(&LogLine { stream: Stream::Stdout, number, time: TimeNs(0), text: &parts.concat() });
        }
        let names = ["total_gpu_memory", "available_gpu_memory", "x.mem_fraction_static", "cell_size", "rest_memory"];
        let values: Vec<_> = names.into_iter().zip(numbers).map(|(name, number)| (name, Value::Float(number))).collect();
        reader.hit(&hit(1, &values));
        let error = ErrorSeen { stream: Stream::Stderr, line: 1, kind: "E", message: &format!("Not enough memory. Please try to increase --mem-fraction-static{message}") };
        let reading = reader.finish(TRIAL, Some(&error));
        assert!(reading.class.is_some());
    }
}

#[test]
fn a_line_of_100_mb_is_read_at_its_start_alone() {
    let long = format!("[2026-11-29 13:31:46] Load weight begin. avail mem=3.66 GB{}", "é".repeat(50 << 20));
    let mut reader = SglangReader::new();
    reader.line(&LogLine { stream: Stream::Stderr, number: 1, time: TimeNs(0), text: &long });
    assert!(format!("{reader:?}").len() < 10_000);
}
