//! A Rust file as the rules see it: code without comments and strings, the strings, the paths it names.

// A private module of the test beside it.
#![allow(unreachable_pub)]

use std::path::{Path, PathBuf};

/// One file.
pub struct Source {
    /// Its path from the project's root, with `/`.
    pub path: String,
    /// The text as it is.
    pub text: String,
    /// The text with comments and the contents of literals blanked; same lines, same columns.
    pub code: String,
    /// The same, with everything under `#[cfg(test)]` blanked too.
    pub production: String,
    /// String literals outside `#[cfg(test)]`: line and contents as written.
    pub strings: Vec<(usize, String)>,
}

impl Source {
    /// Takes a file apart.
    pub fn new(path: &str, text: &str) -> Self {
        let (code, literals) = blank_comments_and_literals(text);
        let all_test = path.starts_with("tests/") || path.ends_with("/tests.rs");
        let production = if all_test { code.replace(|c| c != '\n', " ") } else { blank_test_items(&code) };
        let strings = literals
            .into_iter()
            // The quotes stay in the code; where they are blanked the literal is part of a test.
            .filter(|(at, _)| production.as_bytes().get(*at).is_some_and(|b| *b == b'"'))
            .map(|(at, s)| (line_of(text, at), s))
            .collect();
        Self { path: path.to_owned(), text: text.to_owned(), code, production, strings }
    }

    /// Whether this is Rust; other files have rules about words and length only.
    pub fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|e| e == "rs")
    }

    /// The top module of a file below `src`; None for `lib.rs` and `main.rs`, and for files elsewhere.
    pub fn module(&self) -> Option<&str> {
        let first = self.path.strip_prefix("src/")?.split('/').next()?;
        let name = first.strip_suffix(".rs").unwrap_or(first);
        (!matches!(name, "lib" | "main")).then_some(name)
    }

    /// How many modules deep the file's own module is: 1 for `src/units.rs` and `src/sys/mod.rs`.
    fn depth(&self) -> usize {
        let below = self.path.strip_prefix("src/").unwrap_or(&self.path);
        below.split('/').filter(|p| !matches!(*p, "mod.rs" | "lib.rs" | "main.rs")).count()
    }

    /// Every path in the production code with the line it starts in, `use` trees multiplied out; `super` chains that
    /// reach the root of the crate are written with `crate`.
    pub fn paths(&self) -> Vec<(usize, Vec<String>)> {
        let mut found = paths(&self.production);
        for (_, path) in &mut found {
            let ups = path.iter().take_while(|s| *s == "super").count();
            if ups > 0 && ups >= self.depth() {
                path.splice(..ups, ["crate".to_owned()]);
            }
        }
        found
    }
}

/// All files of the project that are text, without what is built or recorded by tools.
pub fn project() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    walk(root, &mut files);
    files.sort();
    files
        .into_iter()
        .filter_map(|f| {
            let text = std::fs::read_to_string(&f).ok()?;
            let path = f.strip_prefix(root).ok()?.to_str()?.to_owned();
            Some(Source::new(&path, &text))
        })
        .collect()
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let skipped = ["target", ".git", "proptest-regressions"].iter().any(|s| name == *s);
        match entry.file_type() {
            Ok(t) if t.is_dir() && !skipped => walk(&entry.path(), files),
            Ok(t) if t.is_file() && !skipped => files.push(entry.path()),
            _ => {}
        }
    }
}

/// The line, from 1, of a byte offset.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The text with comments and literal contents blanked, and the string literals with the offset of their quote.
fn blank_comments_and_literals(text: &str) -> (String, Vec<(usize, String)>) {
    let src = text.as_bytes();
    let mut out: Vec<u8> = src.to_vec();
    let mut literals = Vec::new();
    let mut i = 0;
    while i < src.len() {
        let rest = &src[i..];
        let end = if rest.starts_with(b"//") {
            i + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            i + block_comment(rest)
        } else if let Some((quote, close, length)) = string(src, i) {
            literals.push((i + quote, text[i + quote + 1..i + close].to_owned()));
            blank(&mut out[i + quote + 1..i + close]);
            i += length;
            continue;
        } else if let Some(length) = character(rest) {
            i + length
        } else {
            i += 1;
            continue;
        };
        blank(&mut out[i..end]);
        i = end;
    }
    (String::from_utf8_lossy(&out).into_owned(), literals)
}

fn blank(bytes: &mut [u8]) {
    for b in bytes.iter_mut().filter(|b| **b != b'\n') {
        *b = b' ';
    }
}

fn block_comment(src: &[u8]) -> usize {
    let (mut depth, mut i) = (0, 0);
    while i < src.len() {
        match src[i..] {
            [b'/', b'*', ..] => {
                depth += 1;
                i += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return i;
                }
            }
            _ => i += 1,
        }
    }
    i
}

/// At a string literal: where its quote, its closing quote and its end are, counted from `at`.
fn string(src: &[u8], at: usize) -> Option<(usize, usize, usize)> {
    let rest = &src[at..];
    if at > 0 && is_word(src[at - 1]) {
        return None;
    }
    let prefix = rest.iter().take_while(|b| matches!(b, b'r' | b'b' | b'c')).count();
    let raw = rest[..prefix].contains(&b'r');
    let hashes = if raw { rest[prefix..].iter().take_while(|b| **b == b'#').count() } else { 0 };
    let quote = prefix + hashes;
    if prefix > 2 || rest.get(quote) != Some(&b'"') {
        return None;
    }
    let mut i = quote + 1;
    while i < rest.len() {
        match rest[i] {
            b'\\' if !raw => i += 2,
            b'"' if rest[i + 1..].iter().take(hashes).filter(|b| **b == b'#').count() == hashes => {
                return Some((quote, i, i + 1 + hashes));
            }
            _ => i += 1,
        }
    }
    None
}

/// At a character literal: its length. A lifetime is none.
fn character(src: &[u8]) -> Option<usize> {
    if src.first() != Some(&b'\'') {
        return None;
    }
    if src.get(1) == Some(&b'\\') {
        return src.iter().skip(3).position(|b| *b == b'\'').map(|p| p + 4);
    }
    // One character of up to four bytes, then the closing quote.
    let first = src.get(1)?;
    let width = match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    (src.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

/// Blanks each item behind `#[cfg(test)]`, up to its semicolon or the end of its braces.
fn blank_test_items(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    let mut from = 0;
    while let Some(at) = code[from..].find("#[cfg(test)]").map(|p| p + from) {
        let mut depth = 0usize;
        let mut end = code.len();
        for (i, b) in code.bytes().enumerate().skip(at) {
            match b {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && matches!(b, b'}' | b';') {
                end = i + 1;
                break;
            }
        }
        blank(&mut out[at..end]);
        from = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn is_word(b: u8) -> bool {
    b == b'_' || b.is_ascii_alphanumeric()
}

/// Words and marks of blanked code, `::` as one mark, with their lines.
pub fn tokens(code: &str) -> Vec<(usize, &str)> {
    let bytes = code.as_bytes();
    let (mut found, mut i, mut line) = (Vec::new(), 0, 1);
    while i < bytes.len() {
        let length = if is_word(bytes[i]) {
            bytes[i..].iter().take_while(|b| is_word(**b)).count()
        } else if bytes[i..].starts_with(b"::") {
            2
        } else {
            1
        };
        line += usize::from(bytes[i] == b'\n');
        if let Some(token) = code.get(i..i + length).filter(|t| !t.trim().is_empty()) {
            found.push((line, token));
        }
        i += length;
    }
    found
}

fn paths(code: &str) -> Vec<(usize, Vec<String>)> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let starts = is_word(tokens[i].1.as_bytes()[0]) && tokens.get(i + 1).is_some_and(|t| t.1 == "::");
        i = if starts { tree(&tokens, i, &[], &mut found) } else { i + 1 };
    }
    found
}

/// Reads one path or `use` tree from `i` on, adds its paths, and answers where it ends.
fn tree(
    tokens: &[(usize, &str)],
    mut i: usize,
    prefix: &[String],
    found: &mut Vec<(usize, Vec<String>)>,
) -> usize {
    let line = tokens.get(i).map_or(0, |t| t.0);
    let mut path = prefix.to_vec();
    while let Some((_, token)) = tokens.get(i) {
        if *token == "{" {
            i += 1;
            while tokens.get(i).is_some_and(|t| t.1 != "}") {
                let next = tree(tokens, i, &path, found);
                // `as name` and commas between the branches.
                i = next.max(i + 1);
                while tokens.get(i).is_some_and(|t| !matches!(t.1, "," | "}")) {
                    i += 1;
                }
                i += usize::from(tokens.get(i).is_some_and(|t| t.1 == ","));
            }
            return i + 1;
        }
        if !is_word(token.as_bytes()[0]) && *token != "*" {
            break;
        }
        path.push((*token).to_owned());
        i += 1;
        if tokens.get(i).is_none_or(|t| t.1 != "::") {
            break;
        }
        i += 1;
    }
    found.push((line, path));
    i
}
