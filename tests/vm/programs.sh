# Sourced: putting programs of this machine, with the libraries they need, into the tree of an initramfs.
# shellcheck shell=bash

# copy_program COMMAND|FILE ROOT: into ROOT/bin.
copy_program() {
    local file library
    file=$(command -v "$1") || { printf 'vm: no %s here\n' "$1" >&2; return 1; }
    mkdir -p "$2/bin"
    rm -f "$2/bin/${file##*/}"
    cp -L "$file" "$2/bin/"
    # A static program has none, which ldd calls a failure.
    { ldd "$file" 2>/dev/null || true; } | grep -o '/[^ )]*' | while read -r library; do
        mkdir -p "$2${library%/*}"
        cp -L "$library" "$2$library"
    done
}

# pack ROOT: the tree as a compressed archive that the kernel unpacks, on stdout.
pack() { (cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1); }
