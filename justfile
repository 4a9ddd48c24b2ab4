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
