//! From two readings of a server's metrics to one number, and why there is none.

use bystander_lab::plan::{Pick, Series, When};

use super::prometheus::{Exposition, Kind, Sample};

/// A number, and how it came about, in words.
pub(crate) type Told = Result<(f64, String), String>;

/// Reads a series at a moment. `before` is absent where nobody asked then.
pub(crate) fn value(series: &Series, when: When, pick: Pick, before: Option<&Exposition<'_>>, after: Option<&Exposition<'_>>) -> Told {
    let at = |reading: Option<_>, moment| reading.ok_or_else(|| format!("the metrics were not read {moment} the workload"));
    match when {
        When::Before => of_moment(series, pick, at(before, "before")?),
        When::After => of_moment(series, pick, at(after, "after")?),
        When::Delta => of_interval(series, pick, at(before, "before")?, at(after, "after")?),
    }
}

/// How a name is found in an answer.
enum Found<'e, 'a> {
    Plain(Vec<&'e Sample<'a>>),
    /// Sums with their counts.
    Observed(Vec<(&'e Sample<'a>, &'e Sample<'a>)>),
}

fn find<'e, 'a>(series: &Series, reading: &'e Exposition<'a>) -> Option<Found<'e, 'a>> {
    let plain = reading.select(&series.name, series);
    if !plain.is_empty() && reading.kind(&series.name) != Kind::Observations {
        return Some(Found::Plain(plain));
    }
    // Documentation and the clients' own code leave `_total` out.
    let total = reading.select(&format!("{}_total", series.name), series);
    if !total.is_empty() {
        return Some(Found::Plain(total));
    }
    let counts = reading.select(&format!("{}_count", series.name), series);
    let observed: Vec<_> = reading
        .select(&format!("{}_sum", series.name), series)
        .into_iter()
        .filter_map(|sum| Some((sum, *counts.iter().find(|count| count.key() == sum.key())?)))
        .collect();
    (!observed.is_empty()).then_some(Found::Observed(observed)).or_else(|| (!plain.is_empty()).then_some(Found::Plain(plain)))
}

fn absent(series: &Series, reading: &Exposition<'_>) -> String {
    let same: Vec<&Sample<'_>> = reading.samples.iter().filter(|sample| sample.name == series.name.as_str()).collect();
    if let Some(sample) = same.first() {
        return format!("no series `{series}`; there is {}", shown(sample));
    }
    let near = reading.names().filter(|name| name.contains(series.name.as_str()) || series.name.contains(name)).take(3);
    let near: Vec<String> = near.map(|name| format!("`{name}`")).collect();
    let hint = if near.is_empty() { String::new() } else { format!("; there are {}", near.join(", ")) };
    format!("no series `{series}` among {}{hint}", reading.samples.len())
}

fn shown(sample: &Sample<'_>) -> String {
    let labels: Vec<String> = sample.labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    format!("{}{labels} {} (line {})", sample.name, sample.value, sample.line)
}

fn of_moment(series: &Series, pick: Pick, reading: &Exposition<'_>) -> Told {
    match find(series, reading).ok_or_else(|| absent(series, reading))? {
        Found::Plain(samples) => {
            let values: Vec<(f64, String)> = samples.iter().map(|sample| (sample.value, shown(sample))).collect();
            reduce(pick, &values)
        }
        Found::Observed(pairs) => means(pick, &pairs.iter().map(|(sum, count)| (sum.value, count.value, shown(sum))).collect::<Vec<_>>()),
    }
}

fn of_interval(series: &Series, pick: Pick, before: &Exposition<'_>, after: &Exposition<'_>) -> Told {
    let (old, new) = (find(series, before), find(series, after).ok_or_else(|| absent(series, after))?);
    match new {
        Found::Plain(samples) => {
            let counts = samples.first().is_some_and(|sample| after.kind(&sample.name) == Kind::Counter);
            let old = if let Some(Found::Plain(old)) = old { old } else { Vec::new() };
            let values = samples.iter().map(|sample| {
                let from = start(sample, &old, counts)?;
                Ok((sample.value - from, format!("{from} \u{2192} {}", shown(sample))))
            });
            reduce(pick, &values.collect::<Result<Vec<_>, String>>()?)
        }
        Found::Observed(pairs) => {
            let old = if let Some(Found::Observed(old)) = old { old } else { Vec::new() };
            let (sums, counts): (Vec<&Sample<'_>>, Vec<&Sample<'_>>) = old.into_iter().unzip();
            let grown = pairs.iter().map(|(sum, count)| {
                let (from_sum, from_count) = (start(sum, &sums, false)?, start(count, &counts, true)?);
                let text = format!("{from_sum} \u{2192} {}, {from_count} \u{2192} {}", shown(sum), shown(count));
                Ok((sum.value - from_sum, count.value - from_count, text))
            });
            means(pick, &grown.collect::<Result<Vec<_>, String>>()?)
        }
    }
}

/// The value before: a series that was not there yet had counted nothing.
fn start(sample: &Sample<'_>, old: &[&Sample<'_>], counts: bool) -> Result<f64, String> {
    let key = sample.key();
    let from = old.iter().find(|before| before.key() == key).map_or(0.0, |before| before.value);
    if counts && sample.value < from {
        return Err(format!("{} is below the {from} of before: the server was started anew in between", shown(sample)));
    }
    Ok(from)
}

fn means(pick: Pick, observed: &[(f64, f64, String)]) -> Told {
    let some: Vec<&(f64, f64, String)> = observed.iter().filter(|(_, count, _)| *count > 0.0).collect();
    let Some(first) = some.first() else { return Err("nothing was observed, so there is no mean".to_owned()) };
    match pick {
        _ if some.len() == 1 => Ok((first.0 / first.1, format!("mean of {} observations: {}", first.1, first.2))),
        Pick::Only => Err(several(observed.len(), &first.2)),
        // Weighted by their counts: the mean of what was observed, wherever it was.
        Pick::Mean => {
            let (sum, count) = some.iter().fold((0.0, 0.0), |(sum, count), (s, c, _)| (sum + s, count + c));
            Ok((sum / count, format!("mean of {count} observations: {}", texts(some.iter().map(|one| &one.2)))))
        }
        Pick::Sum => Err("a sum of means says nothing; write pick = \"mean\"".to_owned()),
        pick => reduce(pick, &some.iter().map(|(sum, count, text)| (sum / count, text.clone())).collect::<Vec<_>>()),
    }
}

fn several(count: usize, first: &str) -> String {
    format!("{count} series match, so none counts, such as {first}: add a label or a `pick`")
}

fn reduce(pick: Pick, values: &[(f64, String)]) -> Told {
    let Some((first, text)) = values.first() else { return Err("no series".to_owned()) };
    if values.len() == 1 {
        return Ok((*first, text.clone()));
    }
    let all = || texts(values.iter().map(|value| &value.1));
    let least = |a: &&(f64, String), b: &&(f64, String)| a.0.total_cmp(&b.0);
    match pick {
        Pick::Only | Pick::First | Pick::Last => Err(several(values.len(), text)),
        Pick::Min => values.iter().min_by(least).cloned().ok_or_else(all),
        Pick::Max => values.iter().max_by(least).cloned().ok_or_else(all),
        Pick::Sum => Ok((values.iter().map(|value| value.0).sum(), all())),
        Pick::Mean => Ok((values.iter().map(|value| value.0).sum::<f64>() / values.len() as f64, all())),
    }
}

/// A few texts in a row.
fn texts<'a>(texts: impl ExactSizeIterator<Item = &'a String>) -> String {
    const SHOWN: usize = 3;
    let more = texts.len().saturating_sub(SHOWN);
    let shown: Vec<&str> = texts.take(SHOWN).map(String::as_str).collect();
    if more > 0 { format!("{}; and {more} more", shown.join("; ")) } else { shown.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::value;
    use crate::scrape::prometheus::Exposition;
    use bystander_lab::plan::{Pick, Series, When};

    const BEFORE: &str = "# TYPE c_total counter\nc_total{e=\"0\"} 10\nc_total{e=\"1\"} 5\n# TYPE g gauge\ng 0.5\n\
        # TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n";
    const AFTER: &str = "# TYPE c_total counter\nc_total{e=\"0\"} 30\nc_total{e=\"1\"} 6\nc_total{e=\"2\"} 4\n# TYPE g gauge\ng 0.25\n\
        # TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 6\nh_sum 11\nh_count 6\n";

    fn read(series: &str, when: When, pick: Pick) -> Result<f64, String> {
        let (before, after) = (Exposition::parse(BEFORE), Exposition::parse(AFTER));
        value(&Series::parse(series).expect("a series"), when, pick, Some(&before), Some(&after)).map(|told| told.0)
    }

    #[test]
    fn counters_are_counted_from_before_to_after() {
        assert_eq!(read("c_total{e=\"0\"}", When::Delta, Pick::Only), Ok(20.0));
        assert_eq!(read("c{e=\"0\"}", When::Delta, Pick::Only), Ok(20.0), "as documentation names it");
        assert_eq!(read("c_total", When::Delta, Pick::Sum), Ok(25.0), "a series that came in between began at nothing");
        assert_eq!(read("c_total", When::Before, Pick::Sum), Ok(15.0));
        assert_eq!((read("c_total", When::Delta, Pick::Max), read("c_total", When::Delta, Pick::Mean)), (Ok(20.0), Ok(25.0 / 3.0)));
    }

    #[test]
    fn gauges_are_as_they_are_and_may_fall() {
        assert_eq!((read("g", When::After, Pick::Only), read("g", When::Delta, Pick::Only)), (Ok(0.25), Ok(-0.25)));
    }

    #[test]
    fn histograms_give_the_mean_of_the_interval() {
        assert_eq!(read("h", When::Delta, Pick::Only), Ok(2.0));
        assert_eq!(read("h", When::After, Pick::Only), Ok(11.0 / 6.0));
        assert_eq!(read("h_count", When::Delta, Pick::Only), Ok(4.0));
        assert!(read("h", When::Delta, Pick::Sum).is_ok(), "one histogram has nothing to sum");
    }

    #[test]
    fn several_series_need_a_reduction_and_what_is_not_there_is_said() {
        assert!(read("c_total", When::Delta, Pick::Only).is_err_and(|why| why.contains("3 series match")));
        assert!(read("c_total{e=\"9\"}", When::Delta, Pick::Only).is_err_and(|why| why.contains("there is c_total")));
        assert!(read("ttft", When::Delta, Pick::Only).is_err_and(|why| why.contains("no series `ttft`")));
    }

    #[test]
    fn a_counter_that_fell_has_no_difference() {
        let (before, after) = (Exposition::parse("c_total 5\n"), Exposition::parse("c_total 3\n"));
        let told = value(&Series::parse("c_total").expect("a series"), When::Delta, Pick::Only, Some(&before), Some(&after));
        assert!(told.is_err_and(|why| why.contains("started anew")));
        let told = value(&Series::parse("c_total").expect("a series"), When::Delta, Pick::Only, None, Some(&after));
        assert!(told.is_err_and(|why| why.contains("not read before")));
    }
}
