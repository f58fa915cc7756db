//! The frames in what a program writes to its terminal: shown whole or not at all, as terminals do that know the marks.

/// Begins a frame.
const BEGIN: &[u8] = b"\x1b[?2026h";
/// Ends it.
const END: &[u8] = b"\x1b[?2026l";

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

/// Bytes as they come, cut anywhere.
#[derive(Default)]
pub struct FrameStream {
    kept: Vec<u8>,
}

impl FrameStream {
    /// Takes what came and gives back what can be shown: all but a frame, or a mark, whose end is still to come.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.kept.extend_from_slice(bytes);
        let mut at = 0;
        let whole = loop {
            let rest = &self.kept[at..];
            let Some(begin) = find(rest, BEGIN) else {
                let cut = (1..BEGIN.len()).rev().find(|n| rest.ends_with(&BEGIN[..*n])).unwrap_or(0);
                break self.kept.len() - cut;
            };
            match find(&rest[begin..], END) {
                Some(end) => at += begin + end + END.len(),
                None => break at + begin,
            }
        };
        let later = self.kept.split_off(whole);
        std::mem::replace(&mut self.kept, later)
    }
}

/// What of whole frames and other bytes is not in a frame.
pub fn outside_frames(mut bytes: &[u8]) -> Vec<u8> {
    let mut outside = Vec::new();
    while let Some(begin) = find(bytes, BEGIN) {
        outside.extend_from_slice(&bytes[..begin]);
        let frame = &bytes[begin..];
        bytes = &frame[find(frame, END).map_or(frame.len(), |end| end + END.len())..];
    }
    outside.extend_from_slice(bytes);
    outside
}
