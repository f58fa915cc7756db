# Sourced: all readable attributes of a device's queue, as `NAME:CONTENT` lines, and what differs between two such files.
# shellcheck shell=sh

# snapshot DEVICE FILE
snapshot() { (cd "/sys/block/$1/queue" && grep -r '' . 2>/dev/null) | sed 's/^\.\///' | sort >"$2"; }

# moved FILE FILE: names of the attributes that differ, came or went; one a line, sorted.
moved() {
    awk '{ name = $0; sub(/:.*/, "", name) }
        FNR == 1 { file++ }
        { text[file, name] = text[file, name] $0; names[name] = 1 }
        END { for (n in names) if (text[1, n] != text[2, n]) print n }' "$1" "$2" | sort
}

# told FILE FILE: the same in words, for a message: name and both contents.
told() {
    for name in $(moved "$1" "$2"); do
        echo "$name was [$(grep "^$name:" "$1" | cut -d: -f2-)] is [$(grep "^$name:" "$2" | cut -d: -f2-)]"
    done | tr '\n\t' '; '
}
