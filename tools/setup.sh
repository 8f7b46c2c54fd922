#!/usr/bin/env bash
# Installs what is missing, by package name, and says what it does: Debian packages of tools/packages.txt, and a Python
# environment at build/venv with the wheels of tools/requirements.txt (and, with --test, tools/requirements-test.txt).
# Quick when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
while read -r name; do
  [[ -z $name || $name == \#* ]] && continue
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null || true) == installed ]] || missing+=("$name")
done < tools/packages.txt
if ((${#missing[@]})); then
  echo "setup: installing Debian packages: ${missing[*]}"
  as_root=()
  if ((EUID != 0)); then as_root=(sudo); fi
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

venv=build/venv
install_wheels() {
  local list=$1 stamp=$venv/.installed-$(basename "$1")
  if ! cmp -s "$list" "$stamp"; then
    echo "setup: installing the Python packages of $list into $venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list"
    cp "$list" "$stamp"
  fi
}
if [[ ! -x $venv/bin/python ]]; then
  echo "setup: making a Python environment at $venv"
  /usr/bin/python3 -m venv "$venv"
fi
install_wheels tools/requirements.txt
if [[ ${1:-} == --test ]]; then install_wheels tools/requirements-test.txt; fi
