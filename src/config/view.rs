//! What the screen remembers of a person's choices: `view.toml`. Only looks depend on it, so that whatever is wrong with
//! it costs a notice and the defaults.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

/// Name of the file, and of what it is written as before it takes the name.
const FILE: &str = "view.toml";
/// Longest file that is read. It has a few hundred bytes.
const LONGEST: u64 = 64 * 1024;

/// The choices. Words that this version does not know are kept, for the one that wrote them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The columns of the list behind the name, by their words; None for the default ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// How much time the charts show; None for the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart_seconds: Option<u64>,
    /// The order of the list; None for that of names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<SortWords>,
    /// Everything else in the file.
    #[serde(flatten)]
    pub other: toml::Table,
}

/// The order of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortWords {
    /// The column's word.
    pub column: String,
    /// Least first.
    #[serde(default)]
    pub reversed: bool,
    /// Rows move with every sample.
    #[serde(default)]
    pub follow: bool,
}

/// Where choices are remembered: `$XDG_STATE_HOME/blktune`; without that variable `/var/lib/blktune` for root and
/// `~/.local/state/blktune` for others. None if there is no such place. The variables must be absolute paths, as the
/// XDG base directory specification says.
#[must_use]
pub fn state_dir(var: impl Fn(&str) -> Option<OsString>, root: bool) -> Option<PathBuf> {
    let absolute = |name: &str| var(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = match absolute("XDG_STATE_HOME") {
        Some(state) => state,
        None if root => PathBuf::from("/var/lib"),
        None => absolute("HOME")?.join(".local/state"),
    };
    Some(base.join("blktune"))
}

impl View {
    /// Reads what is remembered in a directory; the defaults if nothing is.
    ///
    /// # Errors
    /// Why the file is not used, in words: a link, another user's, too long, unreadable, not TOML or not of this form.
    pub fn load(dir: &Path) -> Result<Self, String> {
        let said = |why: &dyn std::fmt::Display| {
            let file = dir.join(FILE);
            let text = format!("{} is not used, the list is as by default: {why}", file.display());
            // The words of a parser may repeat what is in the file.
            crate::sys::attr::clean(text.as_bytes())
        };
        let text = match read(dir) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) if e.raw_os_error() == Some(libc::ELOOP) => return Err(said(&"it is a link")),
            Err(e) => return Err(said(&e)),
        };
        // The whole message has lines of the file in it, which may hold anything.
        toml::from_str(&text).map_err(|e| said(&e.message()))
    }

    /// Writes it as a whole, so that a reader finds the file of before or this one: beside it, onto the disk, then
    /// renamed. For this user alone, and never through a link.
    ///
    /// # Errors
    /// The directory or the file can not be made.
    pub fn save(&self, dir: &Path) -> io::Result<()> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let at = open_dir(dir)?;
        let beside = format!("{FILE}.{}.new", std::process::id());
        // Of a program of the same number that was interrupted here.
        let _ = rustix::fs::unlinkat(&at, &beside, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file: File = rustix::fs::openat(&at, &beside, flags, Mode::RUSR | Mode::WUSR)?.into();
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| rustix::fs::renameat(&at, &beside, &at, FILE).map_err(io::Error::from));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&at, &beside, AtFlags::empty());
        }
        written
    }
}

fn open_dir(dir: &Path) -> io::Result<rustix::fd::OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(dir, flags, Mode::empty())?)
}

fn read(dir: &Path) -> io::Result<String> {
    // Without NONBLOCK a fifo in its place would hold up the start.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file: File = rustix::fs::openat(open_dir(dir)?, FILE, flags, Mode::empty())?.into();
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if ![0, rustix::process::geteuid().as_raw()].contains(&meta.uid()) {
        return Err(io::Error::other("it belongs to another user"));
    }
    let mut text = String::new();
    if file.take(LONGEST + 1).read_to_string(&mut text)? as u64 > LONGEST {
        return Err(io::Error::other("it is too long"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn view() -> View {
        View {
            columns: Some(vec!["size".to_owned(), "busy".to_owned(), "of the future".to_owned()]),
            sort: Some(SortWords { column: "busy".to_owned(), reversed: true, follow: true }),
            chart_seconds: Some(600),
            other: toml::from_str("colour = 3\n[later]\nx = 'y'\n").unwrap(),
        }
    }

    #[test]
    fn what_is_saved_is_loaded_for_this_user_alone() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("state/blktune");
        assert_eq!(View::load(&dir), Ok(View::default()));
        for view in [View::default(), view(), View { columns: Some(Vec::new()), ..View::default() }] {
            view.save(&dir).unwrap();
            assert_eq!(View::load(&dir), Ok(view));
        }
        let mode = |p: &Path| p.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir), mode(&dir.join(FILE))), (0o700, 0o600));
        assert_eq!(dir.read_dir().unwrap().count(), 1, "something was left beside it");
    }

    #[test]
    fn what_is_wrong_with_the_file_is_said_and_the_next_save_replaces_it() {
        let base = tempfile::tempdir().unwrap();
        let (dir, victim) = (base.path().join("blktune"), base.path().join("victim"));
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(&victim, "columns = []").unwrap();
        let file = dir.join(FILE);
        let cases: [(&str, &dyn Fn()); 6] = [
            ("is a link", &|| symlink(&victim, &file).unwrap()),
            ("not a regular file", &|| rustix::fs::mkfifoat(rustix::fs::CWD, &file, Mode::RUSR).unwrap()),
            ("stream did not contain valid UTF-8", &|| std::fs::write(&file, b"\xff\xfe").unwrap()),
            ("too long", &|| std::fs::write(&file, " ".repeat(70_000)).unwrap()),
            ("expected", &|| std::fs::write(&file, "columns = [").unwrap()),
            ("invalid type", &|| std::fs::write(&file, "columns = 3").unwrap()),
        ];
        for (why, make) in cases {
            make();
            let said = View::load(&dir).unwrap_err();
            assert!(said.contains(why), "{said}");
            view().save(&dir).unwrap();
            assert_eq!(View::load(&dir), Ok(view()), "{why}");
            std::fs::remove_file(&file).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "columns = []", "written through the link");
    }

    #[test]
    fn a_directory_that_is_a_link_is_not_written_through() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = base.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, base.path().join("blktune")).unwrap();
        assert!(View::default().save(&base.path().join("blktune")).is_err());
        assert_eq!(elsewhere.read_dir().unwrap().count(), 0);
    }

    #[test]
    fn the_place_depends_on_who_asks() {
        let place = |vars: &[(&str, &str)], root| {
            let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            state_dir(var, root).map(|p| p.display().to_string())
        };
        let home = ("HOME", "/home/a");
        assert_eq!(place(&[home], false).as_deref(), Some("/home/a/.local/state/blktune"));
        assert_eq!(place(&[home], true).as_deref(), Some("/var/lib/blktune"));
        assert_eq!(place(&[home, ("XDG_STATE_HOME", "/s")], true).as_deref(), Some("/s/blktune"));
        assert_eq!(
            place(&[home, ("XDG_STATE_HOME", "s")], false).as_deref(),
            Some("/home/a/.local/state/blktune")
        );
        assert_eq!(place(&[("HOME", "")], false), None);
    }
}
