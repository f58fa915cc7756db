//! Frames on their way to the terminal: each is gathered in memory and handed over whole.

use std::io::{self, Write};

use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};

use super::terminal;

/// Where a backend draws. What it writes becomes a frame when it flushes: one write, between marks that keep a terminal
/// from showing half of it, however a slow line cuts it up (DEC private mode 2026, synchronized output). Terminals that do not
/// know them take no notice.
///
/// Once the terminal was given back, frames go nowhere: [`terminal::leave`] waits for the one that is being written,
/// and none follows it onto the shell's screen.
#[derive(Debug, Default)]
pub struct Frames {
    frame: Vec<u8>,
}

impl Frames {
    /// The frame with its marks; empty if nothing was drawn.
    fn whole(&mut self) -> io::Result<&[u8]> {
        if !self.frame.is_empty() {
            queue!(self.frame, EndSynchronizedUpdate)?;
        }
        Ok(&self.frame)
    }
}

impl Write for Frames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.frame.is_empty() && !bytes.is_empty() {
            queue!(self.frame, BeginSynchronizedUpdate)?;
        }
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let frame = self.whole()?;
        if frame.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        let written = if terminal::held() { out.write_all(frame).and_then(|()| out.flush()) } else { Ok(()) };
        self.frame.clear();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_between_two_flushes_is_one_frame() {
        let mut frames = Frames::default();
        assert_eq!(frames.whole().unwrap(), b"");
        frames.write_all(b"").unwrap();
        assert_eq!(frames.whole().unwrap(), b"", "a frame of nothing");
        frames.write_all(b"ab").unwrap();
        frames.write_all(b"c").unwrap();
        assert_eq!(frames.whole().unwrap(), b"\x1b[?2026habc\x1b[?2026l");
    }

    #[test]
    fn a_frame_after_the_terminal_was_given_back_goes_nowhere_and_is_not_kept_for_later() {
        assert!(!terminal::held());
        let mut frames = Frames::default();
        frames.write_all(b"late").unwrap();
        frames.flush().unwrap();
        assert_eq!(frames.whole().unwrap(), b"");
    }
}
