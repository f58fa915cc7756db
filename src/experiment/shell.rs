//! The words of a command that asks the same again, as a shell takes them.

/// A word that a shell reads as it is, between quotes where it has to be.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=,%+:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
