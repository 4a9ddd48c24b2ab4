//! Where the probes go, said before the program is launched.

use bystander_model::probe::Delivery;
use bystander_model::watch::WatchStart;

use crate::page::Page;
use crate::prose::clean;
use crate::style::Style;

/// Says what is watched: each probe with the statement and side that were chosen, and the way in which it goes in.
#[must_use]
pub fn watch_places(start: &WatchStart, style: &Style) -> String {
    let mut page = Page::new(style);
    let python = start.python.as_ref().map_or_else(String::new, |version| format!(" (Python {version})"));
    page.led("watching ", None, 9, &format!("{}{python}", clean(&start.command.join(" "))));
    for probe in &start.probes {
        let file = probe.file.strip_prefix(&start.cwd).unwrap_or(&probe.file).display().to_string();
        let how = match probe.delivery {
            Delivery::Overlay => "by import in the process, nothing on disk changes",
            Delivery::Mount => "by a private mount, nothing on disk changes",
            Delivery::Patch => "by an edit on disk that is taken back",
            Delivery::Auto => "by the least disturbing way",
        };
        let unsafe_capture = if probe.spec.unsafe_capture { "; UNSAFE: captures may run code of the program" } else { "" };
        let limits = probe.limits.as_ref().map_or_else(String::new, |limits| format!("; {}", clean(limits)));
        let text = format!("{}: {} in {}; {how}{limits}{unsafe_capture}", clean(&file), clean(&probe.placed), clean(&probe.function));
        page.led(&format!("{:<9}", clean(&probe.spec.name)), None, 9, &text);
    }
    for note in &start.notes {
        page.led("note     ", None, 9, &clean(note));
    }
    page.finish()
}
