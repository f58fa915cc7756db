# Sourced: what is asked of blktune on one device. Each step is a function that returns 0 if it held, else prints why not.
# The caller sets dev (kernel name), kind and exempt (from `kinds`) and list (facts of `list --json --all`, see
# list_facts), and has taken a snapshot into the file `before`. Steps that change something take it anew, so that one
# which leaves something behind is blamed once. jq is slow to start here, so it is started once a step.
# shellcheck shell=sh disable=SC2154

q() { cat "/sys/block/$dev/queue/$1"; }
# Without a request queue there is a file that says none (6.1) or none at all (6.12).
active() {
    now=$(q scheduler 2>/dev/null | sed 's/.*\[\(.*\)\].*/\1/')
    echo "${now:-none}"
}

# blk FILE ARGUMENTS...: blktune with its answer in $dev.FILE.json; a minute is more than any of this takes.
blk() {
    answer=$dev.$1.json said=$dev.$1.err
    shift
    timeout -s KILL 60 blktune "$@" >"$answer" 2>"$said"
    code=$?
}
ended() { [ "$code" = "$1" ] || { echo "exit $code, not $1: $(head -c 300 "$said")"; return 1; }; }

# list_facts FILE: a line a device of what `list` said.
list_facts() {
    jq -r '.devices[] | [.name, .kind, .size_bytes, .read_ahead_kib, .scheduler.active // "none",
        if .hidden then "hidden" else "open" end, .path // "none"] | map(tostring) | join(" ")' "$1"
}

# The device is in the list, under the right kind, as large as the kernel says, with the scheduler the kernel says.
step_list() {
    said=$(grep "^$dev " "$list") || { echo 'not in the list'; return 1; }
    right="$dev $kind $(($(cat "/sys/block/$dev/size") * 512)) $(q read_ahead_kb) $(active)"
    if [ -e "/sys/block/$dev/dev" ]; then right="$right open "; else right="$right hidden none"; fi
    case $said in
        *" open none") echo "no path: $said"; return 1 ;;
        "$right"*) ;;
        *) echo "said $said, right is $right"; return 1 ;;
    esac
}

# Every attribute that can be read is shown, with what it reads.
step_show() {
    blk show show "$dev" --json
    ended 0 || return
    sed "s/^scheduler:.*/scheduler:$(active)/" before | { cat; echo "is:$dev $kind"; } | sort >show.have
    jq -r '(.settings[] | select(.value != null and .value != "") | "\(.name):\(.value)"), "is:\(.name) \(.kind)"' \
        "$answer" | sort >show.told
    differs=$(told show.have show.told)
    [ -z "$differs" ] || { echo "in /sys and as shown: $differs"; return 1; }
}

# The one change that the device is good for: another scheduler, or where there is none, read-ahead.
step_set() {
    other=$(q scheduler 2>/dev/null | tr ' ' '\n' | grep -v -e '\[' -e '^none$' | head -n 1)
    if [ -n "$other" ]; then
        wanted="scheduler=$other"
    else
        wanted="read_ahead_kb=$(($(q read_ahead_kb) + 64))"
    fi
    snapshot "$dev" before
    blk set set "$dev" "$wanted" --json
    applied "$wanted"
}
step_undo() { taken_back undo; }

# The queue's length alone, under the scheduler that is there. Where there is no queue, read-ahead off; and where it is
# shorter than the least that the kernel lets anyone write (a USB stick's 2 of 4): undo then answers that it got 4.
step_depth() {
    wanted=read_ahead_kb=0
    if has_scheduler && [ "$(q nr_requests)" -ge 4 ]; then
        wanted=nr_requests=$(($(q nr_requests) + 5))
        # Under none the driver's number is the most there is.
        [ "$(active)" != none ] || wanted=nr_requests=$(($(q nr_requests) / 2 + 3))
    fi
    snapshot "$dev" before
    blk depth set "$dev" "$wanted" --json
    applied "$wanted"
}
step_undepth() { taken_back undepth; }

# Several at once, in an order that would undo itself if it were written as typed.
step_several() {
    wanted="read_ahead_kb=$(($(q read_ahead_kb) + 192)) rotational=$((1 - $(q rotational)))"
    if has_scheduler; then
        other=mq-deadline
        [ "$(active)" != $other ] || other=kyber
        wanted="$wanted nr_requests=37 scheduler=$other"
    fi
    snapshot "$dev" before
    # shellcheck disable=SC2086 # one argument a change
    blk several set "$dev" $wanted --json
    applied "$wanted"
}
step_back() { taken_back back; }

# An echo leaves the driver fewer tags than the queue says once the scheduler is none again; blktune does not.
step_tags() {
    # One of each sort of driver is enough: each start of a program takes its time here.
    case $row in virtio-blk | nvme | scsi_debug | loop) ;; *) return 77 ;; esac
    if [ "$(tags)" = '' ]; then echo 'debugfs shows no tags'; return 1; fi
    echo none >"/sys/block/$dev/queue/scheduler"
    snapshot "$dev" before
    echo $(($(q nr_requests) / 2 + 3)) >"/sys/block/$dev/queue/nr_requests"
    echo kyber >"/sys/block/$dev/queue/scheduler"
    blk tags set "$dev" scheduler=none --json
    ended 0 || return
    [ "$(tags)" = "$(q nr_requests)" ] || { echo "$(tags) tags, and nr_requests is $(q nr_requests)"; return 1; }
    as_before
}
tags() { sed -n 's/^depth=//p' "/sys/kernel/debug/block/$dev/hctx0/tags" | head -n 1; }

# What can not be: under the scheduler none, which is taken first where there is one, no driver has a million requests.
# Nothing is changed in the end.
step_refused() {
    wanted=scheduler=nosuch
    ! has_scheduler || wanted='scheduler=none nr_requests=1000000'
    snapshot "$dev" before
    # shellcheck disable=SC2086 # one argument a change
    blk refused set "$dev" "read_ahead_kb=$(($(q read_ahead_kb) + 64))" $wanted --json
    ended 10 || return
    grep -q '"rolled_back": *true' "$answer" || { echo "not rolled back: $(tr -d '\n' <"$answer")"; return 1; }
    as_before
}
has_scheduler() { q scheduler 2>/dev/null | grep -q '\['; }

# A short read: no errors, and the engine has read what the device says that it gave. A device that may be uncounted is
# said to be so, if its queue says so too.
step_run() {
    blk run run randread-4k "/dev/$dev" --set runtime=300ms --set ramp=0s --json
    ended 0 || return
    as_counted read
}

# As the device says, or said to be uncounted.
as_counted() { # read|write
    uncounted=false
    case $exempt in uncounted:*) [ "$(q iostats)" != 0 ] || uncounted=true ;; esac
    # shellcheck disable=SC2016 # jq's own
    jq -r --argjson uncounted $uncounted --arg side "$1" '
        .total[$side] as $engine | .device[$side + "_bytes"] as $device |
        if $engine.ios == 0 or $engine.errors > 0 then "\($side): \($engine.ios) times, \($engine.errors) errors"
        elif $uncounted and $device == null and any(.warnings[]; contains("iostats is 0")) then empty
        elif $engine.bytes != $device then
            "\($side): the engine \($engine.bytes) bytes, the device \($device): \(.device), \(.warnings)"
        else empty end' "$answer" >run.wrong || { echo "no JSON: $(head -c 300 "$answer")"; return 1; }
    [ ! -s run.wrong ] || { cat run.wrong; return 1; }
}

# Polled where the queue can be, and then an NVMe device interrupts nobody; refused elsewhere.
step_polled() {
    # One that can not be is enough: each start of a program takes its time here.
    [ "$(q io_poll 2>/dev/null)" = 1 ] || [ "$row" = virtio-blk ] || return 77
    interrupts=$(interrupts)
    blk polled run randread-4k "/dev/$dev" --set engine=io_uring --set hipri=1 --set iodepth=4 --set ramp=0s \
        --set runtime=20s --set number_ios=1000 --json
    if [ "$(q io_poll 2>/dev/null)" != 1 ]; then
        ended 2 && { grep -q 'queues that can be polled' "$said" || { echo "said $(cat "$said")"; return 1; }; }
        return
    fi
    ended 0 || return
    jq -e '(.engine | contains("polled")) and .total.read.ios == 1000' "$answer" >polled.is ||
        { echo "not polled: $(jq -c '.engine, .total.read.ios' "$answer")"; return 1; }
    as_counted read || return
    case $dev in nvme*) ;; *) return ;; esac
    interrupts=$(($(interrupts) - interrupts))
    [ $interrupts -lt 100 ] || { echo "$interrupts interrupts in 1000 polled reads"; return 1; }
}
interrupts() { awk '/nvme/ { for (i = 2; i < 4; i++) n += $i } END { print n + 0 }' /proc/interrupts; }

# A write that is armed: done, if nobody uses the device; else refused, and not a byte of it changes.
step_write() {
    case $row in
        virtio-blk | nvme* | scsi_debug | loop | zram | dvd | sata-* | dm-linear | md-*) ;;
        *) return 77 ;;
    esac
    # Random places are no order that its zones take.
    [ "$(q zoned 2>/dev/null || echo none)" = none ] || { echo 'zones take writes in their order only'; return 77; }
    content=$(content)
    armed write
    if [ -n "$(ls "/sys/block/$dev/holders")" ]; then refused 'in use'; return; fi
    if [ "$(cat "/sys/block/$dev/ro")" = 1 ] || [ "$kind" = optical ]; then refused read-only; return; fi
    ended 0 || return
    as_counted write || return
    [ "$(jq -r .wrote_device "$answer")" = "$dev" ] || { echo "no wrote_device: $(jq .wrote_device "$answer")"; return 1; }
    # null_blk keeps nothing.
    [ "$content" != "$(content)" ] || case $dev in nullb*) ;; *) echo 'nothing changed on it'; return 1 ;; esac
}
armed() { # FILE
    blk "$1" run randwrite-4k "/dev/$dev" --write-device "$dev" --set ramp=0s --set runtime=20s --set number_ios=64 --json
}
refused() { # WORDS
    ended 6 || return
    grep -q "$1" "$said" || { echo "refused, but without $1: $(cat "$said")"; return 1; }
    [ "$content" = "$(content)" ] || { echo 'refused, but something was written'; return 1; }
}
content() { head -c 33554432 "/dev/$dev" | md5sum; }

# The same, once it is swap, and once a partition of it is mounted.
step_used() {
    case $row in virtio-blk | scsi_debug) ;; *) return 77 ;; esac
    { mkswap "/dev/$dev" && swapon "/dev/$dev"; } >used.said 2>&1 || { echo "no swap: $(cat used.said)"; return 1; }
    content=$(content)
    armed swap
    refused swap
    bad=$?
    swapoff "/dev/$dev"
    [ $bad = 0 ] || return 1
    # Gone, or the partition table would be the second thing on it.
    dd if=/dev/zero of="/dev/$dev" bs=64k count=1 conv=fsync 2>/dev/null
    part=$dev$(case $dev in *[0-9]) echo p ;; esac)1
    { printf 'n\np\n1\n\n\nw\n' | fdisk "/dev/$dev"; blockdev --rereadpt "/dev/$dev"; sleep 1; mke2fs "/dev/$part" &&
        mkdir -p "/tmp/$part" && mount -t ext4 -o ro "/dev/$part" "/tmp/$part"; } >used.said 2>&1 ||
        { echo "not mounted: $(tail -c 300 used.said)"; return 1; }
    content=$(content)
    armed mounted
    refused "/tmp/$part"
    bad=$?
    umount "/tmp/$part"
    return $bad
}

# applied CHANGES: they read back in /sys, and all that moved besides is told as a side effect, and nothing else is.
applied() {
    ended 0 || return
    for change in $1; do
        name=${change%%=*}
        now=$(if [ "$name" = scheduler ]; then active; else q "$name"; fi)
        [ "$now" = "${change#*=}" ] || { echo "asked for $change, reads $now"; return 1; }
    done
    snapshot "$dev" after
    { moved before after; echo "rolled back: false"; } | sort >set.have
    jq -r '(.changes[] | .name + (if .outcome == "applied" then "" else " " + .outcome end)), .side_effects[].name,
        "rolled back: \(.rolled_back)"' "$answer" | sort >set.told
    differs=$(diff set.have set.told | grep '^[+-][^+-]' | tr '\n' ' ')
    [ -z "$differs" ] || { echo "moved in /sys (-) but told (+): $differs"; return 1; }
}

# taken_back FILE: undo, and every readable attribute is as it was.
taken_back() {
    blk "$1" undo "$dev" --json
    ended 0 || return
    as_before
}
as_before() {
    snapshot "$dev" after
    cmp -s before after || { echo "not as before: $(told before after)"; return 1; }
}
