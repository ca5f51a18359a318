//! The blocks of a Markdown page.

/// A paragraph, a heading, a table, a list or a block of code, with the empty lines after it.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub text: &'a str,
    pub is_code: bool,
}

/// Splits a page at its empty lines, and at the fences of its code. Nothing is lost.
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut place = 0;
    let mut fence: Option<&str> = None;
    let mut was_empty = true;
    for line in page.split_inclusive('\n') {
        let words = line.trim();
        let is_fence = words.starts_with("```") || words.starts_with("~~~");
        let begins = fence.is_none() && (is_fence || (was_empty && !words.is_empty()));
        if begins && start < place {
            found.push(block(&page[start..place]));
            start = place;
        }
        match fence {
            Some(open) if words == open => fence = None,
            None if is_fence => fence = Some(&words[..3]),
            _ => {}
        }
        was_empty = fence.is_none() && (words.is_empty() || is_fence);
        place += line.len();
    }
    if start < place {
        found.push(block(&page[start..place]));
    }
    found
}

fn block(text: &str) -> Block<'_> {
    let is_fenced = ["```", "~~~"].iter().any(|fence| text.trim_start().starts_with(fence));
    Block { text, is_code: is_fenced || text.starts_with("    ") }
}

impl Block<'_> {
    /// Returns the level of the heading that the block starts with.
    pub fn heading(&self) -> Option<usize> {
        let level = self.text.bytes().take_while(|&byte| byte == b'#').count();
        (!self.is_code && level > 0 && self.text[level..].starts_with(' ')).then_some(level)
    }

    /// Returns the anchor of the heading that the block starts with.
    pub fn anchor(&self) -> Option<String> {
        let level = self.heading()?;
        let title = self.text.lines().next()?[level..].trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect())
    }

    /// Returns the text without the sentences about a command that only works in a clone, if the
    /// block is a paragraph.
    pub fn without_cargo_kiln(&self) -> String {
        const COMMAND: &str = "`cargo kiln";
        let is_paragraph = !self.is_code && !self.text.starts_with(['#', '|', '-', '*']);
        if !is_paragraph || !self.text.contains(COMMAND) {
            return self.text.to_owned();
        }
        let (mut kept, mut start, mut in_code) = (String::new(), 0, false);
        for (place, character) in self.text.char_indices() {
            in_code ^= character == '`';
            let end = place + 1;
            let is_end = character == '.' && self.text[end..].starts_with([' ', '\n']);
            if is_end && !in_code {
                let sentence = &self.text[start..end];
                if !sentence.contains(COMMAND) {
                    kept.push_str(sentence);
                }
                start = end;
            }
        }
        // A paragraph without sentences has nothing to separate from the next one.
        let rest = if kept.is_empty() { "" } else { &self.text[start..] };
        kept.trim_start().to_owned() + rest
    }
}
