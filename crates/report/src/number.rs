//! Numbers as a person reads them: six digits, grouped thousands, a true minus sign; or exact, for the rows of hits. JSON never goes through here.

use bystander_model::budget::{Figure, without_noise};
use bystander_model::value::{ObjectValue, Value};

use crate::prose::{clean, shorten};

/// Numbers of this size and above get their thousands grouped; line numbers and the like stay as they are.
const GROUPED_FROM: usize = 5;
/// Strings are cut to this many columns where many values stand side by side.
const TEXT_COLUMNS: usize = 40;

/// Writes a number with at most six significant digits.
pub(crate) fn figure(x: f64) -> String {
    if x.is_nan() {
        return "not a number".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "infinite" } else { "\u{2212}infinite" }.to_owned();
    }
    let size = x.abs();
    if size != 0.0 && !(1e-6..1e15).contains(&size) {
        return format!("{x:.5e}").replace('-', "\u{2212}");
    }
    let whole_digits = if size < 1.0 { leading_zeros(size) } else { size.log10().floor() as i32 };
    let decimals = usize::try_from(5 - whole_digits).unwrap_or(0);
    signed_text(&format!("{x:.decimals$}"))
}

/// The decimal exponent of a number below one.
fn leading_zeros(size: f64) -> i32 {
    if size == 0.0 { 5 } else { size.log10().floor() as i32 }
}

/// Writes an integer.
pub(crate) fn integer(n: i64) -> String {
    signed_text(&n.to_string())
}

/// Takes a plain decimal number apart: sign, whole part with groups, decimals without trailing zeros.
fn signed_text(plain: &str) -> String {
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain), |digits| ("\u{2212}", digits));
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let decimals = decimals.trim_end_matches('0');
    if decimals.is_empty() && whole == "0" {
        return "0".to_owned();
    }
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{decimals}", grouped(whole))
}

fn grouped(digits: &str) -> String {
    if digits.len() < GROUPED_FROM {
        return digits.to_owned();
    }
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a number with the range that its sources leave, where they leave one that can be seen.
pub(crate) fn ranged(x: Figure) -> String {
    let (value, low, high) = (figure(x.value), figure(x.low), figure(x.high));
    if low == high { value } else { format!("{value} ({low} to {high})") }
}

/// Writes GiB with three decimals, as engines log them; the same whether they were read from JSON or not.
pub(crate) fn gib(x: f64) -> String {
    let x = without_noise(x);
    if x.is_finite() { signed_text(&format!("{x:.3}")) } else { figure(x) }
}

/// Writes tokens: whole, since nobody has half of one.
pub(crate) fn tokens(x: f64) -> String {
    figure(x.floor())
}

/// Writes whole tokens with the range that their sources leave.
pub(crate) fn tokens_ranged(x: Figure) -> String {
    ranged(Figure { value: x.value.floor(), low: x.low.floor(), high: x.high.floor() })
}

/// Writes seconds with the digits that matter.
pub(crate) fn seconds(s: f64) -> String {
    let text = match s.abs() {
        size if size < 0.095 => format!("{s:.3}"),
        size if size < 9.95 => format!("{s:.1}"),
        _ => format!("{s:.0}"),
    };
    format!("{} s", if s.is_finite() { signed_text(&text) } else { figure(s) })
}

/// Writes a span that is only estimated: seconds up to ten minutes, then minutes, then hours.
pub(crate) fn about(s: f64) -> String {
    match s {
        _ if s < 600.0 || !s.is_finite() => seconds(s),
        _ if s < 7200.0 => format!("{:.0} min", s / 60.0),
        _ => format!("{:.0} h", s / 3600.0),
    }
}

/// Writes a size of memory, such as `812 MiB` or `21.4 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mib = bytes >> 20;
    if mib < 1024 { format!("{mib} MiB") } else { format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)) }
}

/// Gives an equation its signs: `-` and `*` between numbers become a true minus and a times sign.
pub(crate) fn equation(text: &str) -> String {
    let safe = clean(text);
    let spaced = safe.replace(" * ", " \u{d7} ").replace(" - ", " \u{2212} ");
    let mut signed = String::with_capacity(spaced.len());
    let mut characters = spaced.chars().peekable();
    let mut before = ' ';
    while let Some(c) = characters.next() {
        let leads_number = c == '-' && matches!(before, ' ' | '(') && characters.peek().is_some_and(char::is_ascii_digit);
        signed.push(if leads_number { '\u{2212}' } else { c });
        before = c;
    }
    signed
}

/// Writes a captured value in a few words.
pub(crate) fn value(captured: &Value) -> String {
    match captured {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(n) => integer(*n),
        // What a program holds is shown as it is, the sign of its zero too.
        Value::Float(x) if *x == 0.0 && x.is_sign_negative() => "\u{2212}0".to_owned(),
        Value::Float(x) => figure(*x),
        Value::Text(text) => quoted(text),
        Value::Object(object) => described(object, value),
    }
}

/// Writes a captured value with every digit that it has, as Python would: what is looked for in a log, or typed again.
pub(crate) fn exact(value: &Value) -> String {
    match value {
        Value::Int(n) => n.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Object(object) => described(object, exact),
        other => self::value(other),
    }
}

/// A text in quotes: what cannot be shown, or would move the cursor, is escaped once.
fn quoted(text: &str) -> String {
    format!("\"{}\"", shorten(&text.escape_debug().collect::<String>(), TEXT_COLUMNS))
}

/// Writes what is known of an object; `item` writes what it holds.
fn described(object: &ObjectValue, item: fn(&Value) -> String) -> String {
    if object.redacted {
        return "hidden".to_owned();
    }
    if let Some(error) = &object.error {
        return format!("could not be read ({})", clean(error));
    }
    let mut parts: Vec<String> = object.type_name.iter().map(|name| clean(name)).collect();
    parts.extend(object.shape.as_ref().map(|shape| format!("{shape:?}")));
    parts.extend(object.dtype.as_ref().map(|dtype| clean(dtype)));
    parts.extend(object.device.as_ref().map(|device| clean(device)));
    parts.extend(object.len.map(|len| format!("of {len}")));
    parts.extend(object.text.as_deref().map(quoted));
    if let Some(items) = &object.items {
        let few: Vec<String> = items.iter().take(4).map(item).collect();
        parts.push(format!("[{}{}]", few.join(", "), if items.len() > few.len() || object.truncated { ", \u{2026}" } else { "" }));
    }
    if let Some(entries) = &object.entries {
        let few: Vec<String> = entries.iter().take(4).map(|(key, entry)| format!("{}: {}", clean(key), item(entry))).collect();
        parts.push(format!("{{{}{}}}", few.join(", "), if entries.len() > few.len() || object.truncated { ", \u{2026}" } else { "" }));
    } else if object.truncated && object.items.is_none() {
        parts.push("(cut)".to_owned());
    }
    if parts.is_empty() { "unknown".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use bystander_model::budget::Figure;
    use bystander_model::value::{ObjectValue, Value};

    use super::{about, equation, figure, gib, integer, ranged, seconds, tokens, value};

    #[test]
    fn numbers_have_six_digits_groups_and_a_true_minus() {
        let cases = [
            (-20.602_550_1, "\u{2212}20.6026"),
            (0.769_179_4, "0.769179"),
            (0.55, "0.55"),
            (152_797.0, "152,797"),
            (-314_803.4, "\u{2212}314,803"),
            (1_234_567.0, "1,234,567"),
            (9999.0, "9999"),
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (0.000_012_345_67, "0.0000123457"),
            (1.5e-9, "1.50000e\u{2212}9"),
            (f64::NAN, "not a number"),
            (f64::NEG_INFINITY, "\u{2212}infinite"),
        ];
        for (x, text) in cases {
            assert_eq!(figure(x), text);
        }
        assert_eq!(integer(-12_345), "\u{2212}12,345");
        assert_eq!(gib(21.697), "21.697");
        assert_eq!(gib(-0.000_1), "0");
        assert_eq!(tokens(159_171.9), "159,171");
        assert_eq!((seconds(1.44), seconds(0.012), seconds(612.4)), ("1.4 s".into(), "0.012 s".into(), "612 s".into()));
        let estimates = [1.44, 599.0, 4087.0, 20_000.0].map(about);
        assert_eq!(estimates, ["1.4 s", "599 s", "68 min", "6 h"]);
    }

    #[test]
    fn a_range_is_shown_where_it_can_be_seen() {
        assert_eq!(ranged(Figure::exact(0.88)), "0.88");
        assert_eq!(ranged(Figure { value: -20.603, low: -20.61, high: -20.595 }), "\u{2212}20.603 (\u{2212}20.61 to \u{2212}20.595)");
    }

    #[test]
    fn equations_get_their_signs_and_names_keep_their_dashes() {
        let text = "rest = 21.697 - 93.999 * (1 - 0.55) = -20.603 GiB, mem-fraction (-1)";
        let wanted = "rest = 21.697 \u{2212} 93.999 \u{d7} (1 \u{2212} 0.55) = \u{2212}20.603 GiB, mem-fraction (\u{2212}1)";
        assert_eq!(equation(text), wanted);
    }

    #[test]
    fn values_are_said_in_a_few_words() {
        let tensor = ObjectValue {
            type_name: Some("torch.Tensor".into()),
            shape: Some(vec![2, 3]),
            dtype: Some("float16".into()),
            device: Some("cuda:0".into()),
            ..ObjectValue::default()
        };
        let list = ObjectValue {
            type_name: Some("list".into()),
            len: Some(9),
            items: Some((0..5).map(Value::Int).collect()),
            truncated: true,
            ..ObjectValue::default()
        };
        let cases = [
            (Value::Null, "None"),
            (Value::Bool(true), "True"),
            (Value::Text("a\x1b b\n\"c\\".into()), r#""a\u{1b} b\n\"c\\""#),
            (Value::Float(-0.0), "\u{2212}0"),
            (Value::Object(Box::new(tensor)), "torch.Tensor [2, 3] float16 cuda:0"),
            (Value::Object(Box::new(list)), "list of 9 [0, 1, 2, 3, \u{2026}]"),
            (Value::redacted(), "hidden"),
            (Value::error("AttributeError"), "could not be read (AttributeError)"),
            (Value::Object(Box::default()), "unknown"),
        ];
        for (captured, text) in cases {
            assert_eq!(value(&captured), text);
        }
    }
}
