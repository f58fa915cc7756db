//! The table, row by row, on made-up devices.

use super::table::{Base, ROWS};
use super::{ReadAt, look, places};
use proptest::prelude::*;
use std::io;

/// A device of any size that is zero but for some bytes.
struct Sparse {
    size: u64,
    marks: Vec<(u64, Vec<u8>)>,
}

impl ReadAt for Sparse {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let n = out.len().min(usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX));
        out[..n].fill(0);
        for (at, bytes) in &self.marks {
            for (i, b) in bytes.iter().enumerate() {
                let place = (at + i as u64).checked_sub(offset).and_then(|p| usize::try_from(p).ok());
                if let Some(p) = place.filter(|p| *p < n) {
                    out[p] = *b;
                }
            }
        }
        Ok(n)
    }
}

/// A device that can be read nowhere, or lies about its size.
struct Broken(u64);

impl ReadAt for Broken {
    fn size(&self) -> u64 {
        self.0
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::from_raw_os_error(libc::EIO))
    }
}

fn words(size: u64, marks: &[(u64, &[u8])]) -> Vec<&'static str> {
    let marks = marks.iter().map(|(at, b)| (*at, b.to_vec())).collect();
    look(&Sparse { size, marks }).unwrap().words()
}

const MIB: u64 = 1 << 20;

#[test]
fn a_blank_device_is_blank_whatever_it_is_filled_with() {
    for size in [0, 1, 511, 512, 4096, 3 * MIB, 100 * MIB] {
        let content = look(&Sparse { size, marks: Vec::new() }).unwrap();
        assert!(content.blank && content.signatures.is_empty(), "{size}: {content:?}");
    }
    let erased = vec![0xff; 2 << 20];
    assert!(look(erased.as_slice()).unwrap().blank);
    let mut data = erased;
    data[1 << 20] = 0xfe;
    let content = look(data.as_slice()).unwrap();
    assert!(!content.blank && content.signatures.is_empty(), "data of no known kind");
}

#[test]
fn what_scratch_files_are_filled_with_bears_no_mark() {
    for mib in [1, 8, 64, 1024] {
        struct Filled(u64);
        impl ReadAt for Filled {
            fn size(&self) -> u64 {
                self.0
            }
            fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
                let from = offset / 8 * 8;
                let mut all = vec![0; out.len() + 8];
                crate::sys::scratch::content(from, &mut all);
                let skip = usize::try_from(offset - from).unwrap();
                out.copy_from_slice(&all[skip..skip + out.len()]);
                Ok(out.len())
            }
        }
        let content = look(&Filled(mib * MIB)).unwrap();
        assert!(content.signatures.is_empty() && !content.blank, "{mib} MiB: {content:?}");
    }
}

/// Every row, at every one of its places, on a device of odd and of even size.
#[test]
fn every_mark_of_the_table_is_found_where_it_belongs() {
    for row in ROWS {
        for size in [80 * MIB, 80 * MIB + 7 * 512] {
            let all: Vec<u64> = places(row, size).collect();
            assert!(!all.is_empty(), "{row:?}");
            for at in [all[0], all[all.len() - 1]] {
                // What some marks want beside them.
                let beside: (u64, &[u8]) = match row.word {
                    "nilfs2" => (at - 6, &[2, 0, 0, 0]),
                    "LVM1_member" => (at + 2, &[1, 0]),
                    _ => (at, &row.magic[..1]),
                };
                let found = words(size, &[(at, row.magic), beside]);
                let expected = match row.word {
                    "squashfs" => "squashfs3",
                    "ext4" => "ext2",
                    word => word,
                };
                assert!(found.contains(&expected), "{row:?} at {at}: {found:?}");
            }
        }
    }
}

#[test]
fn the_end_is_found_to_the_byte() {
    let size = 10 * MIB + 5 * 512;
    for (at, word, magic) in [
        (size - 512, "gpt", &b"EFI PART"[..]),
        // 1.0: 8 KiB before the end, in whole 4 KiB; 0.90: 64 KiB before the last whole 64 KiB.
        (10 * MIB - 8192, "linux_raid_member", b"\xfc\x4e\x2b\xa9"),
        (10 * MIB - 65536, "linux_raid_member", b"\xfc\x4e\x2b\xa9"),
        (10 * MIB - 4096 + 60, "drbd", b"\x83\x74\x02\x6b"),
        (10 * MIB - 256 * 1024 + 128 * 1024 + 7 * 1024, "zfs_member", b"\x0c\xb1\xba\0\0\0\0\0"),
    ] {
        assert_eq!(words(size, &[(at, magic)]), [word], "{at}");
        assert_eq!(words(size, &[(at + 1, magic)]), [""; 0], "{at} and one");
    }
}

#[test]
fn kinds_that_share_a_mark_are_told_apart() {
    let ext = |compat: u8, incompat: u8, ro: u8| {
        words(MIB, &[(0x438, b"\x53\xef"), (0x45c, &[compat]), (0x460, &[incompat]), (0x464, &[ro])])
    };
    assert_eq!(ext(0, 0x2, 1), ["ext2"]);
    assert_eq!(ext(4, 0x2, 1), ["ext3"]);
    assert_eq!(ext(4, 0x42, 1), ["ext4"]);
    assert_eq!(ext(4, 0x2, 0x8), ["ext4"]);
    assert_eq!(ext(0, 0x8, 0), ["jbd"]);
    let mbr = (510, &b"\x55\xaa"[..]);
    assert_eq!(words(MIB, &[mbr]), ["dos"]);
    assert_eq!(words(MIB, &[mbr, (0x52, b"FAT32   ")]), ["vfat"]);
    assert_eq!(words(MIB, &[mbr, (3, b"NTFS    ")]), ["ntfs"]);
    assert_eq!(words(MIB, &[mbr, (450, &[0xee])]), ["PMBR"]);
    assert_eq!(words(MIB, &[mbr, (450, &[0xee]), (MIB - 512, b"EFI PART")]), ["gpt"]);
    assert_eq!(words(MIB, &[(0, b"hsqs"), (28, &[4])]), ["squashfs"]);
    assert_eq!(words(MIB, &[(0x10000, b"\x01\x16\x19\x70"), (0x10018, &[0, 0, 5, 0x1d])]), ["gfs"]);
    assert_eq!(words(MIB, &[(0x10000, b"\x01\x16\x19\x70"), (0x10018, &[0, 0, 7, 9])]), ["gfs2"]);
    assert_eq!(words(MIB, &[(0x406, b"\x34\x34")]), [""; 0], "two bytes are not enough");
    let two = words(MIB, &[(0x8001, b"CD001"), (512, b"EFI PART")]);
    assert_eq!(two, ["gpt", "iso9660"], "a disk image that boots is both");
}

#[test]
fn a_device_that_can_not_be_read_is_an_error_and_not_blank() {
    assert_eq!(look(&Broken(MIB)).unwrap_err().raw_os_error(), Some(libc::EIO));
    assert!(look(&Broken(0)).unwrap().blank);
}

#[test]
fn the_rows_are_in_reach() {
    for row in ROWS {
        assert!(row.magic.len() >= 2, "{row:?}");
        if let Base::End { grain, back, .. } = row.base {
            assert!(back <= MIB && grain.is_power_of_two(), "{row:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_of_any_length_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..6000)) {
        let content = look(bytes.as_slice()).unwrap();
        prop_assert!(content.signatures.iter().all(|s| s.offset < bytes.len() as u64));
    }

    #[test]
    fn any_size_is_survived(size in any::<u64>(), row in 0..ROWS.len(), shift in 0u64..3) {
        let size = size >> (shift * 20);
        for at in places(&ROWS[row], size).take(3) {
            let marks = vec![(at, ROWS[row].magic.to_vec())];
            let _ = look(&Sparse { size, marks }).unwrap();
        }
    }
}
