//! Colours, what a terminal can show of them, and the nearest it can.

use std::fmt;

/// A colour of a theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Color {
    /// The terminal's own.
    Default,
    /// One of the terminal's sixteen, in the order of the escape codes: black 0 to white 7, bright 8 to 15.
    Ansi(u8),
    /// One of the 256: 0 to 15 as above, then the cube and the greys.
    Indexed(u8),
    /// 24 bits.
    Rgb(u8, u8, u8),
}

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorDepth {
    /// No colour; bold, dim, underline and reverse only.
    None,
    /// The sixteen.
    Ansi16,
    /// The 256.
    Indexed256,
    /// 24 bits.
    True,
}

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// As the environment says.
    #[default]
    Auto,
    /// Colour even with `NO_COLOR`.
    Always,
    /// No colour.
    Never,
}

/// The environment variables that tell what a terminal can show, as the caller read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalHints<'a> {
    /// `NO_COLOR`: any text but the empty one asks for no colour (no-color.org).
    pub no_color: Option<&'a str>,
    /// `COLORTERM`: `truecolor` or `24bit`.
    pub colorterm: Option<&'a str>,
    /// `TERM`.
    pub term: Option<&'a str>,
}

impl ColorDepth {
    /// What to use, from the choice and the environment.
    #[must_use]
    pub fn choose(choice: ColorChoice, hints: TerminalHints<'_>) -> Self {
        let able = Self::able(hints);
        match choice {
            ColorChoice::Never => Self::None,
            ColorChoice::Always => able.max(Self::Ansi16),
            ColorChoice::Auto if hints.no_color.is_some_and(|v| !v.is_empty()) => Self::None,
            ColorChoice::Auto => able,
        }
    }

    fn able(hints: TerminalHints<'_>) -> Self {
        let term = hints.term.unwrap_or_default();
        if matches!(hints.colorterm, Some("truecolor" | "24bit")) || term.ends_with("-direct") {
            Self::True
        } else if term.contains("256color") {
            Self::Indexed256
        } else if matches!(term, "" | "dumb") || term.starts_with("vt1") || term.starts_with("vt2") {
            Self::None
        } else {
            Self::Ansi16
        }
    }
}

/// The names of the sixteen, in the order of the escape codes.
const NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "gray",
    "dark-gray",
    "light-red",
    "light-green",
    "light-yellow",
    "light-blue",
    "light-magenta",
    "light-cyan",
    "white",
];

/// What is usually seen for the sixteen (xterm's table): only to find the nearest.
const USUAL: [Rgb; 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];

/// The six steps of a side of the cube.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

type Rgb = (u8, u8, u8);

impl Color {
    /// Reads a colour: a name, `default`, `#rrggbb` or `indexed N`.
    ///
    /// # Errors
    /// What is wrong with the text, and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            let names = NAMES.join(", ");
            format!("{text:?} is no colour; write default, #rrggbb, indexed 0 to 255, or one of {names}")
        };
        let word = text.trim();
        if word == "default" {
            return Ok(Color::Default);
        }
        if let Some(hex) = word.strip_prefix('#') {
            // Six hex digits and nothing else: from_str_radix alone would take a sign.
            if hex.len() != 6 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(bad());
            }
            let [_, r, g, b] = u32::from_str_radix(hex, 16).map_err(|_| bad())?.to_be_bytes();
            return Ok(Color::Rgb(r, g, b));
        }
        if let Some(n) = word.strip_prefix("indexed ") {
            return n.trim().parse().map(Color::Indexed).map_err(|_| bad());
        }
        let name = word.replace(['_', ' '], "-").replace("grey", "gray").replace("bright-", "light-");
        let at = NAMES.iter().position(|n| *n == name).ok_or_else(bad)?;
        u8::try_from(at).map(Color::Ansi).map_err(|_| bad())
    }

    /// The nearest that a terminal of this depth shows; None at no depth.
    #[must_use]
    pub fn at_depth(self, depth: ColorDepth) -> Option<Self> {
        match (depth, self) {
            (ColorDepth::None, _) => None,
            (_, Color::Default | Color::Ansi(_))
            | (ColorDepth::True, _)
            | (ColorDepth::Indexed256, Color::Indexed(_)) => Some(self),
            (ColorDepth::Indexed256, Color::Rgb(r, g, b)) => Some(Color::Indexed(nearest_256((r, g, b)))),
            (ColorDepth::Ansi16, Color::Indexed(n)) if n < 16 => Some(Color::Ansi(n)),
            (ColorDepth::Ansi16, Color::Indexed(n)) => Some(Color::Ansi(nearest_16(of_256(n)))),
            (ColorDepth::Ansi16, Color::Rgb(r, g, b)) => Some(Color::Ansi(nearest_16((r, g, b)))),
        }
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Color::Default => f.write_str("default"),
            Color::Ansi(n) => f.write_str(NAMES.get(usize::from(*n)).unwrap_or(&"default")),
            Color::Indexed(n) => write!(f, "indexed {n}"),
            Color::Rgb(r, g, b) => write!(f, "#{r:02x}{g:02x}{b:02x}"),
        }
    }
}

fn distance(a: Rgb, b: Rgb) -> u32 {
    let d = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    d(a.0, b.0) + d(a.1, b.1) + d(a.2, b.2)
}

fn nearest_16(c: Rgb) -> u8 {
    (0u8..16).min_by_key(|i| distance(USUAL[usize::from(*i)], c)).unwrap_or(7)
}

/// What an index looks like: the sixteen, the cube, the greys.
fn of_256(n: u8) -> Rgb {
    match n {
        0..=15 => USUAL[usize::from(n)],
        16..=231 => {
            let n = usize::from(n - 16);
            (STEPS[n / 36], STEPS[n / 6 % 6], STEPS[n % 6])
        }
        232..=255 => {
            let v = 8 + 10 * (n - 232);
            (v, v, v)
        }
    }
}

/// The nearest of the fixed 240; the first sixteen are the terminal's own, which nobody can know.
fn nearest_256(c: Rgb) -> u8 {
    (16u8..=255).min_by_key(|i| distance(of_256(*i), c)).unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_spelling_is_read() {
        assert_eq!(Color::parse("red"), Ok(Color::Ansi(1)));
        assert_eq!(Color::parse("dark grey"), Ok(Color::Ansi(8)));
        assert_eq!(Color::parse("bright_cyan"), Ok(Color::Ansi(14)));
        assert_eq!(Color::parse("#0a0B0c"), Ok(Color::Rgb(10, 11, 12)));
        assert_eq!(Color::parse("indexed 208"), Ok(Color::Indexed(208)));
        assert_eq!(Color::parse("default"), Ok(Color::Default));
        for bad in ["", "reddish", "#12345", "#+12345", "#1234567", "indexed 256", "indexed", "#ééé"] {
            assert!(Color::parse(bad).unwrap_err().contains("#rrggbb"), "{bad:?}");
        }
    }

    #[test]
    fn the_nearest_is_near() {
        let red = Color::Rgb(255, 0, 0);
        assert_eq!(red.at_depth(ColorDepth::Ansi16), Some(Color::Ansi(9)));
        assert_eq!(red.at_depth(ColorDepth::Indexed256), Some(Color::Indexed(196)));
        assert_eq!(Color::Indexed(244).at_depth(ColorDepth::Ansi16), Some(Color::Ansi(8)));
        assert_eq!(red.at_depth(ColorDepth::None), None);
    }

    #[test]
    fn the_environment_is_heard() {
        let hints = |no_color, colorterm, term| TerminalHints { no_color, colorterm, term };
        let xterm = hints(None, None, Some("xterm-256color"));
        let plain = hints(Some("1"), Some("truecolor"), Some("xterm"));
        assert_eq!(ColorDepth::choose(ColorChoice::Auto, xterm), ColorDepth::Indexed256);
        assert_eq!(ColorDepth::choose(ColorChoice::Auto, plain), ColorDepth::None);
        assert_eq!(ColorDepth::choose(ColorChoice::Always, plain), ColorDepth::True);
        assert_eq!(ColorDepth::choose(ColorChoice::Never, xterm), ColorDepth::None);
        assert_eq!(
            ColorDepth::choose(ColorChoice::Auto, hints(Some(""), None, Some("linux"))),
            ColorDepth::Ansi16
        );
        assert_eq!(ColorDepth::choose(ColorChoice::Auto, hints(None, None, Some("dumb"))), ColorDepth::None);
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(r: u8, g: u8, b: u8, n: u8) {
            for c in [Color::Rgb(r, g, b), Color::Indexed(n), Color::Ansi(n % 16), Color::Default] {
                prop_assert_eq!(Color::parse(&c.to_string()), Ok(c));
            }
        }

        #[test]
        fn no_depth_shows_more_than_it_can(r: u8, g: u8, b: u8) {
            let c = Color::Rgb(r, g, b);
            prop_assert!(matches!(c.at_depth(ColorDepth::Ansi16), Some(Color::Ansi(0..=15))));
            prop_assert!(matches!(c.at_depth(ColorDepth::Indexed256), Some(Color::Indexed(16..))));
        }
    }
}
