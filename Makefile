# Two commands do everything on a machine with Rust and a C++ compiler:
#
#   make run     build and start a cluster on loopback (data in ./data)
#   make test    run every test, installing what it needs

SHELL := /bin/bash
ENV   := . scripts/env.sh &&
DATA  ?= ./data
# Further arguments for `o3 server`, e.g. make run ARGS="--datanodes 4"
ARGS  ?=

.PHONY: run test build unit clients faults simulate spark lint tidy docs help

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

run: ## build and start a cluster: 1 OM, 1 SCM, 3 DataNodes, S3 gateway
	@scripts/setup
	@$(ENV) cargo build --release --quiet -p o3 && exec "$$CARGO_TARGET_DIR/release/o3" server --dir $(DATA) $(ARGS)

build: ## build the binary
	@scripts/setup
	@$(ENV) cargo build --release -p o3 && echo "built $$CARGO_TARGET_DIR/release/o3"

test: ## every test
	@scripts/setup test
	@$(MAKE) --no-print-directory tidy unit clients somefaults

unit: ## Rust tests, from unit to cluster
	@$(ENV) cargo test --release --workspace

clients: ## real clients: boto3, aws CLI, rclone, Ozone's own Java tools
	@$(ENV) cargo build --release --quiet -p o3 && export O3_BIN="$$CARGO_TARGET_DIR/release/o3" && \
		clients/python/run && clients/java/run

faults: ## kill, stop and part processes of a cluster under load: ROUNDS=10 SEED=any
	@$(ENV) cargo build --release --quiet -p o3 && O3_BIN="$$CARGO_TARGET_DIR/release/o3" ROUNDS="$(or $(ROUNDS),10)" SEED="$(SEED)" clients/faults/run $(ARGS)

simulate: ## clusters on virtual time: SEED=1 COUNT=100 ARGS="--seconds 600"
	@$(ENV) cargo run --release --quiet -p simulation -- run --seed $(or $(SEED),1) --count $(or $(COUNT),100) $(ARGS)

somefaults: ## six rounds of faults, about a minute
	@$(MAKE) --no-print-directory faults ROUNDS=6 SEED=101 ARGS="--s3 --partitions-where-possible $(ARGS)"

spark: ## PySpark on ofs:// against local files (downloads PySpark)
	@$(ENV) cargo build --release --quiet -p o3 && O3_BIN="$$CARGO_TARGET_DIR/release/o3" clients/spark/run

lint: ## formatting and clippy
	@$(ENV) cargo fmt --all --check && cargo clippy --release --workspace --all-targets -- -D warnings

tidy: ## house rules
	@$(ENV) cargo run --release --quiet -p xtask -- tidy

docs: ## regenerate the generated references
	@$(ENV) cargo run --release --quiet -p o3 -- config doc > docs/configuration.md
