# Sourced by the scripts of this directory: the installation, build and output that they share.

# The comment at a script's top is its help.
if [[ ${1:-} == --help || ${1:-} == -h ]]; then
  sed -n '/^#!/d; /^#/!q; s/^# \{0,1\}//p' "$0"
  exit
fi

# These variables of the caller's shell would lead to files outside the project.
unset CDPATH PYTHONPATH PYTHONHOME
# pip compiles nothing, and without byte code each program that the tests start would compile its imports anew.
unset PYTHONDONTWRITEBYTECODE
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
logs=$root/build/logs
cd "$root"

# Progress lines go here, also while the output of a script goes into a log.
exec {screen}>&1

# A tool that catches SIGINT ends with an exit code of its own, and the shell would go on with the next.
trap 'exit 130' INT

export PIP_DISABLE_PIP_VERSION_CHECK=1
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

build_packages=(g++ cmake ninja-build python3 python3-dev python3-venv libspdlog-dev libtomlplusplus-dev nlohmann-json3-dev libssl-dev libisal-dev libibverbs-dev librdmacm-dev)
lab_packages=(qemu-system-x86 busybox-static kmod iproute2 ibverbs-providers zstd)
reader_packages=(zsh fish groff-base) # tests give them completions and the manual
clang_packages=(clang-19 llvm-19) # llvm-ar lets CMake have Clang optimise across files
sanitizer_packages=("${clang_packages[@]}" libclang-rt-19-dev) # half of g++'s time, and libFuzzer
c_packages=(meson pkgconf valgrind) # tests build programs in C as users do, and look for wrong accesses
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev util-linux mold "${c_packages[@]}" "${sanitizer_packages[@]}" "${reader_packages[@]}" "${lab_packages[@]}")
verbs_packages=(rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest python3-pyverbs) # tests of RDMA compare with these
docs_packages=(doxygen chromium fonts-dejavu-core) # all but the first for script/docs --check
bench_packages=(valgrind libtbb-dev "${lab_packages[@]}") # counts, a floor, and a guest that has an RDMA device
python_sources=(python tests/py script cpp/cmake docs examples benchmarks notebooks)

heading() { printf '\n==> [%s] %s\n' "$(date +%T)" "$*"; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Shows the last line of a log once a second on a terminal, elsewhere once a minute, until its parent kills it or ends.
show_last_line() {
  local log=$1 what=$2 start=$SECONDS next=60 line
  while sleep 1 && kill -0 $$ 2>/dev/null; do
    line=$(tail -c 1000 "$log" | tr '\r' '\n' | tr -cd '\n -~' | awk 'NF { last = $0 } END { print last }')
    if [[ -t $screen ]]; then
      line="$what, $((SECONDS - start)) s: ${line#"${line%%[![:space:]]*}"}"
      printf '\r\e[K%s' "${line:0:$(($(tput cols 2>/dev/null || echo 80) - 1))}" >&"$screen"
    elif ((SECONDS - start >= next)); then
      printf '%s, %d s: %s\n' "$what" $((SECONDS - start)) "${line:0:160}" >&"$screen"
      next=$((next + 60))
    fi
  done
}

# with_progress <what> <command>...: the output goes to build/logs/<what>.log. After a failure, prints its last lines.
with_progress() {
  local what=$1 log=$logs/${1// /-}.log ticker code=0
  shift
  mkdir -p "$logs"
  : >"$log"
  # The command stays in the foreground, so that Ctrl-C ends it: a shell's background jobs ignore that.
  show_last_line "$log" "$what" &
  ticker=$!
  "$@" >"$log" 2>&1 </dev/null || code=$?
  { kill "$ticker" && wait "$ticker"; } 2>/dev/null || true
  [[ ! -t $screen ]] || printf '\r\e[K' >&"$screen"
  ((code == 0)) || { tail -n 60 "$log" && printf 'error: %s failed (all of its output: %s)\n' "$what" "$log"; } >&2
  return "$code"
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# Prints the path of every C++ file of the project, each ended by a NUL.
cxx_sources() { find cpp tests/c tests/cpp benchmarks examples '(' -name '*.[ch]pp' -o -name '*.[ch]' ')' -print0 | sort -z; }

# Prints the named packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

# Asks for root only when a package is missing.
install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "not Debian or Ubuntu: assuming that the equivalents of these packages are installed: $*"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  ((EUID == 0)) || command -v sudo >/dev/null ||
    fail "packages are missing, and there is no sudo to install them with; as root, run: apt-get install ${missing[*]}"
  heading "Installing ${missing[*]}"
  ((EUID == 0)) || sudo -v # asks for the password here, where the question can be seen
  with_progress "apt-get update" as_root env DEBIAN_FRONTEND=noninteractive apt-get update
  with_progress "apt-get install" \
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install --no-install-recommends -y "${missing[@]}"
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# Prints $PYTHON, or else the first of the usual names that is new enough.
find_python() {
  local candidate
  if [[ -n ${PYTHON:-} ]]; then
    is_new_enough "$PYTHON" || fail "pydoca needs Python 3.11 or newer, and PYTHON=$PYTHON is not; set it to another"
    echo "$PYTHON"
    return
  fi
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
    if is_new_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  fail "pydoca needs Python 3.11 or newer, and none was found: install one, or set PYTHON to it"
}

# Whether .venv is of the Python that $PYTHON asks for, if it asks for one.
is_venv_of_asked_python() {
  local version='import sys; print(sys.base_prefix, sys.version)'
  [[ -z ${PYTHON:-} || $("$venv/bin/python" -c "$version") == "$("$PYTHON" -c "$version" 2>/dev/null)" ]]
}

# Replaces a .venv whose creation was interrupted, or that was moved with its clone: its scripts name their interpreter.
create_venv() {
  local python unfinished=$root/build/venv-unfinished
  [[ ! -e $unfinished ]] && "$venv/bin/pip" --version &>/dev/null && is_venv_of_asked_python && return
  python=$(find_python)
  heading "Creating .venv with $("$python" --version)"
  mkdir -p "$root/build"
  touch "$unfinished"
  with_progress "venv" "$python" -m venv --clear "$venv"
  rm "$unfinished"
}

# Prints the requirements in pyproject.toml: those of the build, of the extra cli and of the named extras.
requirements() {
  "$venv/bin/python" - "$@" <<'PYTHON'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)
extras = project["project"]["optional-dependencies"]
lines = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
print(*lines, *(line for extra in ["cli", *sys.argv[1:]] for line in extras[extra]), sep="\n")
PYTHON
}

# install_requirements [<extra>...]: pip runs only when the list has changed, so a second run needs no network.
install_requirements() {
  local wanted extras="$*"
  local stamp=$venv/requirements-${extras// /-}.txt
  mapfile -t wanted < <(requirements "$@")
  [[ -f $stamp && $(<"$stamp") == "$(printf '%s\n' "${wanted[@]}")" ]] && return
  heading "Installing Python packages: ${wanted[*]}"
  # Python compiles what it imports; pip would compile all.
  with_progress "pip install" "$venv/bin/pip" install --no-compile "${wanted[@]}"
  printf '%s\n' "${wanted[@]}" >"$stamp"
}

# One hash over all sources of the installed package.
sources_hash() {
  find pyproject.toml CMakeLists.txt cpp python -type f -not -name '*.py[co]' -print0 |
    sort -z | xargs -0 sha256sum | sha256sum
}

# Builds in build/python, which stays, so that only changed files are compiled again.
install_package() {
  local hash stamp=$venv/package.sha256
  hash=$(sources_hash)
  [[ -f $stamp && $(<"$stamp") == "$hash" ]] && return
  heading "Building and installing pydoca"
  rm -f "$stamp"
  with_progress "build" "$venv/bin/pip" install --verbose --no-build-isolation --no-deps \
    --config-settings=build-dir=build/python ${package_options[@]+"${package_options[@]}"} .
  "$venv/bin/python" - <<'PYTHON'
import pydoca
for name, reason in pydoca.unavailable_backends().items():
    print(f"unavailable: {name}: {reason}")
PYTHON
  echo "$hash" >"$stamp"
}

# with_sanitizers <site> <command>...: the command imports pydoca from <site>, whose module was built with sanitizers.
with_sanitizers() {
  local site=$1 runtime library
  shift
  # Interceptors must be loaded first; those of exceptions look for libstdc++ when they are loaded.
  runtime=$(clang++-19 -print-file-name="libclang_rt.asan-$(uname -m).so")
  library=$(ldd "$site"/pydoca/_core.*.so | awk '/libstdc\+\+\./ {print $3}')
  env PYTHONPATH="$site" PYTHONMALLOC=malloc LD_PRELOAD="$runtime:$library" \
    ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1:detect_leaks=1" \
    UBSAN_OPTIONS=print_stacktrace=1 "$@"
}

# set_up_tools [<extra>...]: installs the build's requirements and those of the extras into .venv.
set_up_tools() {
  install_packages "${build_packages[@]}" $([[ " $* " == *" test "* ]] && echo "${test_packages[@]}")
  create_venv
  install_requirements "$@"
}

# set_up [<extra>...]: also installs the package.
set_up() {
  set_up_tools "$@"
  install_package
}
