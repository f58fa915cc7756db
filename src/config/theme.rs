//! Themes: a style for each role that text can have. Roles say what something means, not where it stands.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::color::{Color, ColorDepth};

/// How a role looks. Unset means: as what is below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent attributes of a terminal cell
pub struct Style {
    /// Colour of the text.
    pub fg: Option<Color>,
    /// Colour behind it.
    pub bg: Option<Color>,
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
    /// Underlined.
    pub underline: bool,
    /// Foreground and background exchanged.
    pub reverse: bool,
    /// Struck out.
    pub strike: bool,
}

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $key:literal,)*) => {
        /// What a piece of text means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Role {
            $($(#[$doc])* $name,)*
        }

        impl Role {
            /// All, in the order of the documentation.
            pub const ALL: &[Role] = &[$(Role::$name,)*];

            /// The key in a theme file.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self {
                    $(Role::$name => $key,)*
                }
            }
        }
    };
}

roles! {
    /// Everything that has no other role.
    Text = "text",
    /// What matters less: units, explanations, figures beside the point.
    Muted = "muted",
    /// The program's name, the titles of dialogs and panels.
    Title = "title",
    /// Column heads and group headings.
    Heading = "heading",
    /// The chosen row.
    Selected = "selected",
    /// A key in the footer and the help.
    Key = "key",
    /// Lines that separate and frame.
    Border = "border",
    /// What draws the eye without being a warning: the marker, the progress bar, the screen shown.
    Accent = "accent",
    /// It went as asked.
    Good = "good",
    /// Worth a look.
    Warning = "warning",
    /// It did not work, or would do harm.
    Danger = "danger",
    /// Reads: numbers and charts.
    Read = "read",
    /// Writes.
    Write = "write",
    /// What the engine counts, in the chart of a run.
    Engine = "engine",
    /// What the kernel counts, in the chart of a run.
    Kernel = "kernel",
    /// A setting that is not what it was at the start.
    Changed = "changed",
    /// A value that is chosen and not written.
    Staged = "staged",
    /// What can not be done now.
    Disabled = "disabled",
    /// A device that is gone.
    Gone = "gone",
}

/// A style for every role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    styles: Vec<Style>,
}

/// The themes that are part of the program, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("default", include_str!("../../themes/default.toml")),
    ("light", include_str!("../../themes/light.toml")),
    ("mono", include_str!("../../themes/mono.toml")),
];

/// Why a theme can not be used: the file, the line where there is one, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", At(*line))]
pub struct ThemeError {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong, and what would be right.
    pub message: String,
}

struct At(Option<usize>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

impl Theme {
    /// Finds the theme that `--theme` names: a file if the text has a slash or ends in `.toml`, else `NAME.toml` in
    /// `dir` (the person's own themes), else one that is built in.
    ///
    /// # Errors
    /// The file can not be read or is no theme, or there is no theme of that name.
    pub fn load(wanted: &str, dir: Option<&Path>) -> Result<Self, ThemeError> {
        let toml = Path::new(wanted).extension().is_some_and(|e| e == "toml");
        if wanted.contains('/') || toml {
            return Self::read(Path::new(wanted));
        }
        if let Some(path) = dir.map(|d| d.join(format!("{wanted}.toml"))).filter(|p| p.exists()) {
            return Self::read(&path);
        }
        if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == wanted) {
            return Self::parse(text, &format!("themes/{name}.toml"));
        }
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        let place = dir.map(|d| format!("; your own belong in {}", d.display())).unwrap_or_default();
        let message = format!("no such theme; built in are {}{place}", names.join(", "));
        Err(ThemeError { file: wanted.to_owned(), line: None, message })
    }

    fn read(path: &Path) -> Result<Self, ThemeError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &file),
            Err(e) => Err(ThemeError { file, line: None, message: format!("can not be read: {e}") }),
        }
    }

    /// Reads a theme: a table of roles. Roles that are left out look like `text`.
    ///
    /// # Errors
    /// It is not TOML, or has an unknown role, an unknown key or a colour that is none.
    pub fn parse(text: &str, file: &str) -> Result<Self, ThemeError> {
        let fail = |span: Option<Range<usize>>, message: String| ThemeError {
            file: file.to_owned(),
            line: span.map(|s| line_of(text, s.start)),
            message,
        };
        let table = DeTable::parse(text).map_err(|e| fail(e.span(), e.message().replace('\n', "; ")))?;
        let mut named: Vec<Option<Style>> = vec![None; Role::ALL.len()];
        for (key, value) in table.get_ref() {
            let name: &str = key.get_ref();
            let Some(at) = Role::ALL.iter().position(|r| r.key() == name) else {
                let roles: Vec<&str> = Role::ALL.iter().map(|r| r.key()).collect();
                let message = format!("unknown role {name:?}; roles are {}", roles.join(", "));
                return Err(fail(Some(key.span()), message));
            };
            named[at] = Some(style(value).map_err(|(span, message)| fail(Some(span), message))?);
        }
        let base = named[Role::Text as usize].unwrap_or_default();
        Ok(Self { styles: named.into_iter().map(|s| s.unwrap_or(base)).collect() })
    }

    /// The built-in theme of that name in full colour; the default one for a name that is not built in.
    #[must_use]
    pub fn built_in(name: &str) -> Self {
        let text = BUILT_IN.iter().find(|(n, _)| *n == name).map_or(BUILT_IN[0].1, |(_, text)| text);
        // A test reads every built-in theme, so the plain styles are never reached.
        Self::parse(text, name).unwrap_or(Self { styles: vec![Style::default(); Role::ALL.len()] })
    }

    /// The same theme with the nearest colours that the terminal has. Where it has none, roles that must not be
    /// missed get an attribute instead.
    #[must_use]
    pub fn at_depth(mut self, depth: ColorDepth) -> Self {
        for (role, style) in Role::ALL.iter().zip(&mut self.styles) {
            style.fg = style.fg.and_then(|c| c.at_depth(depth));
            style.bg = style.bg.and_then(|c| c.at_depth(depth));
            if depth == ColorDepth::None {
                stand_out(*role, style);
            }
        }
        self
    }

    /// How a role looks.
    #[must_use]
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }
}

impl Default for Theme {
    fn default() -> Self {
        Self::built_in("default")
    }
}

fn stand_out(role: Role, style: &mut Style) {
    match role {
        Role::Selected => style.reverse = true,
        Role::Staged | Role::Changed => style.underline = true,
        Role::Danger | Role::Warning | Role::Title | Role::Key | Role::Accent => style.bold = true,
        Role::Disabled | Role::Muted => style.dim = true,
        _ => {}
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|b| *b == b'\n').count() + 1
}

type Wrong = (Range<usize>, String);

/// A role's value: `"bold red on default"` or `{ fg = "red", bold = true }`.
fn style(value: &Spanned<DeValue<'_>>) -> Result<Style, Wrong> {
    let span = value.span();
    match value.get_ref() {
        DeValue::String(text) => short(text).map_err(|m| (span, m)),
        DeValue::Table(table) => {
            let mut style = Style::default();
            for (key, value) in table {
                one(&mut style, key, value)?;
            }
            Ok(style)
        }
        other => {
            let kind = other.type_str();
            Err((
                span,
                format!("a role is a text (\"bold red\") or a table ({{ fg = \"red\" }}), not {kind}"),
            ))
        }
    }
}

fn one<K: AsRef<str>>(
    style: &mut Style,
    key: &Spanned<K>,
    value: &Spanned<DeValue<'_>>,
) -> Result<(), Wrong> {
    let name = key.get_ref().as_ref();
    let (given, span) = (value.get_ref(), value.span());
    if let Some(switch) = switch(style, name) {
        let on = given.as_bool();
        *switch = on.ok_or_else(|| (span, format!("{name} is true or false, not {}", given.type_str())))?;
        return Ok(());
    }
    let slot = match name {
        "fg" => &mut style.fg,
        "bg" => &mut style.bg,
        _ => {
            let message =
                format!("unknown key {name:?}; keys are fg, bg, bold, dim, underline, reverse, strike");
            return Err((key.span(), message));
        }
    };
    let Some(text) = given.as_str() else {
        return Err((span, format!("{name} is a colour in quotes, not {}", given.type_str())));
    };
    *slot = Some(Color::parse(text).map_err(|m| (span, m))?);
    Ok(())
}

fn switch<'a>(style: &'a mut Style, key: &str) -> Option<&'a mut bool> {
    match key {
        "bold" => Some(&mut style.bold),
        "dim" => Some(&mut style.dim),
        "underline" => Some(&mut style.underline),
        "reverse" => Some(&mut style.reverse),
        "strike" => Some(&mut style.strike),
        _ => None,
    }
}

/// `"bold light-cyan on black"`: attributes, a colour, `on` and a colour, each of them optional.
fn short(text: &str) -> Result<Style, String> {
    let mut style = Style::default();
    let (front, back) = match text.split_once("on ") {
        Some((front, back)) if front.is_empty() || front.ends_with(' ') => (front, Some(back)),
        _ => (text, None),
    };
    let mut color = Vec::new();
    for word in front.split_whitespace() {
        match switch(&mut style, word) {
            Some(on) => *on = true,
            None => color.push(word),
        }
    }
    if !color.is_empty() {
        style.fg = Some(Color::parse(&color.join(" "))?);
    }
    style.bg = back.map(Color::parse).transpose()?;
    Ok(style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_built_in_theme_is_read_and_names_every_role() {
        for (name, text) in BUILT_IN {
            Theme::parse(text, name).unwrap();
            let table = DeTable::parse(text).unwrap();
            for role in Role::ALL {
                assert!(table.get_ref().keys().any(|k| k.get_ref() == role.key()), "{name}: {}", role.key());
            }
        }
    }

    #[test]
    fn mono_has_no_colour_and_no_colour_has_none() {
        let mono = Theme::built_in("mono");
        let bare = Theme::built_in("default").at_depth(ColorDepth::None);
        for theme in [&mono, &bare] {
            for role in Role::ALL {
                let s = theme.style(*role);
                assert!(s.fg.is_none_or(|c| c == Color::Default) && s.bg.is_none_or(|c| c == Color::Default));
            }
            assert_ne!(theme.style(Role::Selected), theme.style(Role::Text));
            assert_ne!(theme.style(Role::Staged), theme.style(Role::Text));
        }
    }

    #[test]
    fn both_forms_of_a_role_say_the_same() {
        let a = Theme::parse("good = \"bold underline light green on #102030\"", "a").unwrap();
        let table = "good = { fg = \"light-green\", bg = \"#102030\", bold = true, underline = true }";
        let b = Theme::parse(table, "b").unwrap();
        assert_eq!(a.style(Role::Good), b.style(Role::Good));
        assert_eq!(a.style(Role::Text), Style::default());
        let back = Theme::parse("good = \"on red\"", "c").unwrap().style(Role::Good);
        assert_eq!((back.fg, back.bg), (None, Some(Color::Ansi(1))));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let cases = [
            ("text = \"red\"\n\nacent = \"red\"\n", 3, "unknown role \"acent\"; roles are text, muted"),
            ("text = \"reddish\"", 1, "\"reddish\" is no colour"),
            ("# a\ntext = { fg = \"red\", blink = true }", 2, "unknown key \"blink\"; keys are fg, bg"),
            ("text = { bold = \"yes\" }", 1, "bold is true or false, not string"),
            ("\ntext = 7", 2, "a role is a text"),
            ("[text]\nfg = \"#12\"", 2, "is no colour"),
            ("text = ", 1, ""),
        ];
        for (text, line, part) in cases {
            let e = Theme::parse(text, "themes/x.toml").unwrap_err();
            assert_eq!(e.line, Some(line), "{text:?}: {e}");
            let shown = e.to_string();
            assert!(shown.starts_with(&format!("themes/x.toml:{line}: ")) && shown.contains(part), "{shown}");
        }
    }

    #[test]
    fn own_themes_come_before_built_in_ones() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mono.toml"), "text = \"red\"").unwrap();
        let own = Theme::load("mono", Some(dir.path())).unwrap();
        assert_eq!(own.style(Role::Text).fg, Some(Color::Ansi(1)));
        assert_eq!(Theme::load("mono", None).unwrap(), Theme::built_in("mono"));
        let file = dir.path().join("mono.toml");
        assert_eq!(Theme::load(file.to_str().unwrap(), None).unwrap(), own);
        let e = Theme::load("sepia", Some(dir.path())).unwrap_err().to_string();
        assert!(e.starts_with("sepia: no such theme; built in are default, light, mono"), "{e}");
        let e = Theme::load("./nowhere.toml", None).unwrap_err().to_string();
        assert!(e.starts_with("./nowhere.toml: can not be read: "), "{e}");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(s in "\\PC{0,80}(\n\\PC{0,40}){0,3}") {
            let _ = Theme::parse(&s, "x");
        }
    }
}
