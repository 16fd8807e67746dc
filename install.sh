#!/bin/sh
# Installs the command: takes the archive for this computer, compares its sum, and puts `ptc` into a folder.
#
#   PTC_FROM   where archives and SHA256SUMS are: a folder, or a URL
#   PTC_TO     the folder for the command (~/.local/bin)
#
#   cargo xtask dist && PTC_FROM=target/dist sh install.sh
set -eu

fail() { echo "install.sh: $1" >&2; exit 1; }

from=${PTC_FROM:-}
[ -n "$from" ] || fail "set PTC_FROM to the folder or the URL with the archives; nothing is published yet"
to=${PTC_TO:-${HOME:?}/.local/bin}

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) targets="x86_64-unknown-linux-gnu x86_64-unknown-linux-musl" ;;
  Linux-aarch64) targets="aarch64-unknown-linux-gnu aarch64-unknown-linux-musl" ;;
  Darwin-arm64) targets="aarch64-apple-darwin" ;;
  Darwin-x86_64) targets="x86_64-apple-darwin" ;;
  *) fail "there is no archive for $(uname -s) on $(uname -m); build it: cargo install --locked --path crates/ptc" ;;
esac

# Of one file of the place.
fetch() {
  case "$from" in
    http://* | https://*) curl --proto '=https,http' --fail --silent --show-error --location "$from/$1" --output "$2" ;;
    *) cp "$from/$1" "$2" ;;
  esac
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch SHA256SUMS "$work/SHA256SUMS" || fail "there is no SHA256SUMS in $from"
for target in $targets; do
  archive=$(sed -n "s/^[0-9a-f]*  \(ptc-.*-$target\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS" | head -n 1)
  [ -z "$archive" ] || break
done
[ -n "$archive" ] || fail "$from has no archive for: $targets"

fetch "$archive" "$work/$archive" || fail "$archive cannot be fetched"
sum=$(sha256sum "$work/$archive" 2>/dev/null || shasum -a 256 "$work/$archive")
grep -q "^${sum%% *}  $archive\$" "$work/SHA256SUMS" || fail "$archive is not what SHA256SUMS says; nothing is installed"

tar -xzf "$work/$archive" -C "$work"
mkdir -p "$to"
# In one step, so that a command that runs is never half of one.
cp "$work/${archive%.tar.gz}/ptc" "$to/.ptc.new"
chmod 755 "$to/.ptc.new"
mv "$to/.ptc.new" "$to/ptc"
echo "installed $to/ptc"
case ":$PATH:" in *":$to:"*) ;; *) echo "add $to to your PATH" ;; esac
