//! A page of text that is built from top to bottom: headings, wrapped paragraphs with a lead, tables.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use unicode_width::UnicodeWidthStr as _;

use crate::prose::{GLUE, wrap};
use crate::style::{Role, Style};

/// A page that is being written.
pub(crate) struct Page<'a> {
    style: &'a Style,
    text: String,
}

impl<'a> Page<'a> {
    pub(crate) fn new(style: &'a Style) -> Self {
        Self { style, text: String::new() }
    }

    pub(crate) fn style(&self) -> &Style {
        self.style
    }

    /// Starts a section.
    pub(crate) fn heading(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let title = self.style.paint(Role::Heading, title);
        self.text.push_str(&title);
        self.text.push('\n');
    }

    /// Writes a paragraph at the margin.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.led("", None, 0, text);
    }

    /// Writes a paragraph that is indented by two.
    pub(crate) fn indented(&mut self, text: &str) {
        self.led("  ", None, 2, text);
    }

    /// Writes a paragraph after a lead; its further lines are indented.
    pub(crate) fn led(&mut self, lead: &str, role: Option<Role>, indent: usize, text: &str) {
        let columns = self.style.width.saturating_sub(indent).max(20);
        let lead_columns = lead.width().saturating_sub(indent);
        let lines = wrap(text, columns, lead_columns);
        for (index, line) in lines.iter().enumerate() {
            let start = match (index, role) {
                (0, Some(role)) => self.style.paint(role, lead),
                (0, None) => lead.to_owned(),
                _ => " ".repeat(indent),
            };
            self.push_line(&format!("{start}{line}"));
        }
    }

    /// Writes a table without lines, wrapped to the width of the page.
    pub(crate) fn table(&mut self, header: &[String], rows: &[Vec<String>]) {
        let mut table = Table::new();
        let width = u16::try_from(self.style.width).unwrap_or(u16::MAX);
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        if !header.is_empty() {
            table.set_header(header.to_vec());
        }
        for row in rows {
            table.add_row(row.clone());
        }
        for line in table.lines() {
            // The columns come with one space before them; sections are indented by two.
            self.push_line(&format!(" {}", line.trim_end()));
        }
    }

    /// Writes a line as it is.
    pub(crate) fn line(&mut self, line: &str) {
        self.push_line(line);
    }

    fn push_line(&mut self, line: &str) {
        self.text.push_str(&line.trim_end().replace(GLUE, " "));
        self.text.push('\n');
    }

    pub(crate) fn finish(self) -> String {
        self.style.signs(self.text)
    }
}
