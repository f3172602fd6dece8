# shellcheck shell=bash disable=SC2154,SC2034  # variables of ci/gpu
# Part of ci/gpu: its stages. A stage returns 0: passed, 77: skipped, 78: it could not begin, 124: it took too long, else: failed; and
# says in `reason` what there is to say. What it leaves in $raw is published as soon as it ends.

left() { echo $((stage_end - SECONDS > 1 ? stage_end - SECONDS : 1)); }
# In the background, so that who ends this script ends what runs, too.
within() { timeout -k 10 "$@" & wait $!; }
limited() { within "$(left)" "$@"; }
with_libraries() { limited env LD_LIBRARY_PATH="$library_path" "$@"; }
short() { tail -c $((1 << 20)) "$1" >"$1.end" && mv "$1.end" "$1"; }  # logs are of a MiB at most

wanted() {
  case ",$only," in ,,|*,"$1",*) ;; *) return 1 ;; esac
  ! grep -q "^$1	passed	" "$raw/stages.tsv" 2>/dev/null
}

note_stage() {  # NAME OUTCOME SECONDS REASON
  touch "$raw/stages.tsv"
  { grep -v "^$1	" "$raw/stages.tsv" || true; } >"$work/stages.tsv"
  printf '%s\t%s\t%s\t%s\n' "$@" >>"$work/stages.tsv"
  mv "$work/stages.tsv" "$raw/stages.tsv"
}

interrupted() {
  trap '' TERM INT HUP
  local running
  running=$(jobs -p)
  # shellcheck disable=SC2086
  if [ -n "$running" ]; then kill $running 2>/dev/null || true; wait || true; fi
  if [ -n "${stage_name:-}" ]; then note_stage "$stage_name" failed $((SECONDS - stage_begin)) "interrupted"; fi
  if [ -f "${raw:-}/stages.tsv" ]; then
    if [ -s "$raw/bench.jsonl" ]; then "$python" ci/stages/gpu_tables.py "$raw" || true; fi
    publish_or_say
    say "interrupted${stage_name:+ in $stage_name}: $out has what there is"
  fi
  exit "$1"
}

# stage NAME SECONDS FUNCTION
stage() {
  local name=$1 seconds=$2 begin=$SECONDS code=0 outcome
  wanted "$name" || return 0
  stage_name=$name stage_begin=$begin
  if [ $((deadline - SECONDS)) -lt "$seconds" ]; then seconds=$((deadline - SECONDS)); fi
  reason=""
  if [ "$seconds" -lt 5 ]; then
    reason="no time was left" code=78
  else
    say "$name (at most $seconds s)"
    stage_end=$((SECONDS + seconds))
    "$3" || code=$?
  fi
  case "$code" in
    0) outcome=passed ;;
    77) outcome=skipped ;;
    78) outcome="not run" ;;
    124|137) outcome=failed reason="it took over $seconds s" ;;
    *) outcome=failed ;;
  esac
  case "$outcome" in failed|"not run") failed=1 ;; esac
  note_stage "$name" "$outcome" $((SECONDS - begin)) "$reason"
  stage_name=""
  say "$name $outcome in $((SECONDS - begin)) s${reason:+: $reason}"
  publish_or_say
}

versions() {
  local code=0
  {
    echo "hopbench $(commit)$(changed)${carried:+; the programs are of $(cat "$carried/commit")}"
    echo; limited nvidia-smi || code=$?
    echo; nvidia-smi -i 0 --format=csv --query-gpu=name,driver_version,compute_cap,pstate,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.limit,temperature.gpu,mig.mode.current
    echo; if [ -n "$nvcc" ]; then "$nvcc" --version; fi
    echo "cuDNN headers: ${cudnn:-not looked for}; libraries first looked for in: $library_path"
    if [ -z "$carried" ]; then cmake --version | head -1; g++ --version | head -1; fi
    echo "cores: $(nproc); $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1); $(sed -n 's/^PRETTY_NAME=//p' /etc/os-release); Linux $(uname -r)"
    if [ -n "$python" ]; then
      "$python" --version
      limited "$python" -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda, "cuDNN", torch.backends.cudnn.version())' || true
    fi
  } >"$raw/versions.txt" 2>&1
  [ $code = 0 ] || reason="see versions.txt: nvidia-smi failed"
  return $code
}

# What was carried, if it runs here; else it is built.
compile() {
  local found=()
  if [ -n "$carried" ]; then reason="carried, built at $(cat "$carried/commit")"; return; fi
  if [ -d "$prefix/lib" ]; then
    found=("-DCMAKE_PREFIX_PATH=$prefix;$(compgen -G "$prefix/lib/*/cmake")" "-DCMAKE_LIBRARY_PATH=$(dirname "$(compgen -G "$prefix/lib/*/cmake")")")
  fi
  reason="see build.txt"
  if ! limited cmake --preset release -B "$build" "${found[@]}" -DCMAKE_CUDA_COMPILER="$nvcc" -DNVCC="$nvcc" -DCUDNN_INCLUDE="$cudnn" \
      -DHOPBENCH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$capability-real" >"$raw/build.txt" 2>&1; then
    [ -d "$prefix/lib" ] || reason="see build.txt; packages that are not there travel in .gpu/ (ci/gpu pack, on a Debian machine)"
    return 1
  fi
  limited ninja -C "$build" hopbench cuda_gpu_test gpu_probe >>"$raw/build.txt" 2>&1 || { short "$raw/build.txt"; return 1; }
  reason=""
}

program() { if [ -n "$carried" ]; then echo "$carried/$1"; elif [ "$1" = hopbench ]; then echo "$build/hopbench"; else echo "$build/tests/$1"; fi; }
have() { [ -x "$(program "$1")" ] || { reason="nothing was built"; return 78; }; }

probe() {
  have gpu_probe || return
  with_libraries "$(program gpu_probe)" >"$raw/probe.txt" 2>&1 || { local code=$?; reason="see probe.txt: $(last_line "$raw/probe.txt")"; return $code; }
}

least() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }

suite_of_tests() { within "$(least 150 "$(left)")" env HB_GPU_REQUIRED=1 LD_LIBRARY_PATH="$library_path" "$@" "$(program cuda_gpu_test)" --gtest_filter="$suite.*"; }

# Each suite in a process of its own: an error that the GPU does not get over ends one, not all. A test that skips is no test here.
gpu_tests() {
  have cuda_gpu_test || return
  local suite code bad=() missed=() suites
  mkdir -p "$raw/tests"
  mapfile -t suites < <("$(program cuda_gpu_test)" --gtest_list_tests | grep -v '^[ R]' | tr -d .)
  [ ${#suites[@]} != 0 ] || { reason="the tests cannot be listed"; return 1; }
  for suite in "${suites[@]}"; do
    if [ "$(left)" -lt 5 ]; then missed+=("$suite"); continue; fi
    code=0
    suite_of_tests >"$raw/tests/$suite.txt" 2>&1 || code=$?
    case "$code" in
      0) continue ;;
      124|137) echo "--- it took too long" >>"$raw/tests/$suite.txt" ;;
      *)
        echo "--- again, with CUDA_LAUNCH_BLOCKING=1" >>"$raw/tests/$suite.txt"
        suite_of_tests CUDA_LAUNCH_BLOCKING=1 >>"$raw/tests/$suite.txt" 2>&1 || true ;;
    esac
    bad+=("$suite")
    short "$raw/tests/$suite.txt"
  done
  reason="${#suites[@]} suites${bad[*]:+; see tests/: ${bad[*]}}${missed[*]:+; no time was left for ${missed[*]}}"
  [ $((${#bad[@]} + ${#missed[@]})) = 0 ]
}

# The tests of our kernels, small ones: each tool takes ten to fifty times as long.
sanitizer() {
  have cuda_gpu_test || return
  local tool="" candidate check code options kernels="--gtest_filter=CudaVectors.*:CudaLayouts.*:CudaSparse.*:CudaLayers.*:CudaLoss.*:CudaPools.*" worst=0 why=()
  for candidate in "$(command -v compute-sanitizer || true)" ${toolkit:+"$toolkit/bin/compute-sanitizer" "$toolkit/compute-sanitizer/compute-sanitizer"}; do
    if [ -z "$tool" ] && [ -n "$candidate" ] && [ -x "$candidate" ]; then tool=$candidate; fi
  done
  [ -n "$tool" ] || { reason="there is no compute-sanitizer"; return 77; }
  for check in racecheck synccheck memcheck; do
    code=0 options=()
    if [ "$check" = memcheck ]; then options=(--report-api-errors no); fi
    with_libraries HB_GPU_REQUIRED=1 "$tool" --tool "$check" "${options[@]}" --error-exitcode 1 "$(program cuda_gpu_test)" --gtest_brief=1 "$kernels" >"$raw/$check.txt" 2>&1 || code=$?
    short "$raw/$check.txt"
    if [ "$code" = 0 ]; then continue; fi
    why+=("see $check.txt")
    if [ "$code" != 124 ] && ! grep -q 'ERROR SUMMARY\|RACECHECK SUMMARY' "$raw/$check.txt"; then
      why[-1]="$check does not work here: $(grep '=====' "$raw/$check.txt" | tail -1 | tr -d '=|')" code=77
    fi
    if [ "$worst" = 0 ] || [ "$worst" = 77 ]; then worst=$code; fi
  done
  reason="${why[*]}"
  return "$worst"
}

# Which layers take how long.
layers() {
  have hopbench || return
  local precision
  : >"$raw/layers.txt"
  for precision in bf16 tf32 fp32; do
    with_libraries "$(program hopbench)" bench compute --backend cuda --precision "$precision" --batch 128 --model resnet32 --model vgg11 \
      --no-vectors --layers >>"$raw/layers.txt" 2>&1 || { reason="see layers.txt: $(last_line "$raw/layers.txt")"; return 1; }
  done
  if grep -q 'was left out' "$raw/layers.txt"; then reason="see layers.txt: a model was left out"; return 1; fi
}

# hopbench and PyTorch in turns; the call of hopbench is in ci/studies/gpu_peer (`hopbench_turn`).
benchmarks() {
  [ -n "$python" ] || { reason="there is no python3"; return 77; }
  local code=0 with=()
  if have hopbench; then with=(--hopbench "$(program hopbench)" --libraries "$library_path"); fi
  limited "$python" ci/studies/gpu_peer "${with[@]}" "${peer[@]}" --seconds $(($(left) - 45)) >"$raw/bench.jsonl" 2>"$raw/bench.txt" || code=$?
  "$python" ci/stages/gpu_tables.py "$raw" || return
  if [ "$code" = 6 ]; then reason=$(tail -n 1 "$raw/bench.txt"); return 77; fi
  [ "$code" = 0 ] || reason="see bench.txt: $(tail -n 1 "$raw/bench.txt")"
  [ ${#with[@]} != 0 ] || { reason="only PyTorch: nothing was built"; code=1; }
  return $code
}

# Two ranks average their vectors through CUDA IPC, beside the same in one process.
exchange() {
  have hopbench || return
  with_libraries "$(program hopbench)" bench transport average --backend cuda --transport shm --ranks 2 --neighbours 1 \
    -b 36902440 -e 36902440 -f 1 -r 2 >"$raw/exchange.txt" 2>&1 || { reason="see exchange.txt: $(tail -n 1 "$raw/exchange.txt")"; return 1; }
}

# Real processes at full speed: paced steps would tell nothing about a GPU. Virtual time keeps its pace.
suite() {
  have hopbench || return
  local code=0 settings=(suites/cnn_hetero.toml -o "$raw/run" --set 'compute.backend="cuda"' --set 'measure.rate.pace="off"' --set 'measure.rate.transport="shm"' "${profile[@]}")
  if [ ! -d /usr/share/datasets/fashion-mnist ] && [ -d "$prefix/share/datasets/fashion-mnist" ]; then
    settings+=(--set "model.dataset.path=\"$prefix/share/datasets/fashion-mnist\"")
  fi
  if [ -f "$raw/run/suite.toml" ]; then settings=(--resume "$raw/run"); fi  # which has the settings
  with_libraries "$(program hopbench)" run "${settings[@]}" --no-events >"$raw/run.txt" 2>&1 || code=$?
  case "$code" in 0|124|137) ;; *) reason="see run.txt: $(tail -n 1 "$raw/run.txt")" ;; esac
  return $code
}

# --- What came out ---

fenced() { printf '```\n'; tail -n 40 "$1"; printf '```\n\n'; }

summary() {
  local file
  printf '# %s\n\n' "$gpu"
  # shellcheck disable=SC2016
  printf 'Made by `ci/gpu%s` at %s on %s. What the figures are: docs/gpu.md.\n\n' "${quick:+ --quick}" "$(date -u +%Y-%m-%d)" "$(cat "$raw/of.txt")"
  printf '| stage | | s | |\n|---|---|---|---|\n'
  awk -F'\t' '{ printf "| %s | %s | %s | %s |\n", $1, $2, $3, $4 }' "$raw/stages.tsv"
  echo
  if [ -f "$raw/bench.md" ]; then cat "$raw/bench.md"; echo; fi
  for file in probe exchange layers; do
    if [ -s "$raw/$file.txt" ]; then printf '## %s.txt\n\n' "$file"; fenced "$raw/$file.txt"; fi
  done
  if [ -f "$raw/run/summary.md" ]; then printf '## suites/cnn_hetero.toml\n\n'; cat "$raw/run/summary.md"; echo; fi
  for file in build racecheck synccheck memcheck; do
    if grep -q "see $file.txt" "$raw/stages.tsv" && [ -f "$raw/$file.txt" ]; then printf '## The end of %s.txt\n\n' "$file"; fenced "$raw/$file.txt"; fi
  done
  printf '## Machine\n\n'
  if [ -f "$raw/versions.txt" ]; then fenced "$raw/versions.txt"; fi
}

# All that there is so far, to where it stays: whatever ends this script later, it is there. What cannot be published now may be later.
publish_or_say() {
  publish || { say "$out could not be brought up to date"; failed=1; }
}

publish() {
  summary >"$raw/README.md" || return
  if [ -z "$flat" ]; then
    cp -a "$raw/." "$out/" && rm -f "$out/rest.tar.gz"
    return
  fi
  local file stay=()
  for file in README.md stages.tsv of.txt probe.txt steps.csv memory.csv bench.jsonl; do
    if [ -f "$raw/$file" ] && [ "$(stat -c %s "$raw/$file")" -le $((16 << 20)) ]; then stay+=("$file"); fi
  done
  (cd "$raw" && cp -a "${stay[@]}" "$out/") || return
  tar -C "$raw" "${stay[@]/#/--exclude=./}" -czf "$work/rest.tar.gz" . || return
  if [ "$(stat -c %s "$work/rest.tar.gz")" -gt $((16 << 20)) ]; then
    say "rest.tar.gz would have $(mib "$(stat -c %s "$work/rest.tar.gz")"): what is there is older"
    failed=1
  else
    cp "$work/rest.tar.gz" "$out/.rest.tar.gz" &&
      mv "$out/.rest.tar.gz" "$out/rest.tar.gz"  # at no time is there none
  fi
}
