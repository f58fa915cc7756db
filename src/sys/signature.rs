//! What lies on a device, told by the marks that file systems, RAID, volume managers and partition tables leave at fixed
//! places. Words are those of `blkid` and `wipefs`.
//!
//! Made for whoever is about to overwrite a device: rather one mark too many than one too few, so a mark counts without
//! a valid checksum behind it, and second copies count, too.

mod table;

use std::fmt;
use std::io;

use rustix::fd::BorrowedFd;
use rustix::io::Errno;

use table::{Base, ROWS, Row};

/// What is read at once from the start: all places but the few behind it.
const HEAD: u64 = (1 << 20) + 4096;
/// And from the end: RAID, the second GPT, two labels of ZFS.
const TAIL: u64 = 1 << 20;

/// Something that can be read at any place.
pub trait ReadAt {
    /// Its size in bytes.
    fn size(&self) -> u64;

    /// Reads as much of `out` as there is at `offset`; 0 at the end.
    ///
    /// # Errors
    /// What the kernel answers.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let n = out.len().min(self.len() - from);
        out[..n].copy_from_slice(&self[from..from + n]);
        Ok(n)
    }
}

/// An open file or device of a known size.
#[derive(Debug)]
pub struct Opened<'a> {
    /// The descriptor.
    pub fd: BorrowedFd<'a>,
    /// Its size in bytes.
    pub size: u64,
}

impl ReadAt for Opened<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::pread(self.fd, &mut *out, offset) {
                Err(Errno::INTR) => {}
                done => return done.map_err(Into::into),
            }
        }
    }
}

/// A mark that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What it is the mark of: `ext4`, `gpt`, `crypto_LUKS`.
    pub word: &'static str,
    /// Where the mark is, bytes from the start.
    pub offset: u64,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}", self.word, self.offset)
    }
}

/// What was found on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// All marks, in the order of the table.
    pub signatures: Vec<Signature>,
    /// Start and end hold one and the same byte throughout: zeroes, or what an erased flash reads as. False says that
    /// there is data, of whatever kind.
    pub blank: bool,
}

impl Content {
    /// The words of what was found, each once.
    #[must_use]
    pub fn words(&self) -> Vec<&'static str> {
        let mut words: Vec<&'static str> = Vec::new();
        for s in &self.signatures {
            if !words.contains(&s.word) {
                words.push(s.word);
            }
        }
        words
    }
}

/// Looks at a device. Places beyond its end are passed over.
///
/// # Errors
/// A place that should be there can not be read.
pub fn look(device: &(impl ReadAt + ?Sized)) -> io::Result<Content> {
    let probe = Probe::new(device)?;
    let mut found: Vec<Signature> = Vec::new();
    for row in ROWS {
        for offset in places(row, device.size()) {
            if probe.has(offset, row.magic)?
                && let Some(word) = refine(row, offset, &probe)?
            {
                found.push(Signature { word, offset });
                // Of an array of places one is enough.
                if row.repeats.is_some() {
                    break;
                }
            }
        }
    }
    let has = |word: &str| found.iter().any(|s| s.word == word);
    // Those begin with a boot sector, which ends as a partition table does; a table that protects a GPT is part of it.
    let boot_sector = ["vfat", "ntfs", "exfat", "BitLocker", "ReFS", "hpfs"].into_iter().any(has);
    let gpt = has("gpt");
    found.retain(|s| !(s.word == "dos" && boot_sector || s.word == "PMBR" && gpt));
    Ok(Content { signatures: found, blank: probe.blank() })
}

/// Where a row's mark may be on a device of this size.
fn places(row: &'static Row, size: u64) -> impl Iterator<Item = u64> {
    let first = match row.base {
        Base::Start(offset) => Some(offset),
        Base::End { grain, back, plus } => (size / grain * grain).checked_sub(back).map(|o| o + plus),
    };
    let (count, step) = row.repeats.unwrap_or((1, 0));
    first.into_iter().flat_map(move |first| (0..count).map(move |i| first + i * step))
}

/// A device with its start and end in memory.
struct Probe<'a, R: ?Sized> {
    device: &'a R,
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_at: u64,
}

impl<'a, R: ReadAt + ?Sized> Probe<'a, R> {
    fn new(device: &'a R) -> io::Result<Self> {
        let size = device.size();
        let tail_at = size.saturating_sub(TAIL);
        let head = read(device, 0, size.min(HEAD))?;
        let tail = read(device, tail_at, size - tail_at)?;
        Ok(Self { device, head, tail, tail_at })
    }

    /// `len` bytes at `offset`; None where the device is not that long.
    fn bytes(&self, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        let within = |part: &[u8], at: u64| {
            let from = usize::try_from(offset.checked_sub(at)?).ok()?;
            Some(part.get(from..from.checked_add(len)?)?.to_vec())
        };
        if let Some(found) = within(&self.head, 0).or_else(|| within(&self.tail, self.tail_at)) {
            return Ok(Some(found));
        }
        if offset.checked_add(len as u64).is_none_or(|end| end > self.device.size()) {
            return Ok(None);
        }
        let found = read(self.device, offset, len as u64)?;
        Ok((found.len() == len).then_some(found))
    }

    fn has(&self, offset: u64, magic: &[u8]) -> io::Result<bool> {
        Ok(self.bytes(offset, magic.len())?.is_some_and(|b| b == magic))
    }

    /// A number of 4 bytes, least first.
    fn number(&self, offset: u64) -> io::Result<Option<u32>> {
        let bytes = self.bytes(offset, 4)?;
        Ok(bytes.and_then(|b| Some(u32::from_le_bytes(b.try_into().ok()?))))
    }

    fn blank(&self) -> bool {
        let first = self.head.first().copied().unwrap_or(0);
        self.head.iter().chain(&self.tail).all(|b| *b == first)
    }
}

/// Reads up to `len` bytes; fewer only at the end.
fn read<R: ReadAt + ?Sized>(device: &R, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    // Never more than a MiB and a bit.
    let mut out = vec![0; usize::try_from(len).unwrap_or(0)];
    let mut done = 0;
    while done < out.len() {
        match device.read_at(offset + done as u64, &mut out[done..])? {
            0 => break,
            n => done += n.min(out.len() - done),
        }
    }
    out.truncate(done);
    Ok(out)
}

/// Marks that several kinds share, or that are too short to be believed alone: the word, or None if it is none.
fn refine<R: ReadAt + ?Sized>(
    row: &Row,
    offset: u64,
    probe: &Probe<'_, R>,
) -> io::Result<Option<&'static str>> {
    Ok(match row.word {
        // s_feature_compat, s_feature_incompat, s_feature_ro_compat: 0x5c behind the superblock's start at 0x400.
        "ext4" => {
            let feature = |at: u64| probe.number(0x400 + at).map(Option::unwrap_or_default);
            Some(ext(feature(0x5c)?, feature(0x60)?, feature(0x64)?))
        }
        // s_major is the half word at 28; version 4 is the one that is mounted today.
        "squashfs" => Some(match probe.number(28)? {
            Some(n) if n & 0xffff < 4 => "squashfs3",
            _ => "squashfs",
        }),
        // sb_fs_format, most significant first: 1801 and up is gfs2 (`linux/gfs2_ondisk.h`).
        "gfs2" => Some(match probe.number(offset + 24)?.map(u32::from_be) {
            Some(1300..=1399) => "gfs",
            _ => "gfs2",
        }),
        // s_rev_level stands before the two bytes of the mark, and is 2 in every version (`linux/nilfs2_ondisk.h`).
        "nilfs2" => (probe.number(offset - 6)? == Some(2)).then_some("nilfs2"),
        // The format's number, 1 or 2, behind the two letters.
        "LVM1_member" => {
            probe.number(offset)?.is_some_and(|n| matches!(n >> 16, 1 | 2)).then_some("LVM1_member")
        }
        // Four entries of 16 bytes at 446, the type in byte 4; 0xee protects a GPT.
        "dos" => {
            let table = probe.bytes(446, 64)?.unwrap_or_default();
            Some(if table.chunks(16).any(|e| e.get(4) == Some(&0xee)) { "PMBR" } else { "dos" })
        }
        word => Some(word),
    })
}

/// Which of the ext family: by what it needs, as libblkid tells them (`libblkid/src/superblocks/ext.c`).
fn ext(compat: u32, incompat: u32, ro_compat: u32) -> &'static str {
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    /// `FILETYPE`, `META_BG`; with a journal also `RECOVER`.
    const EXT2_INCOMPAT: u32 = 0x2 | 0x10;
    const EXT3_INCOMPAT: u32 = EXT2_INCOMPAT | 0x4;
    /// `SPARSE_SUPER`, `LARGE_FILE`, `BTREE_DIR`.
    const RO_COMPAT: u32 = 0x1 | 0x2 | 0x4;
    if incompat & JOURNAL_DEVICE != 0 {
        return "jbd";
    }
    let plain = ro_compat & !RO_COMPAT == 0;
    match compat & HAS_JOURNAL != 0 {
        false if plain && incompat & !EXT2_INCOMPAT == 0 => "ext2",
        true if plain && incompat & !EXT3_INCOMPAT == 0 => "ext3",
        _ => "ext4",
    }
}

#[cfg(test)]
mod tests;
