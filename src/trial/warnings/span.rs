//! Whether what was measured fits into a cache that is known.

use super::Facts;
use crate::units::Bytes;

impl Facts<'_> {
    pub(super) fn on_span(&self) -> Option<String> {
        let memory = self.host.memory.total_bytes?;
        let span = self.jobs.iter().map(|j| self.span_of(j)).max()?;
        if span >= memory {
            return None;
        }
        let below: Vec<String> = self
            .host
            .devices
            .iter()
            .filter(|d| d.file_cached == Some(true))
            .map(|d| d.name.kernel())
            .collect();
        if !below.is_empty() {
            return Some(format!(
                "{} keeps its file in the page cache (loop/dio is 0), and {span} fit into {memory} of memory: memory may have been measured; use losetup --direct-io=on",
                below.join(", ")
            ));
        }
        let moved = self.outcome.total.bytes();
        let cached = self.jobs.iter().any(|j| !j.direct);
        // What is read for the first time after caches were dropped can not come from them.
        let again = moved > span
            || self
                .jobs
                .iter()
                .any(|j| !j.direct && j.drop_caches == crate::workload::durability::DropCaches::None);
        (cached && again).then(|| {
            format!(
                "buffered I/O on {span}, of which {moved} were moved, fits into {memory} of memory: much of it never waited for the device; use a span beyond memory, or direct=true"
            )
        })
    }

    fn span_of(&self, job: &crate::workload::job::Job) -> Bytes {
        let rest = Bytes(self.target.0.saturating_sub(job.offset.0));
        job.size.map_or(rest, |s| s.min(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{Made, one, said};
    use crate::units::Bytes;
    use crate::workload::durability::DropCaches;

    #[test]
    fn a_buffered_span_that_fits_into_memory() {
        let buffered = |span: u64, drop: DropCaches| {
            said(|m: &mut Made| {
                m.host.memory.total_bytes = Some(Bytes(8 << 30));
                (m.job.direct, m.job.drop_caches) = (false, drop);
                m.job.size = Some(Bytes(span));
            })
        };
        // A GiB was read.
        one("buffered I/O on 512 MiB", &buffered(512 << 20, DropCaches::Target));
        one("buffered I/O on 2.00 GiB", &buffered(2 << 30, DropCaches::None));
        assert_eq!(buffered(2 << 30, DropCaches::Target), Vec::<String>::new(), "each byte was read once");
        assert_eq!(buffered(16 << 30, DropCaches::None), Vec::<String>::new());
    }

    #[test]
    fn a_loop_device_that_answers_from_the_page_cache() {
        let got = said(|m| {
            m.host.memory.total_bytes = Some(Bytes(8 << 30));
            m.target = Bytes(64 << 20);
            m.host.devices[0].file_cached = Some(true);
        });
        one("64.0 MiB fit into 8.00 GiB", &got);
    }
}
