#!/usr/bin/env bash
# build.sh FOLDER PROFILE: builds the engine for browsers: roamlab_wasm.js and roamlab_wasm_bg.wasm.
#
# The compiler's library for WebAssembly is rustup's or, where there is none, made from the source that Debian ships with
# the compiler of its web browser, which is unpacked beside and not installed. WASM_COMPILER=debian takes that in any case.
set -euo pipefail
out=$1 profile=$2
here=$PWD/.cache/wasm
folder=${CARGO_TARGET_DIR:-target}
target=wasm32-unknown-unknown
packages=(rustc-web libstd-rust-web-dev rust-web-src)
build=(build --quiet --locked --package roamlab-wasm --profile "$profile" --target "$target")

failed() {
  echo "note: the playground is not built: $1" >&2
  exit 1
}

missing() {
  echo "note: the playground is not built: $1" >&2
  echo "  install the compiler's library for it with: rustup target add $target" >&2
  echo "  or, on Debian: apt-get update, so that ${packages[*]} can be fetched" >&2
  exit 1
}

# The version of LLVM among the names of packages: the linker is of the same one as the compiler.
llvm() {
  printf '%s\n' "$@" | sed -n 's/^libllvm//p'
}

# What Debian has, unpacked into a folder of the project.
unpack() {
  local root=$here/debian versions
  [ -x "$root/usr/bin/rustc" ] && return
  command -v apt-get > /dev/null || missing "neither rustup's library nor Debian's packages are here"
  versions=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances rustc-web | grep -E '^lib(llvm[0-9]+|std-rust-web-[0-9.]+)$' | sort -u) \
    || missing "Debian's lists do not name rustc-web: apt-get update brings them"
  mkdir -p "$here/packages"
  # shellcheck disable=SC2086  # a list of names
  (cd "$here/packages" && apt-get -qq -o APT::Sandbox::User="$(id -un)" download "${packages[@]}" $versions \
    "lld-$(llvm $versions)") || missing "Debian's packages cannot be fetched"
  for package in "$here"/packages/*.deb; do dpkg -x "$package" "$root.draft"; done
  mv "$root.draft" "$root"
  rm -r "$here/packages"
}

if [ "${WASM_COMPILER:-}" != debian ] && [ -d "$(rustc --print target-libdir --target "$target" 2> /dev/null)" ]; then
  cargo "${build[@]}" || failed "cargo could not compile it"
else
  unpack
  root=$here/debian/usr
  # The library is compiled, which only a compiler that takes itself for a nightly one does. It needs no backtraces.
  RUSTC=$root/bin/rustc RUSTC_BOOTSTRAP=1 LD_LIBRARY_PATH=$(echo "$root"/lib/*-linux-gnu) \
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$(echo "$root"/lib/llvm-*/bin/wasm-ld) \
    cargo "${build[@]}" -Zbuild-std=std,panic_abort -Zbuild-std-features= --target-dir "$here/target" \
    || failed "cargo could not compile it with Debian's compiler"
  folder=$here/target
fi
mkdir -p "$out"
cargo run --quiet --locked --manifest-path crates/wasm/bindgen/Cargo.toml -- \
  "$folder/$target/$profile/roamlab_wasm.wasm" "$out" || failed "the program that writes its JavaScript could not be built or run"
