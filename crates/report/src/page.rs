//! A page of text that is built from top to bottom: headings, wrapped paragraphs with a lead, tables.

use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};
use unicode_width::UnicodeWidthStr as _;

use crate::prose::{GLUE, wrap};
use crate::style::{Role, Style};

/// The blanks around a column.
const PADDING: usize = 2;

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

    /// Writes a table without lines, wrapped to the width of the page between words. Where the words of all columns do not fit beside each other, it
    /// becomes several tables, each with the first columns, which say what a row is about.
    pub(crate) fn table(&mut self, keys: usize, header: &[String], rows: &[Vec<String>]) {
        let columns = header.len().max(rows.iter().map(Vec::len).max().unwrap_or(0));
        let least: Vec<usize> = (0..columns).map(|column| longest_word(column, header, rows) + PADDING).collect();
        let groups = groups(keys, &least, self.style.width);
        for (index, group) in groups.iter().enumerate() {
            if index > 0 {
                self.push_line("");
            }
            let pick = |row: &[String]| group.iter().map(|column| row.get(*column).cloned().unwrap_or_default()).collect::<Vec<_>>();
            let head = if header.is_empty() { Vec::new() } else { pick(header) };
            let of_group: Vec<usize> = group.iter().map(|column| least[*column]).collect();
            self.one_table(&head, &rows.iter().map(|row| pick(row)).collect::<Vec<_>>(), &of_group);
        }
    }

    /// Writes a table whose columns are at least so wide, where that is possible.
    fn one_table(&mut self, header: &[String], rows: &[Vec<String>], least: &[usize]) {
        let mut table = Table::new();
        let width = u16::try_from(self.style.width).unwrap_or(u16::MAX);
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        if !header.is_empty() {
            table.set_header(header.to_vec());
        }
        for row in rows {
            table.add_row(row.clone());
        }
        // A table that fits as it is needs nothing; a lower bound would make others share what one column needs.
        let whole: usize = (0..least.len()).map(|column| longest_line(column, header, rows) + PADDING).sum();
        if self.style.width > 0 && whole > self.style.width && least.iter().sum::<usize>() <= self.style.width {
            for (column, least) in table.column_iter_mut().zip(least) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(u16::try_from(*least).unwrap_or(u16::MAX))));
            }
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

/// The longest word of a column, in columns of the screen.
fn longest_word(column: usize, header: &[String], rows: &[Vec<String>]) -> usize {
    cells(column, header, rows).flat_map(|cell| cell.split([' ', '\n'])).map(str::width).max().unwrap_or(0)
}

/// The longest line of a column, in columns of the screen.
fn longest_line(column: usize, header: &[String], rows: &[Vec<String>]) -> usize {
    cells(column, header, rows).flat_map(str::lines).map(str::width).max().unwrap_or(0)
}

fn cells<'a>(column: usize, header: &'a [String], rows: &'a [Vec<String>]) -> impl Iterator<Item = &'a str> {
    std::iter::once(header).chain(rows.iter().map(Vec::as_slice)).filter_map(move |row| row.get(column).map(String::as_str))
}

/// The columns of each table, all in one where they fit. The first `keys` columns are in each; one more is, whether it fits or not.
fn groups(keys: usize, least: &[usize], width: usize) -> Vec<Vec<usize>> {
    let keys = keys.min(least.len());
    if width == 0 || least.iter().sum::<usize>() <= width {
        return vec![(0..least.len()).collect()];
    }
    let taken: usize = least[..keys].iter().sum();
    let (mut groups, mut used) = (vec![(0..keys).collect::<Vec<usize>>()], taken);
    for (column, wide) in least.iter().enumerate().skip(keys) {
        if used + wide > width && groups.last().is_some_and(|group| group.len() > keys) {
            groups.push((0..keys).collect());
            used = taken;
        }
        used += wide;
        groups.last_mut().into_iter().for_each(|group| group.push(column));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::{Page, groups};
    use crate::style::Style;

    #[test]
    fn columns_that_do_not_fit_go_into_further_tables_with_the_first_ones() {
        assert_eq!(groups(1, &[5, 10, 10, 10], 40), [vec![0, 1, 2, 3]]);
        assert_eq!(groups(1, &[5, 10, 10, 10], 30), [vec![0, 1, 2], vec![0, 3]]);
        assert_eq!(groups(1, &[5, 90, 10], 30), [vec![0, 1], vec![0, 2]], "what is too wide alone stands alone");
        assert_eq!(groups(2, &[40, 40], 30), [vec![0, 1]]);
        assert_eq!(groups(0, &[], 30), [Vec::<usize>::new()]);
    }

    #[test]
    fn no_word_of_a_table_is_broken_where_there_is_room_for_it() {
        let header: Vec<String> = (0..14).map(|column| format!("instrument{column} (median, bytes)")).collect();
        let row: Vec<String> = (0..14).map(|column| format!("10,407,9{column:02} (n = 3)")).collect();
        for width in [44, 60, 80, 120, 200] {
            let style = Style { width, ..Style::default() };
            let mut page = Page::new(&style);
            page.table(2, &header, std::slice::from_ref(&row));
            let text = page.finish();
            for word in header.iter().chain(&row).flat_map(|cell| cell.split(' ')) {
                assert!(text.split_whitespace().any(|shown| shown == word), "{word} at {width}:\n{text}");
            }
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        }
    }
}
