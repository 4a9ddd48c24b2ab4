//! Stacks as text: what is kept beside a trial's output, with the line of every process.

use super::{ProcessStacks, Python, Stacks};

impl Stacks {
    /// The stacks as lines, and for each process the index of its first line, from 0. `title` makes a title fit to be kept.
    #[must_use]
    pub fn lines(&self, title: &dyn Fn(&str) -> String) -> (Vec<String>, Vec<usize>) {
        let mut lines = Vec::new();
        let mut firsts = Vec::new();
        for process in &self.processes {
            firsts.push(lines.len());
            process.write(title, &mut lines);
        }
        (lines, firsts)
    }
}

impl ProcessStacks {
    fn write(&self, title: &dyn Fn(&str) -> String, lines: &mut Vec<String>) {
        let at = if self.main.at.is_empty() { String::new() } else { format!(" ({})", self.main.at) };
        let runs = if self.runs { "; one of its threads runs" } else { "" };
        let listens = if self.listens { "; listens on a socket" } else { "" };
        lines.push(format!("pid {}: {}", self.pid, one_line(&title(&self.title))));
        lines.push(format!("  main thread {}{at}{runs}{listens}", self.main.kind.words()));
        match &self.python {
            Python::None => {}
            Python::Unread { why } => lines.push(format!("  Python stacks could not be read: {}", one_line(why))),
            Python::Stacks { version, threads } => {
                for thread in threads {
                    let name = thread.name.as_deref().unwrap_or("without a name");
                    lines.push(format!("  Python {version}, thread {} (innermost entry last)", one_line(name)));
                    lines.extend(thread.frames.iter().map(|frame| {
                        format!("    File \"{}\", line {}, in {}", one_line(&frame.file), frame.line, one_line(&frame.function))
                    }));
                }
            }
        }
    }
}

/// A text that cannot break out of its line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
