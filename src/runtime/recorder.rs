//! Writes a record to a file that was not there before.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::telemetry::recording::Line;
use crate::units::Nanos;

/// How much of a compressed record may be lost when the program is killed.
const FLUSH: Nanos = Nanos(60_000_000_000);

/// `cargo bench --bench record` tells what each level costs. Above 6 a record gets smaller by less than one percent.
const LEVEL: Compression = Compression::new(6);

/// A record being written.
pub struct Recorder<W: Write = File> {
    out: Out<W>,
    interval: Nanos,
    flushed: Option<Nanos>,
}

enum Out<W: Write> {
    Plain(W),
    Gzip(Box<GzEncoder<W>>),
}

impl Recorder {
    /// Makes the file; compressed if its name ends in `.gz`. Samples are expected every `interval`.
    ///
    /// # Errors
    /// `AlreadyExists` if there is something of this name, also a link that leads nowhere; else what the system says.
    pub fn create(path: &Path, interval: Nanos) -> io::Result<Self> {
        // O_EXCL follows no link in the last component (open(2)).
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let compressed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
        Ok(Self::new(file, compressed, interval))
    }

    /// Ends the record in order, on the disk: what could not be written is told now or never.
    ///
    /// # Errors
    /// The rest can not be written.
    pub fn finish(self) -> io::Result<()> {
        self.into_inner()?.sync_all()
    }
}

impl<W: Write> Recorder<W> {
    /// Writes to anything.
    pub fn new(out: W, compressed: bool, interval: Nanos) -> Self {
        let out = if compressed { Out::Gzip(Box::new(GzEncoder::new(out, LEVEL))) } else { Out::Plain(out) };
        Self { out, interval, flushed: None }
    }

    /// Writes a sample. A plain line goes out in one write; a compressed one with the next flush, which comes with the
    /// first line and then every minute.
    ///
    /// # Errors
    /// The disk is full, or whatever else the system says. What was written before stays readable.
    pub fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = line.to_json()?;
        text.push('\n');
        match &mut self.out {
            Out::Plain(out) => out.write_all(text.as_bytes()),
            Out::Gzip(out) => {
                out.write_all(text.as_bytes())?;
                // The next one would come too late.
                let due =
                    |last: Nanos| line.monotonic.since(last).0.saturating_add(self.interval.0) > FLUSH.0;
                if self.flushed.is_none_or(due) {
                    out.flush()?;
                    self.flushed = Some(line.monotonic);
                }
                Ok(())
            }
        }
    }

    /// Ends the record and gives back what it was written to.
    ///
    /// # Errors
    /// The rest can not be written.
    pub fn into_inner(self) -> io::Result<W> {
        match self.out {
            Out::Plain(out) => Ok(out),
            Out::Gzip(out) => out.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::record_reader::RecordReader;
    use std::io::Cursor;

    fn line(t: u64) -> Line {
        Line {
            monotonic: Nanos(t * Nanos::SECOND.0),
            diskstats: format!("8 0 sda {} 0 8 0 0 0 0 0 0 0 0\n", t * 7919),
            ..Line::default()
        }
    }

    /// How many samples can be read of what has been written so far.
    fn readable(bytes: &[u8]) -> u64 {
        let mut reader = RecordReader::new(Cursor::new(bytes.to_vec())).unwrap();
        while let Ok(Some(_)) = reader.next_line() {}
        reader.findings().samples
    }

    #[test]
    fn a_killed_recorder_loses_at_most_a_minute() {
        for interval in [1, 7, 45, 60] {
            let mut r = Recorder::new(Vec::new(), true, Nanos(interval * Nanos::SECOND.0));
            for t in (0..600).step_by(usize::try_from(interval).unwrap()) {
                r.write(&line(t)).unwrap();
                let Out::Gzip(gz) = &r.out else { panic!("not compressed") };
                let lost = t.saturating_sub((readable(gz.get_ref()).max(1) - 1) * interval);
                assert!(readable(gz.get_ref()) > 0 && lost < 60, "{t} s every {interval} s: {lost} s lost");
            }
        }
    }

    #[test]
    fn a_plain_line_is_one_write() {
        struct Count(Vec<usize>);
        impl Write for Count {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.push(bytes.split_inclusive(|b| *b == b'\n').count());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut r = Recorder::new(Count(Vec::new()), false, Nanos::SECOND);
        for t in 0..3 {
            r.write(&line(t)).unwrap();
        }
        assert_eq!(r.into_inner().unwrap().0, [1, 1, 1]);
    }

    #[test]
    fn nothing_that_is_there_is_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let (file, target) = (dir.path().join("file"), dir.path().join("target"));
        std::fs::write(&file, "mine").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for path in [&file, &link] {
            let e = Recorder::create(path, Nanos::SECOND).map(|_| ()).unwrap_err();
            assert_eq!(e.kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"mine");
        assert!(!target.exists());
    }
}
