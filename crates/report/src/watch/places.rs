//! Where the probes go, said before the program is launched.

use bystander_model::watch::WatchStart;
use indexmap::IndexSet;

use crate::page::Page;
use crate::prose::clean;
use crate::style::Style;

/// Says what is watched: each probe with the statement and side that were chosen, and the way in which it goes in with what that cannot do.
#[must_use]
pub fn watch_places(start: &WatchStart, style: &Style) -> String {
    let mut page = Page::new(style);
    let python = start.python.as_ref().map_or_else(String::new, |version| format!(" (Python {version})"));
    page.led("watching ", None, 9, &format!("{}{python}", clean(&start.command.join(" "))));
    for probe in &start.probes {
        let file = probe.file.strip_prefix(&start.cwd).unwrap_or(&probe.file).display().to_string();
        let unsafe_capture = if probe.spec.unsafe_capture { "; UNSAFE: captures may run code of the program" } else { "" };
        let text = format!("{}: {} in {}{unsafe_capture}", clean(&file), clean(&probe.placed), clean(&probe.function));
        page.led(&format!("{:<9}", clean(&probe.spec.name)), None, 9, &text);
    }
    // Probes mostly share their way in: it is said once.
    let ways: IndexSet<&str> = start.probes.iter().filter_map(|probe| probe.limits.as_deref()).collect();
    for way in ways {
        page.led("         ", None, 9, &clean(way));
    }
    for note in &start.notes {
        page.led("note     ", None, 9, &clean(note));
    }
    page.finish()
}
