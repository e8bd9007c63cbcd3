# vigil: `make` lists what there is.

GO     ?= go
BIN    := bin
# The compiler arranges the programs by a profile of the server; see `make profile`. PGO=off goes without, as CI does: all that
# they are made of would be compiled for them, and again for the tests.
export PGO ?= $(CURDIR)/cmd/vigil-server/cpu.pprof
BUILD  := $(GO) build -pgo=$(PGO)
DIST   := dist
GROUP_PORT ?= 7001
TOOLS  := GOGC=400 $(GO) tool -modfile=$(CURDIR)/.ci/tools/go.mod
# Modules of their own, so that what they need never reaches users of the package.
MODULES := server/integration server/offsite/buckets server/sim cmd/vigil-sim cmd/vigil-session placement/bench cmd/vigil-server/packaging/monitoring examples/crawler examples/shardrouter examples/leaderboard examples/jobqueue examples/searchindex examples/embed examples/shop
# A command in the root, and then in two modules at a time: their tests wait for servers more than they work. It has no single quotes.
# In the root at_once has twice as many packages tested at a time as there are processors, for the same reason.
each = @set -ex; at_once="-p $$((2 * $$(getconf _NPROCESSORS_ONLN)))"; $(1); printf '%s\n' $(MODULES) | xargs -P 2 -I{} sh -exc 'cd {}; $(1)'
# Programs and tests are compiled alike, but for the race detector, which needs cgo.
export CGO_ENABLED := 0
PORT   ?= 6379
DEMO_PORT ?= 8080
FUZZTIME ?= 10s
ROUNDS ?= 1000
SEED   ?= 0
SEEDS  ?= 5000
COUNT  ?= 20
PKGS   ?= ./...
DEB_ARCHES ?= amd64,arm64
SESSIONS ?= 1000000
KILLS ?= 100
LARGE ?= 10000000
MOVING ?= 1000000,10000000
PAGES ?= 2400
JOIN_BYTES ?= 1073741824
JOIN_MEMBERS ?= 1

.DEFAULT_GOAL := help
.PHONY: help build run group demo test browser screenshots race sim sim-group sim-clusters mutants stress lint fuzz faults conformance conformance-redis conformance-newest differences crash crash-group crash-cluster bench bench-report group-bench bench-grow bench-join moving values collector profile waits consumers large sizing window-cost frameworks clients failover bench-sessions placement-table figures web docs dist deb chart packages check clean

# A target is shown with those of its kind, the word behind ##, in the order in which they stand in this file.
help:
	@awk -F': ## ' '/^[a-z-]+: ## / { kind = $$2; sub(/: .*/, "", kind); text = $$2; sub(/^[a-z]+: /, "", text); \
	    line = sprintf("  %-18s %s\n", $$1, text); all[kind] = all[kind] line } \
	  END { n = split("use:To use it:tests:To test it:faults:To try to break it:figures:To measure it:make:To make files", k, ":"); \
	    for (i = 1; i < n; i += 2) printf("%s%s\n%s", (i > 1 ? "\n" : ""), k[i + 1], all[k[i]]) }' $(MAKEFILE_LIST)

run: ## use: the server on port 6379 (PORT=), with its data in ./data, until Ctrl-C. The first time builds it: two minutes on two cores, later seconds
	@echo 'The server is built, the first time for some minutes, and runs until Ctrl-C. Then: redis-cli -p $(PORT)'
	@mkdir -p data
	$(BUILD) -o $(BIN)/ ./cmd/vigil-server
	$(BIN)/vigil-server --port $(PORT) --dir data

group: ## use: build and run three servers with the same data on GROUP_PORT (7001) and the next two ports; VIEW=cluster for clients of Redis Cluster, with GROUPS=3 as three masters
	@$(BUILD) -o $(BIN)/ ./cmd/vigil-server
	@bash .ci/group $(BIN)/vigil-server $(GROUP_PORT) data "$(VIEW)" "$(GROUPS)"

demo: ## use: the session store as a shop in the browser, on DEMO_PORT (8080), data in ./data/demo
	@$(BUILD) -o $(BIN)/ ./cmd/vigil-server
	@cd cmd/vigil-session && $(BUILD) -o ../../$(BIN)/ .
	@cd examples/shop && $(BUILD) -o ../../$(BIN)/ . ./demo
	@$(BIN)/demo -port $(DEMO_PORT) -dir data/demo

# What make lint vets is not vetted again when the tests are built.
test: ## use: all tests, those of the modules with real clients included: ten to fifteen minutes on two cores. One package: go test ./server
	@echo 'All tests, of the root and of the modules: ten to fifteen minutes on two cores. One package: go test ./server'
	$(call each,$(GO) test $$at_once -vet=off -timeout 20m ./...)
	$(MAKE) -s mutants

deb: ## use: Debian packages with units, configuration and documents in dist/, of DEB_ARCHES (amd64,arm64): some five minutes for both
	@echo 'Debian packages of $(DEB_ARCHES) go to $(DIST)/, after some minutes: everything is built anew, so that the same commit makes the same bytes.'
	$(GO) run ./cmd/vigil-dist -pgo $(PGO) -out $(DIST) -deb $(DEB_ARCHES)

build: ## use: all programs in bin/: vigil-server, vigil-session, vigil-sim and the tools beside them
	$(BUILD) -o $(BIN)/ ./cmd/...
	cd cmd/vigil-sim && $(BUILD) -o ../../$(BIN)/ .
	cd cmd/vigil-session && $(BUILD) -o ../../$(BIN)/ .

race: ## tests: the tests of all packages with goroutines under the race detector, but for those that start the server as a program, which has none
	$(call each,of=$$(sh $(CURDIR)/.ci/concurrent); test -z "$$of" || CGO_ENABLED=1 $(GO) test $$at_once -race -vet=off -timeout 40m $$of)
	CGO_ENABLED=1 $(GO) test -race -vet=off ./scheduler -run Shared

browser: ## tests: the shop and the window in a browser: headless Chromium, which is installed on Debian
	bash .ci/browser

screenshots: ## make: draw docs/images with the same browser
	@mkdir -p docs/images
	bash .ci/browser -run Screenshots -screenshots $(CURDIR)/docs/images

sim: ## faults: simulate the whole server with SEEDS (5000) seeds from SEED (0) on
	cd server/sim && $(GO) test . -run KeepsItsPromises -timeout 0 -v -seed $(SEED) -seeds $(SEEDS)

sim-group: ## faults: simulate groups whose members fail, come and go with SEEDS (5000) seeds from SEED (0) on
	$(GO) test ./server/cluster/raftnode -run Linearizable -timeout 0 -v -seed $(SEED) -seeds $(SEEDS)

sim-clusters: ## faults: simulate clusters of several groups whose slots move while everything fails, with SEEDS (5000) seeds from SEED (0) on
	cd server/sim && $(GO) test ./clusters -run KeepTheirPromises -timeout 0 -v -seed $(SEED) -seeds $(SEEDS)

mutants: ## faults: plant bugs, and see the simulations find them
	@printf '%s\n' 'cd server/sim && $(GO) test ./... -tags mutants -run Planted' \
	  '$(GO) test ./persistence ./server/cluster/raftnode -tags mutants -run Planted' | xargs -P 2 -I{} sh -exc '{}'

stress: ## faults: tests of PKGS (all) COUNT (20) times each with 1, 2 and 8 processors beside a busy one
	bash .ci/stress $(COUNT) $(PKGS)

lint: ## tests: gofmt, plain words in comments and docs (cmd/vigil-words), vet, staticcheck
	@bad=$$(find . -path ./.ci/clients/build -prune -o -name '*.go' -print | xargs gofmt -l); \
	test -z "$$bad" || { echo "$$bad"; echo 'run gofmt -w on these'; exit 1; }
	$(GO) run ./cmd/vigil-words
	$(call each,$(GO) vet ./...; $(TOOLS) staticcheck ./...)

fuzz: ## faults: every fuzz target for FUZZTIME (10s) each
	@for m in . $(MODULES); do (cd $$m && for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep ^Fuzz); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p || exit 1; \
	  done; done) || exit 1; done

faults: ## faults: fail every operation of a store's life on the disk, one after the other (half an hour)
	VIGIL_FAULTS=1 $(GO) test ./persistence -run DiskFaults -v -timeout 4h
	$(GO) test ./server -run CallThatCannotRead -everyread -v -timeout 1h

crash: ## faults: kill -9 and power losses, ROUNDS (1000) of each for each appendfsync (half an hour)
	$(MAKE) -s build
	$(BIN)/vigil-crash -server $(BIN)/vigil-server -rounds $(ROUNDS)
	VIGIL_POWER=$(ROUNDS) $(GO) test ./persistence -run PowerLoss -v -count=1 -timeout 2h

crash-group: ## faults: kill -9 of the leader of three servers, KILLS (100) times for each appendfsync; OLD=path begins with servers of an older version, and upgrades amid that; ORDERLY=1 sends SIGTERM, FAILOVER=1 makes them hand over, WHOLE=1 kills all three at once
	$(MAKE) -s build
	$(BIN)/vigil-crash -server $(BIN)/vigil-server -group $(KILLS) $(if $(OLD),-old $(OLD)) $(if $(ORDERLY),-orderly) $(if $(FAILOVER),-failover) $(if $(WHOLE),-whole)

crash-cluster: ## faults: kill -9 of KILLS (100) servers of a cluster of three groups of three for each appendfsync, and of one of three pairs, while slots move and replicas take over
	$(MAKE) -s build
	$(BIN)/vigil-crash -server $(BIN)/vigil-server -cluster $(KILLS)
	$(BIN)/vigil-crash -server $(BIN)/vigil-server -cluster $(KILLS) -replicas 1

conformance: ## tests: the command transcripts against vigil
	$(GO) test ./server -run Conformance -v -count=1

conformance-redis: ## tests: the same transcripts against a real redis-server on loopback, and redis-cli --cluster
	bash .ci/conformance-redis

conformance-newest: ## tests: the same transcripts against the newest Redis and Valkey of Debian, and what differs (five minutes; apt-get as root)
	bash .ci/conformance-newest

differences: ## tests: what COMMAND, COMMAND DOCS, CONFIG GET, INFO, CLIENT LIST and ACL CAT have in other ways than Redis and Valkey, and why; REDIS=path and VALKEY=path of servers, else the newest of Debian (apt-get as root)
	$(BUILD) -o $(BIN)/ ./cmd/vigil-server ./cmd/vigil-differences
	@REDIS="$(REDIS)" VALKEY="$(VALKEY)" bash .ci/differences $(BIN)

bench: ## figures: benchmarks of every package, and the table of placement strategies
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd placement/bench && $(GO) run .

placement-table: ## figures: compare placement with its peers and write the tables into docs/placement.md
	cd placement/bench && $(GO) run . -into ../../docs/placement.md

bench-report: ## figures: compare with redis-server, or PEER=path of another or a valkey-server, and write docs/benchmarks.md; SECTIONS=a,b replaces only these
	$(MAKE) -s build
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server $(if $(PEER),-peer $(PEER)) $(if $(SECTIONS),-sections $(SECTIONS) -replace) -out docs/benchmarks.md

group-bench: ## figures: measure writes to three servers, beside Redis with two replicas and WAIT 1, into docs/benchmarks.md
	$(MAKE) -s build
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server $(if $(PEER),-peer $(PEER)) -sections group -replace -out docs/benchmarks.md
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server $(if $(PEER),-peer $(PEER)) -sections group -appendfsync always -replace -out docs/benchmarks.md

bench-grow: ## figures: grow a cluster of three groups to six under load, into docs/benchmarks.md; fails if a write is lost (half a minute)
	$(MAKE) -s build
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server -sections grow -replace -out docs/benchmarks.md

bench-join: ## figures: add a server to a group of JOIN_MEMBERS (1) and JOIN_BYTES (1 GiB) of data under load, into docs/benchmarks.md; fails if a write is lost (two minutes)
	$(MAKE) -s build
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server -sections join -join-bytes $(JOIN_BYTES) -join-members $(JOIN_MEMBERS) -replace -out docs/benchmarks.md

moving: ## figures: measure moves from redis-server to vigil and back, of MOVING keys (1000000,10000000), and what replicas cost, into docs/migration.md (a quarter of an hour)
	$(BUILD) -o $(BIN)/ ./cmd/vigil-server
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server $(if $(PEER),-peer $(PEER)) -sections moving -moving $(MOVING) -requests 1000000 -rounds 3 -replace -out docs/migration.md

values: ## figures: measure what small values take in memory, beside redis-server, into docs/benchmarks.md (eight minutes)
	$(MAKE) -s build
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server -sections values -replace -out docs/benchmarks.md

collector: ## figures: measure the garbage collector's share of the processor time, into docs/benchmarks.md (half a minute)
	$(MAKE) -s build
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server -sections collector -replace -out docs/benchmarks.md

profile: ## make: write the profile that the programs are built by anew (a minute; redis-benchmark)
	$(GO) run ./cmd/vigil-bench -requests 400000 -profile cmd/vigil-server/cpu.pprof

waits: ## figures: measure how long each command makes other clients wait, into docs/benchmarks.md
	$(MAKE) -s build
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server -sections waits -replace -out docs/benchmarks.md

consumers: ## figures: measure streams, lists and sorted sets while 10,000 clients wait, beside redis-server, into docs/benchmarks.md
	$(MAKE) -s build
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server -sections consumers -replace -out docs/benchmarks.md

large: ## figures: measure values of LARGE elements (10^7) under a maxmemory of 256 MB, into docs/benchmarks.md (half an hour)
	$(MAKE) -s build
	$(GO) run ./cmd/vigil-bench -server $(BIN)/vigil-server -sections large -large $(LARGE) -replace -out docs/benchmarks.md

bench-sessions: ## figures: put visitors on the session store, beside redis-server, into docs/session-store.md (six minutes)
	$(MAKE) -s build
	$(BIN)/vigil-session bench -into docs/session-store.md

frameworks: ## tests: try docs/frameworks.md: Rails, Django, Laravel, Symfony, Next.js, Express and others (npm; apt-get as root; some minutes)
	bash examples/frameworks/run

clients: ## tests: run suites of client libraries (npm, apt-get as root); what they need is in .ci/clients/build
	bash .ci/clients/run

failover: ## tests: kill -9 of the leader of three servers, KILLS times, under client libraries that know Sentinel, or with VIEW=cluster Redis Cluster (npm, apt-get as root)
	KILLS=$(KILLS) VIEW=$(VIEW) bash .ci/clients/failover/run

sizing: ## figures: measure what SESSIONS (1000000) take in memory and on disk, into docs/session-store.md
	$(MAKE) -s build
	$(BIN)/vigil-bench -server $(BIN)/vigil-server -sections sizing -sessions $(SESSIONS) -replace -out docs/session-store.md

window-cost: ## figures: measure what looking through the window costs, into docs/monitoring.md (three minutes)
	$(MAKE) -s build
	$(BIN)/vigil-bench -server $(BIN)/vigil-server -sections looking -replace -out docs/monitoring.md

figures: ## make: draw docs/figures from fixed seeds
	cd cmd/vigil-sim && $(GO) build -o ../../$(BIN)/ .
	$(BIN)/vigil-sim -quiet -demo zipf -seed 1 -steps 200000 -figures docs/figures -kinds svg
	$(BIN)/vigil-sim -quiet -demo table1 -seed 1 -steps 2000 -figures docs/figures -kinds svg
	cd placement/bench && $(GO) run . -figures ../../docs/figures

web: ## figures: compare policies with published ones on a synthetic web of PAGES (2400) pages: the table of docs/scheduler.md (a minute; 10^6 pages take an hour)
	cd cmd/vigil-sim && $(GO) run . -web $(PAGES)

docs: ## make: regenerate docs/commands.md, configuration.md, compatibility.md, vigil.conf, the manual pages
	$(GO) run ./cmd/vigil-docs
	cd cmd/vigil-session && $(GO) test . -run ManualPageIsFresh -update

dist: ## make: static programs for Linux, macOS and Windows, with SHA256SUMS, in dist/
	$(GO) run ./cmd/vigil-dist -pgo $(PGO) -out $(DIST)

chart: ## tests: lint and render its chart with Helm, and run the command lines of its pods (a minute; the first time some minutes more, to build Helm)
	cd cmd/vigil-server/packaging/kubernetes && $(GO) vet . && $(GO) test -vet=off .
	bash .ci/chart

packages: ## tests: build the Debian package, install, use and purge it in a copy of this machine (as root)
	bash .ci/packages

check: ## tests: what CI runs, as root: build, lint, test, race, conformance-redis, browser, packages
	$(MAKE) build PGO=off
	$(MAKE) lint
	$(MAKE) test
	$(MAKE) race
	$(MAKE) conformance-redis
	$(MAKE) browser
	$(MAKE) packages PGO=off

clean: ## make: remove what was built
	rm -rf $(BIN) $(DIST) .ci/clients/build
