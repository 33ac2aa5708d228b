# Sourced by demo.sh, test.sh and the benchmarks: installs what the build needs on Debian 12, and
# what $extra_packages names, and configures build/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages="g++ cmake ninja-build libeigen3-dev zlib1g-dev libgtest-dev libcli11-dev
          nlohmann-json3-dev libutf8proc-dev libpng-dev libjpeg-dev curl ca-certificates
          ${extra_packages:-}"
missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
    missing="$missing $package"
done
if [ -n "$missing" ]; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
fi

cmake --preset release "$@"
