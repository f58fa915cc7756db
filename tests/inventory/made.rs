//! Trees made by hand, for devices that no captured kernel had.

use serde_json::Value;

#[test]
fn a_name_with_a_slash_is_one_device_in_either_spelling() {
    let dir = tempfile::tempdir().unwrap();
    let block = dir.path().join("sys/block/cciss!c0d0");
    let part = block.join("cciss!c0d0p1");
    std::fs::create_dir_all(block.join("queue")).unwrap();
    std::fs::create_dir_all(&part).unwrap();
    for (file, text) in [("size", "143305920\n"), ("queue/rotational", "1\n"), ("dev", "104:0\n")] {
        std::fs::write(block.join(file), text).unwrap();
    }
    std::fs::write(part.join("partition"), "1\n").unwrap();
    std::fs::write(part.join("size"), "2048\n").unwrap();
    let class = dir.path().join("sys/class/block");
    std::fs::create_dir_all(&class).unwrap();
    std::os::unix::fs::symlink(&block, class.join("cciss!c0d0")).unwrap();
    std::os::unix::fs::symlink(&part, class.join("cciss!c0d0p1")).unwrap();

    let list = |typed: &str| {
        let (mut c, _home) = crate::support::blktune();
        let out = c.args(["show", typed, "--json", "--sysroot"]).arg(dir.path()).output().unwrap();
        assert!(out.status.success(), "{typed}: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice::<Value>(&out.stdout).unwrap()
    };
    for typed in ["cciss/c0d0", "cciss!c0d0", "/dev/cciss/c0d0"] {
        let v = list(typed);
        assert_eq!(
            (v["name"].as_str(), v["path"].as_str()),
            (Some("cciss/c0d0"), Some("/dev/cciss/c0d0")),
            "{typed}"
        );
        assert_eq!(v["note"], Value::Null, "{typed}");
    }
    let v = list("/dev/cciss/c0d0p1");
    assert_eq!(v["name"], "cciss/c0d0");
    assert!(v["note"].as_str().unwrap().contains("belong to the whole device cciss/c0d0"), "{}", v["note"]);
}
