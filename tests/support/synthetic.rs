//! Made-up trees of very many devices, for what has to stay quick: few files, the same ones linked again and again.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;

/// Half are disks with two partitions, a quarter NVMe namespaces, a quarter crypt over the disks' second partitions.
pub fn many_devices(count: usize) -> io::Result<TempDir> {
    let tree = Tree::new()?;
    let sd = count / 2;
    let dm = count / 4;
    tree.in_parallel(sd, |tree, i| tree.disk(&letters("sd", i), 8, 16 * i, i < dm, i))?;
    tree.in_parallel(dm, |tree, i| tree.crypt(i, &format!("{}2", letters("sd", i)), sd + i))?;
    tree.in_parallel(count - sd - dm, |tree, i| tree.namespace(i, sd + dm + i))?;
    let mut listed = String::new();
    for i in 0..sd {
        let name = letters("sd", i);
        list(&mut listed, 8, 16 * i, 1 << 30, &name);
        list(&mut listed, 8, 16 * i + 1, 1 << 20, &format!("{name}1"));
        list(&mut listed, 8, 16 * i + 2, 1 << 29, &format!("{name}2"));
    }
    for i in 0..count - sd - dm {
        list(&mut listed, 259, i, 1 << 30, &format!("nvme{i}n1"));
    }
    for i in 0..dm {
        list(&mut listed, 253, i, 1 << 29, &format!("dm-{i}"));
    }
    tree.proc(&listed, "")
}

/// Loop devices of which the first `bound` have a file; as a host that once mounted many images has them.
pub fn many_loops(count: usize, bound: usize) -> io::Result<TempDir> {
    let tree = Tree::new()?;
    tree.in_parallel(count, |tree, i| tree.loop_device(i, i < bound))?;
    tree.disk("sda", 8, 0, false, count)?;
    let mut listed = String::new();
    for i in 0..bound {
        list(&mut listed, 7, i, 1 << 20, &format!("loop{i}"));
    }
    for (minor, name) in ["sda", "sda1", "sda2"].into_iter().enumerate() {
        list(&mut listed, 8, minor, 1 << 20, name);
    }
    let mut unbound = String::new();
    for i in bound..count {
        let _ = writeln!(unbound, "7 {i} loop{i} {ZEROES}");
    }
    tree.proc(&listed, &unbound)
}

const ZEROES: &str = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";

/// A line in the manner of `/proc/partitions`, `kib` being the size.
fn list(text: &mut String, major: usize, minor: usize, kib: u64, name: &str) {
    let _ = writeln!(text, "{major:4} {minor:8} {kib:10} {name}");
}

/// `sd` and 0 to `sda`, 26 to `sdaa`.
fn letters(stem: &str, mut i: usize) -> String {
    let mut tail = Vec::new();
    loop {
        tail.push(char::from(b'a' + u8::try_from(i % 26).unwrap()));
        i /= 26;
        if i == 0 {
            break;
        }
        i -= 1;
    }
    stem.to_owned() + &tail.into_iter().rev().collect::<String>()
}

struct Tree {
    dir: TempDir,
    /// Files that many devices share.
    shared: PathBuf,
}

impl Tree {
    fn new() -> io::Result<Self> {
        // In memory where there is such a place: a hundred thousand small files are slow on a disk.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
        let shared = dir.path().join("shared");
        for sub in [
            "sys/block",
            "sys/class/block",
            "proc/self",
            "shared/queue/iosched",
            "shared/scsi",
            "shared/nvme",
        ] {
            fs::create_dir_all(dir.path().join(sub))?;
        }
        for (file, text) in [
            ("0", "0\n"),
            ("1", "1\n"),
            ("2", "2\n"),
            ("size", "2147483648\n"),
            ("size1", "2097152\n"),
            ("size2", "1073741824\n"),
            ("uuid", "CRYPT-LUKS2-00000000000000000000000000000001-data\n"),
            ("stat", "    1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"),
            ("scsi/vendor", "EXAMPLE \n"),
            ("scsi/model", "DISK 10000      \n"),
            ("scsi/type", "0\n"),
            ("nvme/model", "Example NVMe 1TB\n"),
            ("queue/scheduler", "none [mq-deadline] kyber bfq \n"),
            ("queue/rotational", "1\n"),
            ("queue/read_ahead_kb", "128\n"),
            ("queue/nr_requests", "256\n"),
            ("queue/logical_block_size", "512\n"),
            ("queue/iostats", "1\n"),
            ("queue/zoned", "none\n"),
            ("queue/nomerges", "0\n"),
            ("queue/max_sectors_kb", "1280\n"),
            ("queue/iosched/read_expire", "500\n"),
        ] {
            fs::write(shared.join(file), text)?;
        }
        Ok(Self { dir, shared })
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn in_parallel(
        &self,
        count: usize,
        make: impl Fn(&Self, usize) -> io::Result<()> + Sync,
    ) -> io::Result<()> {
        const THREADS: usize = 2;
        let make = &make;
        thread::scope(|s| {
            let work = |t: usize| move || (t..count).step_by(THREADS).try_for_each(|i| make(self, i));
            let threads: Vec<_> = (0..THREADS).map(|t| s.spawn(work(t))).collect();
            threads.into_iter().try_for_each(|t| t.join().unwrap())
        })
    }

    /// The directory of a device below `parent`, linked from where it is looked for.
    fn device(
        &self,
        parent: &str,
        name: &str,
        number: (usize, usize),
        size: &str,
        seq: usize,
    ) -> io::Result<PathBuf> {
        let below = format!("devices/{parent}/block/{name}");
        let dir = self.at("sys").join(&below);
        fs::create_dir_all(&dir)?;
        symlink(Path::new("..").join(&below), self.at("sys/block").join(name))?;
        symlink(Path::new("../..").join(&below), self.at("sys/class/block").join(name))?;
        symlink(self.shared.join("queue"), dir.join("queue"))?;
        for (file, same) in
            [("size", size), ("hidden", "0"), ("removable", "0"), ("ro", "0"), ("stat", "stat")]
        {
            fs::hard_link(self.shared.join(same), dir.join(file))?;
        }
        fs::write(dir.join("dev"), format!("{}:{}\n", number.0, number.1))?;
        fs::write(dir.join("diskseq"), format!("{}\n", seq + 1))?;
        Ok(dir)
    }

    fn disk(&self, name: &str, major: usize, minor: usize, held: bool, seq: usize) -> io::Result<()> {
        let dir = self.device("pci0000:00/ata1/host0", name, (major, minor), "size", seq)?;
        symlink(self.shared.join("scsi"), dir.join("device"))?;
        for part in [1, 2] {
            let p = dir.join(format!("{name}{part}"));
            fs::create_dir(&p)?;
            fs::hard_link(self.shared.join(part.to_string()), p.join("partition"))?;
            fs::hard_link(self.shared.join(format!("size{part}")), p.join("size"))?;
            fs::write(p.join("dev"), format!("{major}:{}\n", minor + part))?;
            if held && part == 2 {
                fs::create_dir_all(p.join("holders").join(format!("dm-{seq}")))?;
            }
        }
        Ok(())
    }

    fn crypt(&self, i: usize, base: &str, seq: usize) -> io::Result<()> {
        let dir = self.device("virtual", &format!("dm-{i}"), (253, i), "size2", seq)?;
        fs::create_dir_all(dir.join("slaves").join(base))?;
        fs::create_dir(dir.join("dm"))?;
        fs::write(dir.join("dm/name"), format!("data{i}\n"))?;
        fs::hard_link(self.shared.join("uuid"), dir.join("dm/uuid"))
    }

    fn namespace(&self, i: usize, seq: usize) -> io::Result<()> {
        let dir = self.device("pci0000:00/nvme", &format!("nvme{i}n1"), (259, i), "size", seq)?;
        symlink(self.shared.join("nvme"), dir.join("device"))
    }

    fn loop_device(&self, i: usize, bound: bool) -> io::Result<()> {
        let size = if bound { "size1" } else { "0" };
        let dir = self.device("virtual", &format!("loop{i}"), (7, i), size, i)?;
        if !bound {
            return Ok(());
        }
        fs::create_dir(dir.join("loop"))?;
        fs::write(dir.join("loop/backing_file"), format!("/srv/images/{i}.img\n"))
    }

    fn proc(self, listed: &str, more_stats: &str) -> io::Result<TempDir> {
        let heading = "major minor  #blocks  name\n\n";
        fs::write(self.at("proc/partitions"), heading.to_owned() + listed)?;
        let mut stats = more_stats.to_owned();
        for line in listed.lines() {
            let f: Vec<&str> = line.split_whitespace().collect();
            let _ = writeln!(stats, "{} {} {} {ZEROES}", f[0], f[1], f[3]);
        }
        fs::write(self.at("proc/diskstats"), stats)?;
        fs::write(self.at("proc/self/mountinfo"), "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n")?;
        fs::write(self.at("proc/swaps"), "Filename Type Size Used Priority\n")?;
        Ok(self.dir)
    }
}
