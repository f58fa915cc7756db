//! The table: who leaves which bytes where. Offsets and bytes are facts of the formats, taken from the kernel's headers and, where
//! it has none, compared with libblkid's probes; the source is named where it is not the format's own superblock.

/// From where an offset counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base {
    /// From the start.
    Start(u64),
    /// From the end: the size cut to a multiple of `grain`, `back` bytes before that, and `plus` behind that again.
    End { grain: u64, back: u64, plus: u64 },
}

/// One mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// As `blkid` and `wipefs` call it; some are refined by what stands beside the mark.
    pub(super) word: &'static str,
    /// Where it is.
    pub(super) base: Base,
    /// How many places there are from there on, and how far apart; None for one.
    pub(super) repeats: Option<(u64, u64)>,
    /// Its bytes.
    pub(super) magic: &'static [u8],
}

const fn row(word: &'static str, offset: u64, magic: &'static [u8]) -> Row {
    Row { word, base: Base::Start(offset), repeats: None, magic }
}

const fn end(word: &'static str, (grain, back, plus): (u64, u64, u64), magic: &'static [u8]) -> Row {
    Row { word, base: Base::End { grain, back, plus }, repeats: None, magic }
}

const fn times(mut row: Row, count: u64, step: u64) -> Row {
    row.repeats = Some((count, step));
    row
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// `MD_SB_MAGIC` of `linux/raid/md_p.h`, least byte first as every version but 0.90 on a big-endian host has it.
const MD: &[u8] = b"\xfc\x4e\x2b\xa9";
/// `UBERBLOCK_MAGIC` of ZFS in both byte orders; labels of 256 KiB, two at each end, each with an array of uberblocks in its
/// second half, in slots of at least 1 KiB.
const UBERBLOCK_LE: &[u8] = b"\x0c\xb1\xba\x00\x00\x00\x00\x00";
const UBERBLOCK_BE: &[u8] = b"\x00\x00\x00\x00\x00\xba\xb1\x0c";
const SLOTS: u64 = 128;
/// The uuids of `linux/bcache.h` and of bcachefs' `bcachefs_format.h`, at 24 behind the sector 8 that both begin with.
const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
/// The second header of LUKS2 (LUKS2 On-Disk Format, 2.2).
const LUKS_SECOND: &[u8] = b"SKUL\xba\xbe";
const STRATIS: &[u8] = b"!Stra0tis\x86\xff\x02^\x41rh";

/// All of them. More specific ones of a kind come first.
pub(super) const ROWS: &[Row] = &[
    // Partition tables. UEFI 2.10, 5.3: the header is in the second block, its copy in the last one.
    row("gpt", 512, b"EFI PART"),
    row("gpt", 4096, b"EFI PART"),
    end("gpt", (512, 512, 0), b"EFI PART"),
    end("gpt", (4096, 4096, 0), b"EFI PART"),
    row("dos", 510, b"\x55\xaa"),
    row("sun", 508, b"\xda\xbe"),
    row("sgi", 0, b"\x0b\xe5\xa9\x41"),
    row("aix", 0, b"\xc9\xc2\xd4\xc1"),
    row("mac", 512, b"PM\0\0"),
    row("bsd", 512, b"\x57\x45\x56\x82"),
    row("bsd", 64, b"\x57\x45\x56\x82"),
    row("bsd", 128, b"\x57\x45\x56\x82"),
    // In any of the first 16 blocks (`block/partitions/amiga.c`).
    times(row("amiga", 0, b"RDSK"), 16, 512),
    // File systems of Linux.
    row("ext4", 0x438, b"\x53\xef"),
    row("xfs", 0, b"XFSB"),
    // `BTRFS_SUPER_INFO_OFFSET` and the first mirror.
    row("btrfs", 64 * KIB + 0x40, b"_BHRfS_M"),
    row("btrfs", 64 * MIB + 0x40, b"_BHRfS_M"),
    row("f2fs", 0x400, b"\x10\x20\xf5\xf2"),
    row("f2fs", 0x1400, b"\x10\x20\xf5\xf2"),
    row("erofs", 0x400, b"\xe2\xe1\xf5\xe0"),
    row("squashfs", 0, b"hsqs"),
    row("squashfs3", 0, b"sqsh"),
    row("cramfs", 0, b"\x45\x3d\xcd\x28"),
    row("cramfs", 0, b"\x28\xcd\x3d\x45"),
    row("romfs", 0, b"-rom1fs-"),
    row("reiserfs", 8 * KIB + 0x34, b"ReIsErFs"),
    row("reiserfs", 8 * KIB + 20, b"ReIsErFs"),
    row("reiserfs", 64 * KIB + 0x34, b"ReIsErFs"),
    row("reiserfs", 64 * KIB + 0x34, b"ReIsEr2Fs"),
    row("reiserfs", 64 * KIB + 0x34, b"ReIsEr3Fs"),
    row("reiser4", 64 * KIB, b"ReIsEr4"),
    row("jfs", 32 * KIB, b"JFS1"),
    row("nilfs2", 0x406, b"\x34\x34"),
    end("nilfs2", (512, 4096, 6), b"\x34\x34"),
    row("gfs2", 64 * KIB, b"\x01\x16\x19\x70"),
    row("ocfs2", KIB, b"OCFSV2"),
    row("ocfs2", 2 * KIB, b"OCFSV2"),
    row("ocfs2", 4 * KIB, b"OCFSV2"),
    row("ocfs2", 8 * KIB, b"OCFSV2"),
    row("ocfs", 8, b"OracleCFS"),
    row("bcachefs", 0x1018, BCACHEFS),
    row("zonefs", 0, b"SFOZ"),
    row("ubifs", 0, b"\x31\x18\x10\x06"),
    // `linux/minix_fs.h`: versions 1, 2 with short and long names, and 3.
    row("minix", 0x410, b"\x7f\x13"),
    row("minix", 0x410, b"\x8f\x13"),
    row("minix", 0x410, b"\x68\x24"),
    row("minix", 0x410, b"\x78\x24"),
    row("minix", 0x418, b"\x5a\x4d"),
    row("bfs", 0, b"\xce\xfa\xad\x1b"),
    // File systems of others.
    row("BitLocker", 3, b"-FVE-FS-"),
    row("ntfs", 3, b"NTFS    "),
    row("exfat", 3, b"EXFAT   "),
    row("ReFS", 0, b"\0\0\0ReFS\0"),
    row("vfat", 0x52, b"FAT32   "),
    row("vfat", 0x52, b"MSWIN"),
    row("vfat", 0x36, b"FAT16   "),
    row("vfat", 0x36, b"FAT12   "),
    row("vfat", 0x36, b"FAT     "),
    row("vfat", 0x36, b"MSDOS"),
    row("hfsplus", KIB, b"H+\0\x04"),
    row("hfsplus", KIB, b"HX\0\x05"),
    row("hfs", KIB, b"BD"),
    row("apfs", 32, b"NXSB"),
    row("hpfs", 8 * KIB, b"\x49\xe8\x95\xf9"),
    row("befs", 0x20, b"BFS1"),
    row("befs", 0x20, b"1SFB"),
    row("befs", 0x220, b"BFS1"),
    row("befs", 0x220, b"1SFB"),
    row("vxfs", KIB, b"\xf5\xfc\x01\xa5"),
    row("vxfs", 8 * KIB, b"\xa5\x01\xfc\xf5"),
    // fs_magic, 1372 behind the superblock at 0, 8, 64 or 256 KiB.
    row("ufs", 1372, b"\x54\x19\x01\x00"),
    row("ufs", 8 * KIB + 1372, b"\x54\x19\x01\x00"),
    row("ufs", 8 * KIB + 1372, b"\x19\x01\x54\x19"),
    row("ufs", 64 * KIB + 1372, b"\x19\x01\x54\x19"),
    row("ufs", 256 * KIB + 1372, b"\x19\x01\x54\x19"),
    row("VMFS_volume_member", MIB, b"\x0d\xd0\x01\xc0"),
    row("VMFS", 2 * MIB, b"\x5e\xf1\xab\x2f"),
    // Optical media: volume descriptors of 2 KiB from 32 KiB on (ECMA-119, ECMA-167).
    row("iso9660", 32 * KIB + 1, b"CD001"),
    row("iso9660", 32 * KIB + 9, b"CDROM"),
    times(row("udf", 32 * KIB + 1, b"BEA01"), 16, 2 * KIB),
    times(row("udf", 32 * KIB + 1, b"NSR02"), 16, 2 * KIB),
    times(row("udf", 32 * KIB + 1, b"NSR03"), 16, 2 * KIB),
    // Swap: the last ten bytes of the first page, of 4 to 64 KiB (`include/linux/swap.h`); a hibernated system's image.
    times(row("swap", 4 * KIB - 10, b"SWAPSPACE2"), 16, 4 * KIB),
    times(row("swap", 4 * KIB - 10, b"SWAP-SPACE"), 16, 4 * KIB),
    times(row("swsuspend", 4 * KIB - 10, b"S1SUSPEND"), 16, 4 * KIB),
    times(row("swsuspend", 4 * KIB - 10, b"S2SUSPEND"), 16, 4 * KIB),
    times(row("swsuspend", 4 * KIB - 10, b"ULSUSPEND"), 16, 4 * KIB),
    times(row("swsuspend", 4 * KIB - 10, b"LINHIB0001"), 16, 4 * KIB),
    row("swsuspend", 0, b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"),
    // Members of something larger. The label of LVM2 may be in any of the first four blocks.
    times(row("LVM2_member", 0x18, b"LVM2 001"), 4, 512),
    row("LVM1_member", 0, b"HM"),
    row("DM_snapshot_cow", 0, b"SnAp"),
    row("DM_verity_hash", 0, b"verity\0\0"),
    row("DM_integrity", 0, b"integrt\0"),
    row("vdo", 0, b"dmvdo001"),
    row("stratis", 512 + 4, STRATIS),
    row("stratis", 9 * 512 + 4, STRATIS),
    row("crypto_LUKS", 0, b"LUKS\xba\xbe"),
    row("crypto_LUKS", 16 * KIB, LUKS_SECOND),
    row("crypto_LUKS", 32 * KIB, LUKS_SECOND),
    row("crypto_LUKS", 64 * KIB, LUKS_SECOND),
    row("crypto_LUKS", 128 * KIB, LUKS_SECOND),
    row("crypto_LUKS", 256 * KIB, LUKS_SECOND),
    row("crypto_LUKS", 512 * KIB, LUKS_SECOND),
    row("crypto_LUKS", MIB, LUKS_SECOND),
    row("crypto_LUKS", 2 * MIB, LUKS_SECOND),
    row("crypto_LUKS", 4 * MIB, LUKS_SECOND),
    // md: versions 1.1, 1.2, 1.0 and 0.90 (`drivers/md/md.c`: calc_dev_sboffset and super_1_load).
    row("linux_raid_member", 0, MD),
    row("linux_raid_member", 4 * KIB, MD),
    end("linux_raid_member", (4 * KIB, 8 * KIB, 0), MD),
    end("linux_raid_member", (64 * KIB, 64 * KIB, 0), MD),
    end("linux_raid_member", (64 * KIB, 64 * KIB, 0), b"\xa9\x2b\x4e\xfc"),
    row("bcache", 0x1018, BCACHE),
    times(row("zfs_member", 128 * KIB, UBERBLOCK_LE), SLOTS, KIB),
    times(row("zfs_member", 384 * KIB, UBERBLOCK_LE), SLOTS, KIB),
    times(end("zfs_member", (256 * KIB, 512 * KIB, 128 * KIB), UBERBLOCK_LE), SLOTS, KIB),
    times(end("zfs_member", (256 * KIB, 256 * KIB, 128 * KIB), UBERBLOCK_LE), SLOTS, KIB),
    times(row("zfs_member", 128 * KIB, UBERBLOCK_BE), SLOTS, KIB),
    times(row("zfs_member", 384 * KIB, UBERBLOCK_BE), SLOTS, KIB),
    times(end("zfs_member", (256 * KIB, 512 * KIB, 128 * KIB), UBERBLOCK_BE), SLOTS, KIB),
    // Internal metadata in the last 4 KiB, the mark at 60 (`drbd_int.h`: struct meta_data_on_disk), versions 8.0, 8.4, 9.
    end("drbd", (4 * KIB, 4 * KIB, 60), b"\x83\x74\x02\x6b"),
    end("drbd", (4 * KIB, 4 * KIB, 60), b"\x83\x74\x02\x6c"),
    end("drbd", (4 * KIB, 4 * KIB, 60), b"\x83\x74\x02\x6d"),
    row("ceph_bluestore", 0, b"bluestore block device"),
    row("oracleasm", 32, b"ORCLDISK"),
    row("ubi", 0, b"UBI#"),
    // RAID of firmware, at the end.
    end("isw_raid_member", (512, 1024, 0), b"Intel Raid ISM Cfg Sig. "),
    end("ddf_raid_member", (512, 512, 0), b"\xde\x11\xde\x11"),
    end("ddf_raid_member", (512, 257 * 512, 0), b"\xde\x11\xde\x11"),
    end("lsi_mega_raid_member", (512, 512, 0), b"$XIDE$"),
    end("nvidia_raid_member", (512, 1024, 0), b"NVIDIA  "),
];
