# shellcheck shell=bash
# What the scripts of ci/ share; they source it. Sets root (the checkout) and self (the script, as it names itself in messages).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
self=$(cd "$(dirname "$0")" && pwd)/${0##*/}
self=${self#"$root/"}

say() { echo "$self: $*" >&2; }
misused() { say "$*"; exit 2; }
lacks() { say "$*"; exit 6; }

# show_help: prints the comment at the beginning of the script.
show_help() { sed -n '2,/^set -/{/^#/s/^# \{0,1\}//p}' "$0"; }

# take_json WORD...: sets json to the file that --json names ("" without), and words to the other words.
take_json() {
  json="" words=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --json) json=$(realpath "${2:?--json wants a file}"); shift 2 ;;
      *) words+=("$1"); shift ;;
    esac
  done
}

# program_under_test: prints $HOPBENCH, or the program that ci/setup builds.
program_under_test() {
  local build
  if [ -n "${HOPBENCH:-}" ]; then echo "$HOPBENCH"; else build=$("$root/ci/setup" hopbench) && echo "$build/hopbench"; fi
}

# installed PACKAGE...: prints those that are; dpkg-query fails over a package that it never heard of, which is no failure here.
installed() { { dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true; } | sed -n 's/^installed //p'; }

# install_packages PACKAGE...: installs those that are missing, on Debian and Ubuntu. Exits with 6 if that fails.
install_packages() {
  local have as_root=() missing=() package
  have=" $(installed "$@" | tr '\n' ' ')"
  for package in "$@"; do
    case "$have" in *" $package "*) ;; *) missing+=("$package") ;; esac
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || lacks "no apt-get here: install what Debian calls ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || lacks "these packages are missing and neither root nor sudo is at hand: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  {
    "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
  } >&2 || lacks "installing packages failed (see above)"
}

# --- Steps of ci/test and ci/check. Costs are kept in ~/.cache/hopbench/steps.tsv, a line a step: date, commit, step, seconds of CPU time, seconds.

# step SCRIPT NAME COMMAND...: runs the command; says whether it passed and what it cost. A cost that is a quarter above the median of the
# last five runs on this machine is reported; a step does not fail over it. A command that returns 77 could not run here, and said why.
step() {
  local script=$1 name=$2 kept=${XDG_CACHE_HOME:-$HOME/.cache}/hopbench/steps.tsv TIMEFORMAT='%U %S %R' cost failed=0 cpu seconds usual
  shift 2
  cost=$(mktemp)
  { time "$@" 2>&4; } 4>&2 2>"$cost" || failed=$?
  read -r cpu seconds < <(awk '{ printf "%.0f %.0f\n", $1 + $2, $3 }' "$cost")
  rm -f "$cost"
  [ "$failed" != 77 ] || { echo "$script: $name skipped (see above)"; return 0; }
  [ "$failed" = 0 ] || { echo "$script: $name failed after $seconds s" >&2; return "$failed"; }
  echo "$script: $name passed in $seconds s, $cpu s of CPU time"
  mkdir -p "$(dirname "$kept")" && touch "$kept"
  usual=$(awk -F'\t' -v name="$name" '$3 == name { print $4 }' "$kept" | tail -n 5 | sort -n |
    awk '{ all[NR] = $1 } END { if (NR > 0) print all[int((NR + 1) / 2)] }')
  [ -z "$usual" ] || [ $((4 * cpu)) -le $((5 * usual)) ] || echo "$script: $name usually takes $usual s of CPU time here"
  printf '%s\t%s\t%s\t%s\t%s\n' "$(date -u +%F)" "$(git -C "$root" log -1 --format=%h)" "$name" "$cpu" "$seconds" >>"$kept"
}

# free_mib FOLDER: MiB left on its disk.
free_mib() { df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) }'; }

# make_room STEP: where under 3 GiB are left, the build folder that no step after this one wants goes. ccache keeps most of what it was made of.
make_room() {
  local folder free
  case "$1" in
    tidy|cuda|tsan) folder=$root/build/$1 ;;
    fuzz) folder=$root/build/asan ;;
    *) return 0 ;;
  esac
  free=$(free_mib "$root")
  [ "$free" -lt 3072 ] && [ -d "$folder" ] || return 0
  echo "$folder goes: only $free MiB are left on this disk"
  rm -rf "$folder"
}
