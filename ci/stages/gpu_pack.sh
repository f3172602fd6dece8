# shellcheck shell=bash disable=SC2154  # variables of ci/gpu
# Part of ci/gpu: what travels to a machine with a GPU. Uses ci/gpu's say, misused, lacks, mib, commit, root, prefix, work.

# Their libraries are shared ones with many more behind them, and the program does without.
stays=" libdnnl-dev libgloo-dev "

packages() {  # of what ci/setup installs, those of which something travels
  local package
  for package in $(sed -n '/^needed=(/,/)/{s/^needed=(//;s/)//;p}' ci/setup) libgtest-dev libgmock-dev; do
    case "$package:$stays" in
      *:*" $package "*) ;;
      *-dev:*|dataset-*) echo "$package" ;;
    esac
  done
}

# A library that is there as a static one travels as that only: headers, CMake's files, libraries with all their names, licence.
files_of() {
  local file
  dpkg -L "$1" | while IFS= read -r file; do
    case "$file" in
      */*-shared.cmake) ;;
      /usr/include/*|/usr/share/cmake/*|/usr/lib/*/cmake/*|/usr/share/datasets/*|/usr/lib/*/lib*.a|/usr/share/doc/"$1"/copyright)
        [ ! -f "$file" ] || echo "$file" ;;
      /usr/lib/*/lib*.so) [ -f "${file%.so}.a" ] || ls "$file"* ;;
    esac
  done
}

# Boost's headers are 200 MB, so just those that ours include; its -dev packages are empty but for those that they depend on.
files_of_boost() {
  local context any
  context=$(dpkg-query -W -f '${Depends}' "$1" | grep -o 'libboost-context[0-9.]*-dev')
  any=$(dpkg-query -W -f '${Depends}' "$context" | grep -o 'libboost[0-9.]*-dev')
  files_of "$context"
  dpkg -L "$any" | grep '/cmake/.*\.cmake$'
  grep -rhE '^#include <boost/' --include='*.cpp' --include='*.h' --exclude-dir=build --exclude-dir=.gpu . | sort -u |
    g++ -std=c++20 -x c++ -M - | grep -o '/usr/include/boost/[^ ]*'
}

files() {
  case "$1" in
    libboost-context-dev) files_of_boost "$1" ;;
    *) files_of "$1" ;;
  esac | sort -u
}

bytes_of_checkout() {
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard | bytes_of
  else
    find . \( -name .gpu -o -name 'build*' -o -name hopbench-results \) -prune -o -type f -print0 | bytes_of
  fi
}

bytes_of_programs() { if [ -d "$prefix/bin" ]; then find "$prefix/bin" -type f -print0 | bytes_of; else echo 0; fi; }

# A line a package, tab-separated: name, version, files, bytes. Sets `total`, `missing` and `too_large`.
plan() {
  local package list bytes
  total=$(($(bytes_of_checkout) + $(bytes_of_programs))) missing="" too_large=""
  : >"$work/plan"; : >"$work/files"
  for package in $(packages); do
    if [ -z "$(installed "$package")" ]; then missing+=" $package"; continue; fi
    list=$(files "$package")
    bytes=$(tr '\n' '\0' <<<"$list" | bytes_of)
    case "$package" in dataset-*)
      if [ $((total + bytes)) -gt "$most" ]; then too_large+=" $package ($(mib "$bytes"))"; continue; fi
    esac
    total=$((total + bytes))
    printf '%s\t%s\t%s\t%s\n' "$package" "$(dpkg-query -W -f '${Version}' "$package")" "$(wc -l <<<"$list")" "$bytes" >>"$work/plan"
    printf '%s\n' "$list" >>"$work/files"
  done
}

show_plan() {  # FILE of such lines, and the checkout
  printf '%-28s %-20s %5s  %s\n' "what travels" version files size
  printf '%-28s %-20s %5s  %s\n' "this checkout" "" "" "$(mib "$(bytes_of_checkout)")"
  [ ! -d "$prefix/bin" ] || printf '%-28s %-20s %5s  %s\n' "programs for sm_$(cat "$prefix/bin/capability")" "$(cat "$prefix/bin/commit")" "" "$(mib "$(bytes_of_programs)")"
  local package version files bytes
  while IFS=$'\t' read -r package version files bytes; do
    printf '%-28s %-20s %5s  %s\n' "$package" "$version" "$files" "$(mib "$bytes")"
  done <"$1"
}

dry_run() {
  if command -v dpkg-query >/dev/null; then
    plan
    show_plan "$work/plan"
    [ -z "$missing" ] || echo "not installed, so not packed (ci/setup installs it):$missing"
    [ -z "$too_large" ] || echo "does not fit:$too_large"
    echo "stays here:$stays(shared libraries; the program is built without)"
  elif [ -f "$prefix/packages.txt" ]; then
    show_plan "$prefix/packages.txt"
    total=$(($(bytes_of_checkout) + $(bytes_of_programs) + $(awk -F'\t' '{ sum += $4 } END { print sum + 0 }' "$prefix/packages.txt")))
  else
    total=$(bytes_of_checkout)
    show_plan /dev/null
    echo "no packages: they are gathered on a Debian machine (ci/gpu pack), and .gpu/ is not there"
  fi
  echo "total $(mib "$total") of $(mib "$most")"
  [ "$total" -le "$most" ] || { say "this does not fit: remove large files from the checkout"; exit 1; }
}

pack() {
  local folder=$1 new
  command -v dpkg-query >/dev/null || lacks "packing reads the lists of Debian's packages, and there is no dpkg-query: pack on the Debian machine that ci/setup has set up"
  if [ -e "$folder" ] && [ ! -f "$folder/packages.txt" ] && [ -n "$(ls -A "$folder")" ] && [ "$(ls -A "$folder")" != bin ]; then
    misused "$folder is no folder that this has packed: name an empty one"
  fi
  plan
  [ -z "$missing" ] || lacks "these packages are not installed, so they cannot be packed:$missing: run ci/setup first"
  if [ "$total" -gt "$most" ]; then
    show_plan "$work/plan" >&2
    say "this is $(mib "$total"), over $(mib "$most"): remove large files from the checkout"
    exit 1
  fi
  new=$folder.new
  rm -rf "$new"
  mkdir -p "$new"
  if [ -d "$folder/bin" ]; then cp -a "$folder/bin" "$new/"; fi
  sort -u "$work/files" | sed 's|^/usr/||' | tar -C /usr -ch --files-from=- | tar -C "$new" -x --no-same-owner
  cp "$work/plan" "$new/packages.txt"
  rm -rf "$folder"
  mv "$new" "$folder"
  show_plan "$work/plan"
  [ -z "$too_large" ] || echo "does not fit:$too_large"
  echo "total $(mib "$total") of $(mib "$most"), packed into $folder"
}

# Programs for one kind of GPU, with the libraries beside them that a bare machine lacks: so nothing is built there.
build_programs() {
  local capability=$1 folder=$prefix/bin program library
  find_nvcc
  find_build_tools
  find_python
  find_cudnn_headers
  cmake --preset release -B "$root/build/gpu_programs" -DHOPBENCH_CUDA=ON -DHOPBENCH_GLOO=OFF -DHOPBENCH_ONEDNN=OFF -DCMAKE_CUDA_COMPILER="$nvcc" \
    -DNVCC="$nvcc" -DCUDNN_INCLUDE="$cudnn" -DCMAKE_CUDA_ARCHITECTURES="$capability-real" "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath,\\\$ORIGIN" >&2
  ninja -C "$root/build/gpu_programs" hopbench cuda_gpu_test gpu_probe >&2
  # shellcheck disable=SC2016
  readelf -d "$root/build/gpu_programs/hopbench" | grep -F '[$ORIGIN]' >/dev/null || { say "the programs would not find the libraries beside them"; exit 1; }
  rm -rf "$folder"
  mkdir -p "$folder"
  for program in hopbench tests/cuda_gpu_test tests/gpu_probe; do
    strip -o "$folder/${program##*/}" "$root/build/gpu_programs/$program"
    for library in $(ldd "$root/build/gpu_programs/$program" | awk '$3 ~ /^\// { print $3 }'); do
      case "${library##*/}" in
        libc.so*|libm.so*|libpthread*|libdl.so*|librt.so*|libstdc++*|libgcc_s*) ;;
        *) cp -Lf "$library" "$folder/" ;;
      esac
    done
  done
  echo "$capability" >"$folder/capability"
  echo "$(commit)$(changed)" >"$folder/commit"
  echo "programs for sm_$capability, of $(cat "$folder/commit"): $(mib "$(bytes_of_programs)") in $folder"
}
