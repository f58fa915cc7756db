//! What is known of every attribute of Linux 6.1 to 6.18, in the order that settings are shown.
//!
//! Sources: the kernel's `Documentation/ABI/stable/sysfs-block` and `Documentation/block/{bfq-iosched,kyber-iosched,
//! deadline-iosched}.rst`; what writes really do was tried on 6.1, 6.12 and 6.18.

use super::Group;

/// What an attribute takes, whatever the device.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// No kernel seen lets it be written.
    Shown,
    /// A scheduler of the queue's list.
    Scheduler,
    /// 0 or 1; the kernel takes any other number for 1.
    Flag,
    /// One of a few numbers.
    Numbers(&'static [&'static str]),
    /// `write back` or `write through`.
    Cache,
    /// A whole number.
    Number {
        /// Least that makes sense; below zero only where the kernel gives -1 a meaning of its own.
        least: i64,
        /// Greatest.
        most: Most,
        /// Values that stepping visits, ascending.
        steps: &'static [u64],
    },
}

/// The greatest value of a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Most {
    /// The kernel does not say.
    Untold,
    /// Fixed in the kernel.
    Is(u64),
    /// What another attribute of the queue reads.
    Attribute(&'static str),
    /// The kernel's limit under a scheduler; the driver's own depth, which is not told, under none.
    Requests,
}

/// What is fixed about one attribute, whatever the device.
#[derive(Debug)]
pub(super) struct Known {
    /// Name below `queue/`.
    pub(super) name: &'static str,
    /// Where it is shown.
    pub(super) group: Group,
    /// Unit of its numbers.
    pub(super) unit: &'static str,
    /// What it takes.
    pub(super) form: Form,
    /// One plain line.
    pub(super) explanation: &'static str,
}

const fn scheduler(name: &'static str, unit: &'static str, form: Form, explanation: &'static str) -> Known {
    Known { name, group: Group::Scheduler, unit, form, explanation }
}

const fn queue(name: &'static str, unit: &'static str, form: Form, explanation: &'static str) -> Known {
    Known { name, group: Group::Queue, unit, form, explanation }
}

const fn limit(name: &'static str, unit: &'static str, explanation: &'static str) -> Known {
    Known { name, group: Group::Limits, unit, form: Form::Shown, explanation }
}

const fn from(least: i64, steps: &'static [u64]) -> Form {
    Form::Number { least, most: Most::Untold, steps }
}

const fn up_to(least: i64, most: Most, steps: &'static [u64]) -> Form {
    Form::Number { least, most, steps }
}

/// bfq keeps its tunables in an `int`, and takes more for the greatest it can hold.
const INT: Most = Most::Is(i32::MAX as u64);

const READ_AHEAD: &[u64] = &[0, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
const REQUESTS: &[u64] = &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];
const COUNTS: &[u64] = &[0, 1, 2, 4, 8, 16, 32, 64, 128, 256];
const KIBS: &[u64] = &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 1280, 2048, 4096, 8192, 16384, 32767];
const MILLISECONDS: &[u64] = &[0, 20, 52, 100, 124, 248, 500, 1000, 2000, 5000, 10_000, 30_000];
const TIMEOUTS: &[u64] = &[1000, 5000, 10_000, 30_000, 60_000, 120_000];
const IDLE: &[u64] = &[0, 1, 2, 4, 8, 16];
const IDLE_US: &[u64] = &[0, 500, 1000, 2000, 4000, 8000, 16_000];
const BUDGETS: &[u64] = &[0, 1024, 4096, 16_384, 65_536];
const LATENCIES: &[u64] =
    &[100_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000, 100_000_000];
const WRITEBACK: &[u64] = &[0, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 75_000, 100_000];
// Not 0: on some kernels it can not be taken back, so it has to be typed.
const DISCARDS: &[u64] = &[1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30];

/// The attributes, group by group, those that matter most first.
#[rustfmt::skip] // one line a row reads as the table it is
pub(super) static KNOWN: &[Known] = &[
    scheduler("scheduler", "", Form::Scheduler, "who orders requests before the driver gets them; none passes them on as they come"),
    // mq-deadline
    scheduler("iosched/read_expire", "ms", from(0, MILLISECONDS), "mq-deadline: a read older than this goes first"),
    scheduler("iosched/write_expire", "ms", from(0, MILLISECONDS), "mq-deadline: a write older than this goes first"),
    scheduler("iosched/fifo_batch", "requests", from(0, COUNTS), "mq-deadline: requests of one direction sent in a row; fewer is fairer, more is faster on disks that seek"),
    scheduler("iosched/writes_starved", "rounds", from(0, COUNTS), "mq-deadline: how often reads may go ahead of waiting writes"),
    scheduler("iosched/front_merges", "", Form::Flag, "mq-deadline: 1 looks for merges in front of a request too; such I/O is rare"),
    scheduler("iosched/async_depth", "requests", from(1, COUNTS), "how many requests writes and read-ahead may hold, so that waited-for reads find room"),
    scheduler("iosched/prio_aging_expire", "ms", from(0, MILLISECONDS), "mq-deadline: after this long a lower I/O priority class gets its turn"),
    // kyber
    scheduler("iosched/read_lat_nsec", "ns", from(0, LATENCIES), "kyber: completion time it aims at for reads"),
    scheduler("iosched/write_lat_nsec", "ns", from(0, LATENCIES), "kyber: completion time it aims at for synchronous writes"),
    // bfq
    scheduler("iosched/low_latency", "", Form::Flag, "bfq: 1 favours interactive and soft real-time programs over throughput"),
    scheduler("iosched/slice_idle", "ms", from(0, IDLE), "bfq: how long to wait for a program's next request before serving others; 0 never waits"),
    scheduler("iosched/slice_idle_us", "us", from(0, IDLE_US), "bfq: slice_idle in microseconds; the two are one setting"),
    scheduler("iosched/strict_guarantees", "", Form::Flag, "bfq: 1 keeps one request in flight a time and always idles: exact shares, low throughput"),
    scheduler("iosched/timeout_sync", "ms", from(1, MILLISECONDS), "bfq: longest time a program keeps the device in one turn"),
    scheduler("iosched/max_budget", "sectors", up_to(0, INT, BUDGETS), "bfq: most data served in one turn; 0 lets bfq find it"),
    scheduler("iosched/fifo_expire_sync", "ms", up_to(1, INT, MILLISECONDS), "bfq: a synchronous request older than this goes first within its program"),
    scheduler("iosched/fifo_expire_async", "ms", up_to(1, INT, MILLISECONDS), "bfq: an asynchronous request older than this goes first within its program"),
    scheduler("iosched/back_seek_max", "KiB", up_to(0, INT, KIBS), "bfq: farthest backward seek it considers"),
    scheduler("iosched/back_seek_penalty", "", up_to(1, INT, COUNTS), "bfq: how many times dearer a backward seek counts than a forward one"),

    queue("rotational", "", Form::Flag, "1 treats it as a disk that seeks; read by bfq at once, by btrfs at mount and by swap at swapon"),
    queue("read_ahead_kb", "KiB", up_to(0, Most::Is(u32::MAX as u64), READ_AHEAD), "how far buffered sequential reads run ahead, in whole pages; 0 is off, direct I/O ignores it"),
    queue("nr_requests", "requests", up_to(4, Most::Requests, REQUESTS), "requests the queue holds before a submitter must wait; a switch of scheduler resets it"),
    queue("async_depth", "requests", up_to(1, Most::Attribute("nr_requests"), REQUESTS), "how many requests writes and read-ahead may hold under a scheduler"),
    queue("max_sectors_kb", "KiB", up_to(0, Most::Attribute("max_hw_sectors_kb"), KIBS), "largest request the kernel makes; larger I/O is split; 0 asks for the default"),
    queue("nomerges", "", Form::Numbers(&["0", "1", "2"]), "0 merges neighbouring I/O, 1 only in the cheap cases, 2 never"),
    queue("rq_affinity", "", Form::Numbers(&["0", "1", "2"]), "where completions run: 0 anywhere, 1 in the submitter's CPU group, 2 on the submitting CPU itself"),
    queue("wbt_lat_usec", "us", from(-1, WRITEBACK), "writeback is slowed when reads take longer than this; 0 is off (as bfq does), -1 the default"),
    queue("write_cache", "", Form::Cache, "write back: the kernel sends flushes; write through: it sends none, whatever the drive does"),
    queue("iostats", "", Form::Flag, "0 stops the counters of diskstats: nothing can be measured then"),
    queue("iostats_passthrough", "", Form::Flag, "1 counts commands that programs send past the block layer too"),
    queue("add_random", "", Form::Flag, "1 feeds completion times to the kernel's random pool; costs a little per I/O"),
    queue("stable_writes", "", Form::Flag, "1 keeps pages from changing while they are written, as checksumming devices need"),
    queue("io_timeout", "ms", up_to(1, Most::Is(u32::MAX as u64), TIMEOUTS), "how long a request may take before the driver's error handling starts"),
    queue("io_poll", "", Form::Flag, "1: queues that a submitter can poll exist; the driver decides, writing does nothing"),
    queue("io_poll_delay", "us", from(-1, &[]), "obsolete: the kernel ignores it and reads -1"),
    queue("discard_max_bytes", "bytes", up_to(0, Most::Attribute("discard_max_hw_bytes"), DISCARDS), "largest discard the kernel sends; 0 sends none"),
    queue("write_zeroes_unmap_max_bytes", "bytes", up_to(0, Most::Attribute("write_zeroes_unmap_max_hw_bytes"), &[0]), "largest write of zeroes that may unmap instead; 0 sends none"),
    queue("throttle_sample_time", "ms", from(1, COUNTS), "time window in which cgroup throttling takes its samples"),

    limit("logical_block_size", "bytes", "smallest unit the device can address; the step of direct I/O"),
    limit("physical_block_size", "bytes", "unit that the device writes without reading first"),
    limit("hw_sector_size", "bytes", "older name of logical_block_size"),
    limit("minimum_io_size", "bytes", "smallest I/O the device likes; the chunk of a RAID"),
    limit("optimal_io_size", "bytes", "I/O size the device likes best; the stripe of a RAID; 0 is not told"),
    limit("max_hw_sectors_kb", "KiB", "largest request the driver takes; upper end of max_sectors_kb"),
    limit("max_segments", "", "pieces of memory one request may have"),
    limit("max_segment_size", "bytes", "largest single piece of memory in a request"),
    limit("max_integrity_segments", "", "pieces of integrity data one request may have"),
    limit("dma_alignment", "bytes", "mask that buffers of direct I/O must be aligned to"),
    limit("virt_boundary_mask", "bytes", "mask at which the driver needs memory pieces to join"),
    limit("chunk_sectors", "sectors", "I/O is split at multiples of this; the zone size of zoned devices; 0 is none"),
    limit("fua", "", "1: single writes can be forced to the medium without a flush"),
    limit("dax", "", "1: memory that programs can map without the page cache"),
    limit("zoned", "", "none, host-aware or host-managed: whether writes must follow zones"),
    limit("nr_zones", "", "zones of a zoned device"),
    limit("max_open_zones", "", "zones that may be open at once; 0 is no limit"),
    limit("max_active_zones", "", "zones that may be open or closed part-written; 0 is no limit"),
    limit("zone_append_max_bytes", "bytes", "largest zone append"),
    limit("zone_write_granularity", "bytes", "unit of writes within a sequential zone"),
    limit("discard_granularity", "bytes", "unit in which the device frees space; 0 is no discard"),
    limit("discard_max_hw_bytes", "bytes", "largest discard the device takes; upper end of discard_max_bytes"),
    limit("max_discard_segments", "", "ranges one discard may have"),
    limit("discard_zeroes_data", "", "obsolete: always 0"),
    limit("write_zeroes_max_bytes", "bytes", "largest write of zeroes the device does by itself; 0 is none"),
    limit("write_zeroes_unmap_max_hw_bytes", "bytes", "largest unmapping write of zeroes the device takes"),
    limit("write_same_max_bytes", "bytes", "obsolete: always 0"),
    limit("atomic_write_max_bytes", "bytes", "largest write that is never torn; 0 is no promise"),
    limit("atomic_write_unit_min_bytes", "bytes", "smallest write that can be asked to be untorn"),
    limit("atomic_write_unit_max_bytes", "bytes", "largest write that can be asked to be untorn"),
    limit("atomic_write_boundary_bytes", "bytes", "an untorn write may not cross multiples of this; 0 is no such line"),
    limit("max_write_streams", "", "separate streams of writes the device tells apart"),
    limit("write_stream_granularity", "bytes", "unit in which a write stream fills the medium"),
];
