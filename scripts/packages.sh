# Functions that install and build. They print nothing if there is nothing to do, otherwise what they install or build
# and every error. Sourced by ./x and test/cross/run.

fail() { echo "${0##*/}: $*" >&2; exit 1; }

# Runs a command with much output: prints nothing if it succeeds, all output if it fails.
quietly() {
  local log
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then rm -f "$log"; return 0; fi
  cat "$log" >&2
  rm -f "$log"
  echo "failed: $*" >&2
  return 1
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
available() { apt-cache show "$1" >/dev/null 2>&1; }

# Once per command.
apt_update() {
  [ -z "${apt_is_current:-}" ] || return 0
  command -v apt-get >/dev/null || fail "this machine has no apt-get; install the like of these Debian packages: $*"
  quietly as_root apt-get update -q
  apt_is_current=1
}

# Installs the missing ones of the given Debian packages.
install_packages() {
  local p missing=()
  for p in "$@"; do installed "$p" || missing+=("$p"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing: ${missing[*]}"
  apt_update "${missing[@]}"
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "${missing[@]}"
}

# Forwards ninja's output: progress in one line of a terminal, line by line elsewhere.
show_progress() {
  local line columns
  columns=$(tput cols 2>/dev/null) || columns=80
  local before=""
  while IFS= read -r line; do
    case $line in
      'ninja: no work to do.' | *'] Re-checking globbed directories...') ;;
      \[*/*\]\ *)
        if [ -t 1 ]; then printf '\r\e[K%.*s' $((columns - 1)) "$line"; before=$'\n'; else echo "$line"; fi ;;
      *) printf '%s%s\n' "$before" "$line"; before="" ;;
    esac
  done
  printf '%s' "$before"
}

# build_folder FOLDER [--target NAME…]
build_folder() { cmake --build "$@" 2>&1 | show_progress; }
