//! Captured sysfs and procfs trees of real kernels, unpacked for the tests that are running.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use blktune::sys::root::SysRoot;
use tempfile::TempDir;

/// An unpacked tree. Shared by tests that run at once: look, do not change (see [`fresh_sysroot`]).
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The directory that `--sysroot` takes.
    pub dir: Arc<TempDir>,
    /// The same for the library.
    pub root: SysRoot,
}

impl Fixture {
    /// The directory that `--sysroot` takes.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// The tree `tests/fixtures/NAME.tar.gz`, modes and links kept. Tests that run at once share one; it goes with the last.
pub fn sysroot(name: &str) -> Fixture {
    // Weak: a static is never dropped, and would leave the directory behind.
    static UNPACKED: OnceLock<Mutex<HashMap<String, Weak<TempDir>>>> = OnceLock::new();
    let mut unpacked = UNPACKED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(dir) = unpacked.get(name).and_then(Weak::upgrade) {
        return Fixture { root: SysRoot::captured(dir.path()), dir };
    }
    let fixture = fresh_sysroot(name);
    unpacked.insert(name.to_owned(), Arc::downgrade(&fixture.dir));
    fixture
}

/// The same tree, unpacked for the caller alone, who may change it.
pub fn fresh_sysroot(name: &str) -> Fixture {
    let path = fixture_dir().join(format!("{name}.tar.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    archive.set_preserve_permissions(true);
    archive.unpack(dir.path()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let root = SysRoot::captured(dir.path());
    Fixture { dir: Arc::new(dir), root }
}

/// What `lsblk --json --bytes` said on the host of the tree: `tests/fixtures/NAME.lsblk.json`.
pub fn lsblk(name: &str) -> serde_json::Value {
    let path = fixture_dir().join(format!("{name}.lsblk.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What has to be listed of the tree, written by hand: `tests/fixtures/NAME.expected.tsv`, a map of column to text a row.
pub fn expected(name: &str) -> Vec<HashMap<String, String>> {
    let path = fixture_dir().join(format!("{name}.expected.tsv"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines = text.lines().filter(|l| !l.starts_with('#'));
    let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), columns.len(), "{}: {line}", path.display());
            columns.iter().zip(fields).map(|(c, f)| ((*c).to_owned(), f.to_owned())).collect()
        })
        .collect()
}

fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}
