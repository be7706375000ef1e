#!/usr/bin/env bash
# Makes the environment that studies run in; quick when it is already there.
#   envs/install.sh        what `make study` needs
#   envs/install.sh dev    what the tests and checks need as well
# Uses the virtual environment that is active, else .venv beside the Snakefile. A torch that is already there is
# kept. TORCH_INDEX=URL installs torch from that index of PyTorch's builds (CUDA, ROCm or CPU).
set -euo pipefail
cd "$(dirname "$0")/.."

TORCH_VERSION=2.13.0
CPU_BUILDS=https://download.pytorch.org/whl/cpu
want_dev=${1:-}

fail() { echo "install: $*" >&2; exit 2; }

[ "$(uname -s)" = Linux ] || fail "this platform is $(uname -s), expected Linux: the lease uses its locks and /proc"

if [ -n "${VIRTUAL_ENV:-}" ]; then
    environment=$VIRTUAL_ENV
else
    environment=$PWD/.venv
fi
python=$environment/bin/python

if [ ! -x "$python" ]; then
    base=${PYTHON:-python3}
    command -v "$base" >/dev/null || fail "$base is not there, expected Python 3.11 or newer (PYTHON=… names another)"
    "$base" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$base is $("$base" -V 2>&1), expected Python 3.11 or newer (PYTHON=… names another)"
    echo "Making the environment in $environment: about 2 GB of disk and 1 to 3 minutes with a CPU build of torch;" \
        "a CUDA or ROCm build takes several GB more."
    "$base" -m venv "$environment" || fail "$base -m venv failed; on Debian and Ubuntu: apt install python3-venv"
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$python is $("$python" -V 2>&1), expected Python 3.11 or newer"

pip() { "$python" -m pip --disable-pip-version-check "$@"; }

gpu() {
    if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
        echo nvidia
    elif [ -e /dev/kfd ]; then
        echo amd
    else
        echo none
    fi
}

install_torch() {
    if "$python" -c 'import torch' 2>/dev/null; then
        return
    fi
    if [ -n "${TORCH_INDEX:-}" ]; then
        pip install torch --index-url "$TORCH_INDEX"
        return
    fi
    case $(gpu) in
        nvidia) pip install "torch==$TORCH_VERSION" ;;
        amd)
            fail "an AMD GPU is there and no torch: name the index of a ROCm build, such as" \
                "TORCH_INDEX=https://download.pytorch.org/whl/rocm7.0, or of CPU builds, TORCH_INDEX=$CPU_BUILDS"
            ;;
        none) # a CPU build has its own version name; indexes that do not carry it are passed over
            pip install --quiet "torch==$TORCH_VERSION+cpu" ||
                pip install "torch==$TORCH_VERSION+cpu" --index-url "$CPU_BUILDS"
            ;;
    esac
}

stamp_of() { cat pyproject.toml envs/install.sh "$@" | sha256sum | cut -d' ' -f1; }

install_requirements() { # NAME FILES…: installs FILES unless the stamp NAME says that these very files are in
    local stamp=$environment/.tachograph-$1 now
    shift
    now="$PWD $(stamp_of "$@")"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ]; then
        return
    fi
    local arguments=()
    for file in "$@"; do arguments+=(-r "$file"); done
    pip install --quiet "${arguments[@]}"
    pip install --quiet --no-deps --editable .
    echo "$now" >"$stamp"
}

install_validators() { # of records, in an environment of their own, see the file of their pins
    local place=$environment/validators pins=envs/requirements-validators.txt
    if cmp -s "$pins" "$place/installed.txt"; then
        return
    fi
    "$python" -m venv "$place"
    "$place/bin/python" -m pip --disable-pip-version-check install --quiet -r "$pins"
    cp "$pins" "$place/installed.txt"
}

install_torch
install_requirements study envs/requirements.txt
if [ "$want_dev" = dev ]; then
    install_requirements dev envs/requirements.txt envs/requirements-dev.txt
    install_validators
fi
