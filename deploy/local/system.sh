#!/bin/sh
# Programs that the tests and the local stack need, or, called with "compiler", those that compile the core: installs
# their Debian packages as root, else names them.
set -eu

missing=
need() { # program, package
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
if [ "${1:-}" = compiler ]; then
    need cc gcc
    header='import pathlib, sysconfig; raise SystemExit(not pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists())'
    "${PYTHON:-python3}" -c "$header" || missing="$missing python3-dev"
else
    need java default-jre-headless
    need mvn maven
    need redis-server redis-server
fi
"${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"

[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086 # one word a package
    apt-get install -y -qq --no-install-recommends $missing
else
    echo "missing:$missing" >&2
    echo "Fix: sudo apt-get install -y$missing   (or the same programs from your system's packages)" >&2
    exit 1
fi
