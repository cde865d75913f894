# Everything that is done often. `make help` lists the targets; each works on a machine without ROS, see README.md.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Steps build on one another and cargo is parallel in itself.
.NOTPARALLEL:

# Runs what follows in the ROS environment (the sourced one, or that of `make ros`).
ROS = source scripts/ros_env.sh &&
NODE = target/debug/arm_planner_node
# Says what a step does, before it does it.
step = @printf '\n==> %s\n' '$(1)'

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: build ## Watch a mock arm plan around obstacles: ends by itself, leaves a picture in demo_output/
	$(call step,demo: node with a mock six-axis arm and a client over DDS)
	@$(ROS) "$$ARM_PLANNER_PYTHON" demo/demo.py --node $(NODE)

.PHONY: run
run: build ## Start the node with a mock six-axis arm, for play (Ctrl-C ends it)
	$(call step,arm_planner_node with a mock controller; try: source scripts/ros_env.sh in another terminal)
	@$(ROS) exec $(NODE) --ros-args --params-file config/arm_planner.yaml -p urdf_file:=urdf/six_axis.urdf -p mock_controller:=true

.PHONY: test
test: lint docs test-core test-node ## All checks and tests: format, lints, docs, core without ROS, node over DDS

.PHONY: test-core
test-core: tools ## Tests of the core and the command line, without ROS
	$(call step,tests without ROS)
	@cargo test

.PHONY: test-node
test-node: lint-node build test-robots ## Tests of the node: unit tests, then end to end over DDS on the loopback
	$(call step,unit tests of the node)
	@$(ROS) cargo test --features ros --lib node::
	$(call step,end-to-end tests over DDS)
	@# Processes that find each other over the network: what fails is tried once more by itself, and has to pass then.
	@$(ROS) export ARM_PLANNER_NODE="$(CURDIR)/$(NODE)"; \
		"$$ARM_PLANNER_PYTHON" -m pytest tests/e2e || "$$ARM_PLANNER_PYTHON" -m pytest tests/e2e --last-failed --last-failed-no-failures none

.PHONY: build
build: ros ## Build the node and the command line
	$(call step,building the node and the command line)
	@$(ROS) cargo build --features ros --bins

.PHONY: ros
ros: tools ## Make the ROS 2 environment in .ros/ (or an overlay over a sourced one)
	@scripts/ros_setup.sh

.PHONY: test-robots
test-robots: tools
	@scripts/ros_setup.sh --test-robots

.PHONY: tools
tools:
	@command -v cargo >/dev/null || { echo "error: cargo is missing: install Rust 1.88 or newer from https://rustup.rs" >&2; exit 1; }
	@command -v $${CC:-cc} >/dev/null || { echo "error: a C compiler is missing: apt install build-essential" >&2; exit 1; }

.PHONY: fmt
fmt: tools ## Format the Rust code
	@cargo fmt

.PHONY: lint
lint: tools ## Check format and lints of everything that needs no ROS
	$(call step,format)
	@cargo fmt --check
	$(call step,lints; warnings are errors)
	@cargo clippy --all-targets -- -D warnings

.PHONY: lint-node
lint-node: ros ## Check the lints of the node
	$(call step,lints of the node; warnings are errors)
	@$(ROS) cargo clippy --all-targets --features ros -- -D warnings

.PHONY: docs
docs: tools ## Build the documentation of the core; warnings are errors
	$(call step,documentation; warnings are errors)
	@RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --lib

.PHONY: bench
bench: tools ## Run the benchmarks of the core
	@cargo bench

.PHONY: clean
clean: ## Remove what was built, the ROS environment and the demo's output
	@rm -rf target .ros demo_output
