//! Whether an experiment may go on with a record: what is the same, and what has changed since.

use super::manifest::{DeviceRecord, Manifest};

/// Something that differs between a record and now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What.
    pub what: String,
    /// As the record has it.
    pub then: String,
    /// As it is now.
    pub now: String,
    /// Trials of before and of now can not be put together.
    pub grave: bool,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} in the record, {} now", self.what, self.then, self.now)
    }
}

/// What differs between the record of an experiment and what would be recorded now, the grave ones first.
#[must_use]
pub fn differences(then: &Manifest, now: &Manifest) -> Vec<Difference> {
    let mut out = Compared::default();
    out.grave("format", &then.schema, &now.schema);
    out.debug("question", &then.design, &now.design, true);
    out.debug("jobs", &then.workload.words, &now.workload.words, true);
    if then.workload.words == now.workload.words && then.workload.jobs != now.workload.jobs {
        out.debug("jobs", &then.workload.jobs, &now.workload.jobs, true);
    }
    let same_boot = then.host.boot_id.is_some() && then.host.boot_id == now.host.boot_id;
    device(&mut out, &then.device, &now.device, same_boot);
    out.debug("kernel", &then.host.kernel, &now.host.kernel, true);
    out.debug("kernel build", &then.host.build, &now.host.build, true);
    out.debug("boot options", &then.host.boot_options, &now.host.boot_options, true);
    out.debug("processor", &then.host.cpu, &now.host.cpu, true);
    out.debug("processors", &then.host.cpus, &now.host.cpus, true);
    out.debug("boot", &then.host.boot_id, &now.host.boot_id, false);
    out.debug("program", &then.program, &now.program, false);
    for (name, before, after) in then.queue().differences(&now.queue()) {
        out.debug(&format!("setting {name}"), &before, &after, true);
    }
    out.0.sort_by_key(|d| !d.grave);
    out.0
}

fn device(out: &mut Compared, then: &DeviceRecord, now: &DeviceRecord, same_boot: bool) {
    out.grave("kind of device", &then.kind, &now.kind);
    out.debug("model", &then.model, &now.model, true);
    out.debug("serial number", &then.serial, &now.serial, true);
    out.debug("world-wide id", &then.wwid, &now.wwid, true);
    out.debug("size in bytes", &then.size_bytes, &now.size_bytes, true);
    out.debug("file behind it", &then.backing_file, &now.backing_file, true);
    // Names and numbers are given anew at every boot; without serial number and id nothing else tells devices apart.
    let told_apart = then.serial.is_some() || then.wwid.is_some();
    out.debug("device", &then.name, &now.name, same_boot || !told_apart);
    if same_boot {
        out.debug("device number", &then.devnum, &now.devnum, true);
        out.debug("disk sequence number", &then.diskseq, &now.diskseq, true);
    }
}

#[derive(Default)]
struct Compared(Vec<Difference>);

impl Compared {
    fn grave(&mut self, what: &str, then: &str, now: &str) {
        if then != now {
            let (then, now) = (then.to_owned(), now.to_owned());
            self.0.push(Difference { what: what.to_owned(), then, now, grave: true });
        }
    }

    fn debug<T: PartialEq + serde::Serialize>(&mut self, what: &str, then: &T, now: &T, grave: bool) {
        if then != now {
            self.0.push(Difference { what: what.to_owned(), then: words(then), now: words(now), grave });
        }
    }
}

/// A value in words: text as it is, nothing as "unknown", anything else as JSON.
fn words(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(s)) => s,
        Ok(serde_json::Value::Null) | Err(_) => "unknown".to_owned(),
        Ok(other) => other.to_string(),
    }
}
