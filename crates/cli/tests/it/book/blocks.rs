//! The blocks of code on a page.

pub struct Block {
    /// The text after the fence.
    pub language: String,
    pub code: String,
    /// The number of the fence's line, from 1.
    pub line: usize,
    /// The indentation of the fence.
    indent: usize,
}

/// The fenced blocks of a page. Other blocks of code have no language, so the book has none.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in page.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                let indent = line.len() - line.trim_start().len();
                let language = language.to_owned();
                open = Some(Block { language, code: String::new(), line: number + 1, indent });
            }
            (None, None) => {}
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => {
                block.code.push_str(line.get(block.indent..).unwrap_or_default());
                block.code.push('\n');
            }
        }
    }
    assert!(open.is_none(), "a block has no end");
    found
}
