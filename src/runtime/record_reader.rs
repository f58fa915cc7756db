//! Reads a record from a file, a line at a time: a day of it never lies in memory, and no file can fill it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::telemetry::recording::{LONGEST_LINE, Line};

/// What a gzip member begins with (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Room kept for the next line; what a longer one took is given back.
const KEPT_ROOM: usize = 1 << 20;

/// A record being read.
pub struct RecordReader {
    input: Box<dyn BufRead + Send>,
    compressed: bool,
    line: Vec<u8>,
    number: u64,
    findings: Findings,
    over: bool,
    longest: usize,
}

/// What was seen of a record so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Samples read.
    pub samples: u64,
    /// Lines that are no samples.
    pub skipped: u64,
    /// Of those, the ones that were too long to be looked at.
    pub too_long: u64,
    /// The first of them: its number, and what is wrong with it.
    pub first: Option<(u64, String)>,
    /// It ends within a line or within a compressed block; everything before that was read.
    pub cut: bool,
}

impl RecordReader {
    /// Opens a file. Whether it is compressed is told by its first bytes, not by its name.
    ///
    /// # Errors
    /// The file can not be opened or read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::new(File::open(path)?)
    }

    /// Reads from anything.
    ///
    /// # Errors
    /// The first bytes can not be read.
    pub fn new(mut input: impl Read + Send + 'static) -> io::Result<Self> {
        let mut first = Vec::with_capacity(GZIP.len());
        input.by_ref().take(GZIP.len() as u64).read_to_end(&mut first)?;
        let compressed = first == GZIP;
        let input = BufReader::new(Cursor::new(first).chain(input));
        let input: Box<dyn BufRead + Send> = if compressed {
            Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(input)))
        } else {
            Box::new(input)
        };
        Ok(Self {
            input,
            compressed,
            line: Vec::new(),
            number: 0,
            findings: Findings::default(),
            over: false,
            longest: LONGEST_LINE,
        })
    }

    /// The next sample; None at the end. Lines that are no samples are passed over and counted.
    ///
    /// # Errors
    /// The device that holds the file can not be read.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        while !self.over {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => self.over = true,
                // What the decoder says of damaged or missing data; errors of the system carry a number.
                Err(e) if self.compressed && e.raw_os_error().is_none() && damaged(e.kind()) => {
                    self.findings.cut = true;
                    self.over = true;
                }
                Err(e) => return Err(e),
            }
            if let Some(line) = self.judge() {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// What was seen so far.
    #[must_use]
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Reads up to the next newline; false at the end of the file. What came before an error stays in `line`.
    fn fill(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.line.shrink_to(KEPT_ROOM);
        let most = self.longest as u64 + 1;
        let n = self.input.by_ref().take(most).read_until(b'\n', &mut self.line)?;
        self.number += 1;
        if n as u64 == most && self.line.last() != Some(&b'\n') {
            self.line.clear();
            self.findings.too_long += 1;
            self.skip(format!("longer than {} MiB", self.longest >> 20));
            self.input.skip_until(b'\n')?;
        }
        Ok(n > 0)
    }

    fn judge(&mut self) -> Option<Line> {
        let whole = self.line.last() == Some(&b'\n');
        if self.line.trim_ascii().is_empty() {
            return None;
        }
        match Line::parse(self.line.trim_ascii()) {
            Ok(line) => {
                self.findings.samples += 1;
                Some(line)
            }
            // Torn by the end of the file.
            Err(_) if !whole => {
                self.findings.cut = true;
                None
            }
            Err(e) => {
                self.skip(e.to_string());
                None
            }
        }
    }

    fn skip(&mut self, why: String) {
        self.findings.skipped += 1;
        self.findings.first.get_or_insert((self.number, why));
    }
}

const fn damaged(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData)
}

impl Findings {
    /// What a person should know of a record that was read to its end; a line each.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some((number, why)) = &self.first {
            words.push(match self.skipped {
                1 => format!("line {number} is no sample and was left out: {why}"),
                n => format!("{n} lines are no samples and were left out; the first is line {number}: {why}"),
            });
        }
        if self.cut {
            words.push(match self.samples {
                0 => "cut off before its first sample".to_owned(),
                n => format!("the record is cut off; what is before that was read, {n} samples"),
            });
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::io::Write as _;

    fn text(from: u64, to: u64) -> String {
        let line = |t| format!("{{\"t_s\": {t}, \"diskstats\": \"8 0 sda {t} 0 8 0 0 0 0 0 0 0 0\\n\"}}\n");
        (from..to).map(line).collect::<Vec<_>>().concat()
    }

    /// A member as the recorder writes it: flushed behind every `every` lines.
    fn member(text: &str, every: usize) -> Vec<u8> {
        let mut gz = GzEncoder::new(Vec::new(), Compression::default());
        for (i, line) in text.lines().enumerate() {
            writeln!(gz, "{line}").unwrap();
            if (i + 1) % every == 0 {
                gz.flush().unwrap();
            }
        }
        gz.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> (Vec<u64>, Findings) {
        let mut r = RecordReader::new(Cursor::new(bytes.to_vec())).unwrap();
        let mut times = Vec::new();
        while let Some(line) = r.next_line().unwrap() {
            times.push(line.monotonic.0 / 1_000_000_000);
        }
        (times, r.findings().clone())
    }

    #[test]
    fn plain_compressed_and_joined_members_read_alike() {
        let all: Vec<u64> = (0..50).collect();
        let joined = [member(&text(0, 20), 7), member(&text(20, 50), 60)].concat();
        for bytes in [text(0, 50).into_bytes(), member(&text(0, 50), 10), joined] {
            let (times, findings) = read(&bytes);
            assert_eq!((&times, findings.samples, findings.in_words().len()), (&all, 50, 0));
        }
    }

    #[test]
    fn a_compressed_record_cut_anywhere_gives_all_that_was_flushed() {
        let (text, every) = (text(0, 40), 10);
        let whole = member(&text, every);
        // Where the flushes are in the compressed bytes.
        let mut gz = GzEncoder::new(Vec::new(), Compression::default());
        let mut safe = vec![(0, 0)];
        for (i, line) in text.lines().enumerate() {
            writeln!(gz, "{line}").unwrap();
            if (i + 1) % every == 0 {
                gz.flush().unwrap();
                safe.push((gz.get_ref().len(), i + 1));
            }
        }
        for cut in 2..whole.len() {
            let least = safe.iter().filter(|(at, _)| *at <= cut).map(|(_, n)| *n).max().unwrap();
            let (times, findings) = read(&whole[..cut]);
            assert!(times.len() >= least, "cut at {cut}: {} of {least}", times.len());
            assert!(findings.cut, "cut at {cut}: not said");
            assert_eq!(times, (0..times.len() as u64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_one_that_is_whole_is_not() {
        let text = text(0, 3);
        let (times, findings) = read(&text.as_bytes()[..text.len() - 5]);
        assert_eq!((times.len(), findings.cut, findings.skipped), (2, true, 0));
        let (times, findings) = read(text.trim_end().as_bytes());
        assert_eq!((times.len(), findings.cut), (3, false));
    }

    #[test]
    fn bad_lines_in_the_middle_are_counted_and_the_first_is_told() {
        let (times, findings) = read(format!("{}\n\nrubbish\n{{}}\n{}", text(0, 2), text(2, 4)).as_bytes());
        assert_eq!((times, findings.skipped, findings.cut), (vec![0, 1, 2, 3], 2, false));
        let words = findings.in_words();
        assert!(
            words.len() == 1 && words[0].starts_with("2 lines") && words[0].contains("line 5"),
            "{words:?}"
        );
    }

    #[test]
    fn a_line_without_an_end_takes_no_more_memory_than_the_longest() {
        let mut r =
            RecordReader::new(io::repeat(b'{').take(1 << 20).chain(Cursor::new(format!("\n{}", text(7, 8)))))
                .unwrap();
        r.longest = 1000;
        assert_eq!(r.next_line().unwrap().unwrap().monotonic.0, 7_000_000_000);
        assert!(r.line.capacity() < 4000 && r.findings().too_long == 1, "{}", r.line.capacity());
    }

    #[test]
    fn rubbish_behind_a_member_is_a_cut_and_a_wrong_sum_is_told() {
        let (times, findings) = read(&[member(&text(0, 3), 1), b"rubbish".to_vec()].concat());
        assert_eq!((times.len(), findings.cut), (3, true));
        let mut wrong = member(&text(0, 3), 1);
        let sum = wrong.len() - 8;
        wrong[sum] ^= 1;
        assert!(read(&wrong).1.cut);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>, gz: bool) {
            let bytes = if gz { [&GZIP[..], &[8, 0, 0, 0, 0, 0, 0, 3], &bytes].concat() } else { bytes };
            let _ = read(&bytes);
        }

        #[test]
        fn a_damaged_byte_costs_no_panic(at: prop::sample::Index, to: u8) {
            let mut bytes = member(&text(0, 20), 5);
            let at = at.index(bytes.len());
            bytes[at] = to;
            let _ = read(&bytes);
        }
    }
}
