# Every target gets Deno first if it has to (scripts/deno.sh); what the targets do stands in deno.json's tasks.

.DEFAULT_GOAL := help
.PHONY: help deno demo shop run setup check test test-long budget bench bench-guard bench-peers simulate prove soak fmt compile package release library clients image docs clean

# How long a soak lasts, on which store (sqlite, redis, postgres, or both: the first two), and its seed; empty for any.
MINUTES = 1
STORE = both
SEED =
# Of the simulation: the number of schedules, the seed of the first, and whether to print its log.
SEEDS = 1000
FIRST = 1
LOG =
SIMULATED = $(or $(filter redis postgres,$(STORE)),sqlite)
# Of the benchmarks: how often each case is measured, and a factor for the numbers of jobs.
ROUNDS = 3
SCALE = 1
# Of the guard on cost: the commit to compare with, empty for the one that this tree comes from; and the percentage by which a job may be dearer.
AGAINST =
BOUND = 3
# Of the random program of batches and flows that follows a soak.
STEPS = 500

DENO = deno=$$(scripts/deno.sh) || exit 1; "$$deno"
TESTRUN = $(DENO) run --quiet -A scripts/testrun/main.ts

# What Deno downloads and compiles stays in the project, so that nothing depends on another program's cache, or on HOME.
export DENO_DIR ?= $(CURDIR)/.deno/cache
export DENO_NO_UPDATE_CHECK = 1

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

deno: ## Get the toolchain, and say which it is
	@$(DENO) --version && echo "$$deno"

demo: ## Watch a worker, its dashboard and live jobs, until a key is pressed (STORE=postgres, redis or an address for another store)
	@$(DENO) task --quiet demo $(filter-out both,$(STORE))

shop: ## Run the example shop: 50,000 newsletters at 100 a second (ARGS="sqlite:shop.db 500" for another store and number)
	@$(DENO) run -A examples/shop/main.ts $(ARGS)

run: deno ## Keep a processor running, for `./jobs push` from another terminal (ARGS=... for more)
	@echo
	@echo "A processor starts here. From another terminal, in this folder:"
	@echo "  ./jobs push Greet bob          enqueue a job"
	@echo "  ./jobs stats                   what there is"
	@echo "  ./jobs --help                  everything else"
	@echo "Ctrl-C stops it."
	@echo
	@exec ./jobs run examples/handlers.js $(ARGS)

check: ## Check format, lint, types, documentation and its examples
	@$(TESTRUN) --check

setup: ## Get everything that a run of the tests downloads: after it, no target but bench-peers, docs and release needs a network
	@$(TESTRUN) --setup

test: ## Run the tests, check included (FILTER=cron: files with that in their path, or else in tests' titles; CHANGED=main: what a change can break)
	@$(TESTRUN) $(if $(FILTER),--filter '$(FILTER)') $(if $(CHANGED),--changed '$(CHANGED)') $(if $(SLOWEST),--slowest $(SLOWEST))

test-long: ## Run the other tests: what is long by nature, and what repeats on Redis (SLOWEST=20; WHOLE=1 for all pairs of verbs and databases)
	@$(TESTRUN) --long $(if $(SLOWEST),--slowest $(SLOWEST))

budget: ## Run both, and store the processor time of each file as the budget that a run with CI set keeps to
	@$(TESTRUN) --budget
	@$(TESTRUN) --long --budget

bench: ## Measure: throughput, latency, start, memory (PARTS="drain latency", ROUNDS=3, SCALE=1)
	@$(DENO) task bench --rounds "$(ROUNDS)" --scale "$(SCALE)" $(PARTS)

bench-peers: ## Measure the same jobs in BullMQ, Sidekiq, RQ, pg-boss, graphile-worker and bunqueue, in turns (ROUNDS=3, ONLY=RQ,BullMQ, JSON=file)
	@$(DENO) task bench:peers --rounds "$(ROUNDS)" $(if $(SIZES),--sizes "$(SIZES)") $(if $(ONLY),--only "$(ONLY)") $(if $(JSON),--json "$(JSON)")

bench-guard: ## Compare the cost of a job with that in another commit, and fail if one is dearer (AGAINST=main MINUTES=10 BOUND=3, ONLY="Redis, drain", SHORT=1 for two minutes)
	@$(DENO) run -A --no-check tests/bench/guard/main.ts --against "$(AGAINST)" --bound "$(BOUND)" --only "$(ONLY)" \
	  $(if $(SHORT),--short,$(if $(filter-out file,$(origin MINUTES)),--minutes "$(MINUTES)")) $(if $(ROOMS),--rooms)

simulate: ## Run workers, clients and operators under one virtual clock and random faults (SEEDS=1000 FIRST=1 STORE=sqlite LOG=1)
	@$(DENO) run -A --no-check tests/simulation/main.ts --seeds "$(SEEDS)" --first "$(FIRST)" --store "$(SIMULATED)"$(if $(LOG), --log)

prove: ## Put mended defects back, one by one, and let the simulation find each (MINUTES=10 ONLY="wake-lost redis-given-up")
	@$(DENO) run -A --no-check tests/simulation/prove.ts $(ONLY)

soak: ## Kill, freeze and cut off real workers at random, then account for every job (MINUTES=1 STORE=both SEED=... ONLY=kill or shop STEPS=500)
	@$(DENO) run -A tests/soak/main.ts --minutes "$(MINUTES)" --store "$(STORE)"$(if $(SEED), --seed "$(SEED)")$(if $(ONLY), --only "$(ONLY)")
	@STEPS="$(STEPS)" SEED="$(SEED)" && export STEPS SEED && $(DENO) run -A tests/chaos/batches_soak.ts $(filter-out both,$(STORE))
	@$(DENO) run -A --no-check tests/simulation/main.ts --seeds "$(SEEDS)" --first "$(or $(SEED),$$(date +%s))" --store "$(SIMULATED)"

fmt: ## Format the code
	@$(DENO) fmt

compile: ## Make one executable, dist/jobs (TARGET=aarch64-unknown-linux-gnu for another platform; ANY_RUNTIME=1 for a trial)
	@$(DENO) task --quiet compile $(if $(TARGET),--target $(TARGET)) $(if $(ANY_RUNTIME),--any-runtime)

package: compile clients ## Make what people install: dist/*.tar.gz, dist/*.deb, their checksums, dist/clients
	@$(DENO) run -A scripts/release/main.ts --binary dist/jobs

release: ## Make all files of a release, dist/release: for TARGETS="...", or whose runtime is in RUNTIMES=folder, else for this machine
	@deno=$$(scripts/deno.sh --pinned) || exit 1; "$$deno" run -A scripts/release/main.ts --targets "$(TARGETS)" \
	  $(if $(RUNTIMES),--runtimes "$(RUNTIMES)") $(if $(ANY_RUNTIME),--any-runtime)

library: ## Make the library as a folder that any Deno program imports from, dist/library
	@$(DENO) task --quiet library

clients: ## Put the clients for Node, Python and Ruby into dist/clients (CLIENT="ruby worker.rb": run the conformance table against that worker)
	@mkdir -p dist/clients && cp -R clients/node clients/python clients/ruby dist/clients/
	@$(if $(CLIENT),$(DENO) run -A --no-check tests/clients/conformance/main.ts "$(CLIENT)" $(if $(CASE),"$(CASE)"))

image: compile ## Make a container image of it, dist/jobs.tar, and its files in dist/rootfs; no Docker needed
	@$(DENO) task --quiet image

docs: ## Make the documentation as a site with search, dist/docs; npm installs VitePress for it
	@$(DENO) run -A scripts/site/build.ts

clean: ## Remove what was made: dist, coverage, the toolchain
	rm -rf dist coverage .deno
