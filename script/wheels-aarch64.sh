# Sourced by script/wheels: the wheel for aarch64, from a machine with another processor.

arm_packages=(g++-aarch64-linux-gnu qemu-user debootstrap)
arm_suite=bookworm # its libraries are those of the cross compiler
arm_minor=11       # and this is its Python
arm=$root/build/wheels/aarch64

# The files of a system for aarch64, unpacked only: headers to compile with, and a Python for QEMU.
make_arm_system() {
  local package
  [[ ! -e $arm/system/unpacked ]] || return 0
  rm -rf "$arm/system"
  mkdir -p "$arm"
  with_progress "debootstrap aarch64" as_root debootstrap --arch=arm64 --foreign --variant=minbase \
    --include="python3,libpython3.$arm_minor-dev,libspdlog-dev,libfmt-dev,libtomlplusplus-dev,nlohmann-json3-dev,libssl-dev,libisal-dev,libibverbs-dev,librdmacm-dev" \
    "$arm_suite" "$arm/system"
  for package in "$arm/system"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$arm/system"; done
  rm -rf "$arm/system"/{tmp,run} # or QEMU would take files of these for the machine's, but not sockets
  touch "$arm/system/unpacked"
}

# Copies the system's headers that the cross compiler lacks; with all of them it would find a second C library.
make_arm_headers() {
  local headers=$arm/system/usr/include name
  mkdir -p "$arm/include" "$arm/include-of-processor"
  for name in spdlog fmt toml++ nlohmann openssl isa-l infiniband rdma aarch64-linux-gnu; do ln -sfn "$headers/$name" "$arm/include/$name"; done
  ln -sfn "$headers/aarch64-linux-gnu/openssl" "$arm/include-of-processor/openssl"
}

# write_arm_toolchain <python>: the program that imports the module while it is built, for its docstrings.
write_arm_toolchain() {
  cat >"$arm/toolchain.cmake" <<CMAKE
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_FLAGS_INIT "-isystem $arm/include-of-processor -isystem $arm/include")
foreach(name SPDLOG FMT TOMLPLUSPLUS NLOHMANN_JSON OPENSSL ISAL VERBS RDMACM)
  set(PYDOCA_\${name}_INCLUDE_DIR $arm/include)
endforeach()
set(Python_INCLUDE_DIR $arm/system/usr/include/python3.$arm_minor)
set(PYTHON_MODULE_EXTENSION .cpython-3$arm_minor-aarch64-linux-gnu.so)
set(PYDOCA_TARGET_PYTHON $1)
CMAKE
}

# Writes a program that is that Python: its child processes also start it.
write_arm_python() {
  local python=$arm/system/usr/bin/python3.$arm_minor
  [[ -e $python.elf ]] || mv "$python" "$python.elf"
  cat >"$python" <<SHELL
#!/bin/sh
exec qemu-aarch64 -L "$arm/system" -0 "$python" "$python.elf" "\$@"
SHELL
  chmod +x "$python"
  echo "$python"
}

arm_tests=(tests/py/memory/test_{bufs,mmap}.py tests/py/libraries/test_{dma,sha,sync_event}.py # tests of one process
  tests/py/package/test_stub_docs.py tests/py/engine/test_tasks.py)
# QEMU lacks process_vm_readv, by which these read memory that is not pydoca.alloc's.
arm_skipped="not a_host_lends_and_the_dpu_copies and not memory_of_the_network_is_not_for_dma
  and not (test_is_imported_by_the_other_side and bytearray)"

# test_on_arm <python> <site>: some of the package's own tests.
test_on_arm() {
  [[ -e $arm/tools/uvloop ]] || with_progress "tests' requirements for aarch64" "$venv/bin/pip" install \
    --target "$arm/tools" --only-binary :all: --python-version "3.$arm_minor" --platform manylinux_2_28_aarch64 \
    --platform manylinux_2_17_aarch64 --platform any cryptography hypothesis numpy pyelftools pytest pytest-timeout uvloop
  PYTHONPATH=$2:$arm/tools "$1" -m pytest -p no:cacheprovider -o timeout=120 -o faulthandler_timeout=110 \
    -m "not slow" -k "${arm_skipped//$'\n'/ }" "${arm_tests[@]}"
}

run_aarch64() {
  local wheel python site=$arm/site
  install_packages "${arm_packages[@]}"
  set_up_tools wheels
  is_minor "$venv/bin/python" "$arm_minor" || fail "the wheel for aarch64 is built by Python 3.$arm_minor; set PYTHON to it"
  make_arm_system
  make_arm_headers
  python=$(write_arm_python)
  write_arm_toolchain "$python"
  make_older_libraries "$arm/older" aarch64-linux-gnu-g++
  _PYTHON_HOST_PLATFORM=linux-aarch64 build_wheel "$venv" "$root" "aarch64-cp3$arm_minor" \
    --config-settings="cmake.define.PYDOCA_OLDER_LIBRARIES=$arm/older" \
    --config-settings="cmake.define.CMAKE_TOOLCHAIN_FILE=$arm/toolchain.cmake"
  rm -f "$dist"/pydoca-*_aarch64.whl
  audit_wheel "$work/plain/aarch64-cp3$arm_minor" auto # auditwheel takes names of this machine's processor only
  wheel=$(echo "$dist"/pydoca-*_aarch64.whl)
  rm -rf "$site"
  "$venv/bin/pip" --quiet install --no-deps --target "$site" --only-binary :all: --python-version "3.$arm_minor" \
    --platform "$(grep -o 'manylinux_[0-9_]*_aarch64' <<<"${wheel##*/}")" "$wheel"
  heading "Smoke test under $(qemu-aarch64 --version | head -n 1)"
  PYTHONPATH=$site "$python" script/smoke.py --one-process
  test_on_arm "$python" "$site"
  show_wheels
}
