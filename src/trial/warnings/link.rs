//! The state of the device and of the way to it: links, heat, an array that is rebuilt.

use super::Facts;
use crate::trial::host::DeviceFacts;
use crate::units::three_digits;

/// A link below this share of what it could be.
const FULL: f64 = 0.99;
/// Degrees below its limit from where on a drive may slow itself down.
const NEAR: f64 = 3.0;

impl Facts<'_> {
    pub(super) fn on_link(&self) -> Vec<String> {
        let mut out: Vec<String> = self
            .host
            .devices
            .iter()
            .flat_map(|d| [pcie(d), sata(d), dropped(d), heat(d)])
            .flatten()
            .collect();
        out.extend(self.host.arrays.iter().filter(|a| a.works()).map(|a| {
            let done = a.done_pct.map_or(String::new(), |d| format!(", {d:.0}% done"));
            format!(
                "{}: {} in progress{done}: its members are busy with it, and the figures include that; wait, or set md/sync_action to idle",
                a.name, a.action
            )
        }));
        out
    }
}

/// What is said of heat or throttling, if anything.
pub(in crate::trial) fn throttling(devices: &[DeviceFacts]) -> Option<String> {
    devices.iter().find_map(|d| dropped(d).or_else(|| heat(d)))
}

fn pcie(d: &DeviceFacts) -> Option<String> {
    let l = d.attachment.pcie.filter(|l| l.share() < FULL)?;
    Some(format!(
        "the PCIe link of {} runs at {} GT/s x{} and could at {} GT/s x{}: {:.0}% of its bandwidth; look at the slot and its lanes",
        d.name,
        l.speed_gt_s,
        l.width,
        l.max_speed_gt_s,
        l.max_width,
        l.share() * 100.0
    ))
}

fn sata(d: &DeviceFacts) -> Option<String> {
    let l = d.attachment.sata?;
    let most = l.port_gbps.or(l.limit_gbps).filter(|most| l.speed_gbps < most * FULL)?;
    let lowered = l.limit_gbps.is_some_and(|limit| limit < most * FULL);
    let why = if lowered {
        "the kernel lowered it after errors: look at the cable and at dmesg"
    } else {
        "drive or cable allow no more"
    };
    Some(format!("the SATA link of {} runs at {} of {} Gbit/s: {why}", d.name, l.speed_gbps, most))
}

/// A link that became slower during the run.
fn dropped(d: &DeviceFacts) -> Option<String> {
    let pcie = d.attachment.pcie.zip(d.after.pcie).filter(|(a, b)| b.share() < a.share() * FULL);
    let sata = d.attachment.sata.zip(d.after.sata).filter(|(a, b)| b.speed_gbps < a.speed_gbps * FULL);
    let change = match (pcie, sata) {
        (Some((a, b)), _) => {
            format!("{} GT/s x{} to {} GT/s x{}", a.speed_gt_s, a.width, b.speed_gt_s, b.width)
        }
        (None, Some((a, b))) => format!("{} to {} Gbit/s", a.speed_gbps, b.speed_gbps),
        (None, None) => return None,
    };
    Some(format!(
        "throttled: the link of {} went from {change} during the run: heat or errors; look at dmesg, and run again",
        d.name
    ))
}

fn heat(d: &DeviceFacts) -> Option<String> {
    let hottest =
        [d.temperature, d.after.temperature].into_iter().flatten().filter_map(|t| Some((t, t.room()?)));
    let (t, room) = hottest.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, room)| *room < NEAR)?;
    Some(format!(
        "throttled, perhaps: {} is at {} C and its limit at {} C: drives slow down there; cool it, and leave pauses between runs",
        d.name,
        three_digits(t.now_c),
        three_digits(t.now_c + room)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::made::{one, said};
    use crate::sys::link::{PcieLink, SataLink};
    use crate::sys::md::ArrayWork;
    use crate::sys::name::KernelName;
    use crate::sys::temperature::Temperature;

    const HALF: PcieLink = PcieLink { speed_gt_s: 8.0, width: 2, max_speed_gt_s: 8.0, max_width: 4 };
    const FULL: PcieLink = PcieLink { speed_gt_s: 8.0, width: 4, max_speed_gt_s: 8.0, max_width: 4 };

    #[test]
    fn a_link_below_its_maximum() {
        one(
            "8 GT/s x2 and could at 8 GT/s x4: 50%",
            &said(|m| m.host.devices[0].attachment.pcie = Some(HALF)),
        );
        assert_eq!(said(|m| m.host.devices[0].attachment.pcie = Some(FULL)), Vec::<String>::new());
        let sata = |limit| {
            let link = SataLink { speed_gbps: 1.5, limit_gbps: Some(limit), port_gbps: Some(6.0) };
            said(|m| m.host.devices[0].attachment.sata = Some(link))
        };
        one("1.5 of 6 Gbit/s: the kernel lowered it", &sata(1.5));
        one("drive or cable", &sata(6.0));
    }

    #[test]
    fn a_link_that_became_slower_and_a_drive_near_its_limit() {
        let got = said(|m| {
            m.host.devices[0].attachment.pcie = Some(FULL);
            m.host.devices[0].after.pcie = Some(HALF);
        });
        one("went from 8 GT/s x4 to 8 GT/s x2 during the run", &got);
        let heat = |before: f64, after: f64| {
            let t = |now_c| Some(Temperature { now_c, max_c: Some(82.0), critical_c: Some(85.0) });
            said(|m| {
                m.host.devices[0].temperature = t(before);
                m.host.devices[0].after.temperature = t(after);
            })
        };
        one("sda is at 81.0 C and its limit at 82.0 C", &heat(50.0, 81.0));
        assert_eq!(heat(50.0, 70.0), Vec::<String>::new());
    }

    #[test]
    fn an_array_that_is_rebuilt() {
        let array = |action: &str| {
            let work = ArrayWork {
                name: KernelName::new("md0").unwrap(),
                action: action.to_owned(),
                done_pct: Some(12.4),
            };
            said(|m| m.host.arrays = vec![work])
        };
        one("md0: recover in progress, 12% done", &array("recover"));
        assert_eq!(array("idle"), Vec::<String>::new());
    }
}
