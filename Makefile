# Two commands do everything on a machine with Rust and a C++ compiler:
#
#   make run     build and start a cluster on loopback (data in ./data)
#   make test    run every test, installing what it needs

SHELL := /bin/bash
ENV   := . scripts/env.sh &&
DATA  ?= ./data
# Further arguments for `o3 server`, e.g. make run ARGS="--datanodes 4"
ARGS  ?=
# No package is named, so that every command resolves the features of the whole workspace: with `-p o3`
# cargo compiles some dependencies, and the crates above them, once more.
O3    := cargo build --release --bin o3
# Prints the page of all commands.
CLI   := cargo build --release --example cli_reference
# A first build is told of before and while it lasts; a later one is cargo's.
FIRST := scripts/first-build $(O3)

.PHONY: run test test-long build unit stress deny fuzz clients contract-ec show-ec faults somefaults simulate spark lint tidy bench bench-trend docs apidocs book release image checkdocs help

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 13

run: ## build and start a cluster: 1 OM, 1 SCM, 3 DataNodes, S3 gateway: DATA=./data ARGS="--oms 3"
	@scripts/setup
	@$(ENV) $(FIRST) && exec "$$CARGO_TARGET_DIR/release/o3" server --dir $(DATA) $(ARGS)

build: ## build the binary
	@scripts/setup
	@$(ENV) $(FIRST) && echo "built $$CARGO_TARGET_DIR/release/o3"

# Published clients and faults use the binary that the Rust tests have just built (O3=true builds nothing).
test: ## every test
	@scripts/setup test
	@scripts/timed scripts python3 -m unittest discover --start-directory scripts/tests
	@scripts/timed tidy $(MAKE) --no-print-directory tidy
	@scripts/timed unit $(MAKE) --no-print-directory unit
	@scripts/timed checkdocs $(MAKE) --no-print-directory checkdocs O3=true
	@scripts/timed clients $(MAKE) --no-print-directory clients O3=true
	@scripts/timed somefaults $(MAKE) --no-print-directory somefaults O3=true

test-long: ## what takes long: many seeds and rounds of faults, Spark: SEED=7
	@scripts/setup test
	@SEED="$(SEED)" scripts/test-long

# Examples are left to clippy, which checks their types: each would be linked with RocksDB.
unit: ## Rust tests, from unit to cluster: TEST='om::om_tests ha::' or TEST=ha:: for some of them
	@$(ENV) scripts/timed "unit: compile" cargo test --release --workspace --lib --bins --tests --no-run
	@$(ENV) scripts/timed "unit: run" scripts/unit $(if $(TEST),'$(TEST)')

stress: ## tests again and again beside two busy loops: TEST='om::om_tests ha::' COUNT=20
	@[ -n "$(TEST)" ] || { echo "stress: which tests? make stress TEST='om::om_tests ha::'" >&2; exit 2; }
	@$(ENV) scripts/unit --stress $(or $(COUNT),20) '$(TEST)'

fuzz: ## libFuzzer on every parser: SECONDS=60 TARGET="raft-messages s3-query"
	@fuzz/run $(or $(SECONDS),60) $(TARGET)

clients: ## real clients: boto3, aws CLI, rclone, Ozone's own Java tools
	@$(ENV) $(O3) --quiet && O3_BIN="$$CARGO_TARGET_DIR/release/o3" clients/run

contract-ec: ## all of Hadoop's contract tests on an erasure-coded bucket (`clients` runs those about content)
	@$(ENV) $(O3) --quiet && O3_BIN="$$CARGO_TARGET_DIR/release/o3" clients/java/run erasure_contract

show-ec: ## what docs/erasure-coding.md shows, on nine DataNode processes: DIR=/tmp/nine
	@$(ENV) $(O3) --quiet && O3="$$CARGO_TARGET_DIR/release/o3" docs/ec/show "$(or $(DIR),/tmp/nine)" docs crates/erasure

faults: ## kill, stop and part processes of a cluster under load: ROUNDS=10 SEED=7
	@$(ENV) $(O3) --quiet && O3_BIN="$$CARGO_TARGET_DIR/release/o3" ROUNDS="$(or $(ROUNDS),10)" SEED="$(SEED)" clients/faults/run $(ARGS)

simulate: ## Raft groups on virtual time: SEED=1 COUNT=100; ARGS="--scenario cluster" for OMs, SCMs, DataNodes
	@$(ENV) cargo run --release --quiet --bin simulation -- run --seed $(or $(SEED),1) --count $(or $(COUNT),100) $(ARGS)

script: ## a directed scenario on virtual time: NAME=repair/lost-disk SEED=1, without NAME a list
	@$(ENV) cargo run --release --quiet --bin simulation -- script $(or $(NAME),--list) --seed $(or $(SEED),1) $(ARGS)

somefaults: ## six rounds of faults, about a minute, and five on erasure-coded keys
	@$(MAKE) --no-print-directory faults ROUNDS=6 SEED=101 ARGS="--s3 --partitions-where-possible $(ARGS)"
	@$(MAKE) --no-print-directory faults ROUNDS=5 SEED=101 ARGS="--erasure --java $(ARGS)"

spark: ## PySpark on ofs:// against local files (downloads PySpark)
	@$(ENV) $(O3) --quiet && O3_BIN="$$CARGO_TARGET_DIR/release/o3" clients/spark/run

deny: ## licences and sources of crates (deny.toml); advisories need GitHub
	@$(ENV) command -v cargo-deny >/dev/null || { echo "deny: cargo-deny is missing: scripts/setup test" >&2; exit 1; }; \
		cargo deny --locked --log-level error check --hide-inclusion-graph bans licenses sources

lint: ## formatting and clippy
	@$(ENV) cargo fmt --all --check && cargo clippy --release --workspace --all-targets -- -D warnings

tidy: ## house rules
	@$(ENV) cargo run --release --quiet --bin xtask -- tidy

# The binary is the one that is released (profile `dist`); PROFILE=release is the one of `make run`, compiled sooner.
bench: ## every benchmark, figures kept: BENCH="components om s3" for some (cargo xtask bench list), PROFILE=release
	@scripts/setup
	@$(ENV) cargo build --profile $(or $(PROFILE),dist) --bin o3 && \
		export O3_BIN="$$CARGO_TARGET_DIR/$(or $(PROFILE),dist)/o3" BENCH_PROFILE=$(or $(PROFILE),dist) && \
		cargo run --release --quiet --bin xtask -- bench $(BENCH)

bench-trend: ## the last figures of each benchmark against the median of the ones before
	@$(ENV) BENCH_PROFILE=$(or $(PROFILE),dist) cargo run --release --quiet --bin xtask -- bench trend

docs: ## regenerate the generated references
	@$(ENV) $(O3) && $(CLI) && scripts/references "$$CARGO_TARGET_DIR/release/o3"

# Links to private items are allowed: the crates are read with their sources.
apidocs: ## API documentation of all crates, warnings denied
	@scripts/setup
	@$(ENV) RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --locked --release --workspace --no-deps

book: ## the book of docs/ in docs/book (needs mdBook)
	@command -v mdbook >/dev/null 2>&1 || { echo "book: mdBook is missing: cargo install --locked mdbook" >&2; exit 1; }
	@mdbook build docs

release: ## archive, SBOM and checksums in ./release, tried
	@scripts/release release $(ARGS)

image: ## container image of the archive in ./release, tried: TAG=trioxide ARGS=--debootstrap
	@scripts/image "$$(ls -t release/o3-*.tar.gz | head -1)" $(or $(TAG),trioxide) $(ARGS)

checkdocs: ## generated references, and the commands that the documents say can be run
	@$(ENV) $(O3) --quiet && $(CLI) --quiet && scripts/references "$$CARGO_TARGET_DIR/release/o3" --check && \
		scripts/check-commands "$$CARGO_TARGET_DIR/release/o3"
