// Command vigil-bench compares vigil with redis-server or valkey-server, in turn and in one run,
// and writes the figures as a table. It needs redis-benchmark on the PATH, and Linux's /proc.
//
//	go run ./cmd/vigil-bench -server bin/vigil-server -out docs/benchmarks.md
//
// With -replace only the sections that are measured change in the file.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.binary, "server", "bin/vigil-server", "the vigil-server to measure")
	flag.StringVar(&o.peer, "peer", "redis-server", "the `program` to compare with: a redis-server or valkey-server")
	flag.IntVar(&o.writes, "writes", 1_000_000, "commands of each size of section random")
	flag.StringVar(&o.out, "out", "", "file for the report (default: standard output)")
	flag.StringVar(&o.fsync, "appendfsync", "everysec", "on both sides: always, everysec, no")
	flag.IntVar(&o.requests, "requests", 300000, "commands of a pipelined case; others take a quarter")
	flag.IntVar(&o.keys, "keys", 5_000_000, "keys of a restart")
	flag.IntVar(&o.data, "data", 830, "MB of data of section budget")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each case; medians are shown")
	flag.StringVar(&o.sections, "sections", "throughput,synced,random,tls,unique,memory,values,sketches,collector,documents,newer,restart,stall,budget,waits,consumers,group", "what to measure")
	flag.StringVar(&o.waits, "waits", "100000,1000000", "elements of the cases of section waits; bytes are 512 times as many")
	flag.IntVar(&o.values, "values", 1_000_000, "keys of each type of section values")
	flag.IntVar(&o.sessions, "sessions", 1_000_000, "sessions of section sizing, which like looking is measured only if it is named")
	flag.IntVar(&o.large, "large", 10_000_000, "elements of each value of section large, which is measured only if it is named")
	flag.StringVar(&o.largeTypes, "large-types", "", "measure only values of section large whose names begin with one of these, separated by semicolons")
	flag.IntVar(&o.consumers, "consumers", 10_000, "consumers that wait in section consumers")
	flag.IntVar(&o.growKeys, "grow-keys", 100_000, "keys of section grow, which is measured only if it is named")
	flag.IntVar(&o.growMembers, "grow-members", 1, "servers of each group of section grow")
	flag.IntVar(&o.joinMembers, "join-members", 1, "members of the group of section join before another one joins")
	flag.Int64Var(&o.joinBytes, "join-bytes", 1<<30, "bytes of data of section join, which is measured only if it is named")
	flag.StringVar(&o.moving, "moving", "1000000,10000000", "keys of section moving, which is measured only if it is named")
	flag.BoolVar(&o.replace, "replace", false, "replace the sections measured in the file, and keep the others")
	cpu := flag.String("profile", "", "measure nothing, but write where the cases of section throughput spend their processor time to this file")
	flag.Parse()
	o.version = versionOf(o.peer)
	run := measure
	if *cpu != "" {
		run = func(o *options) error { return profile(o, *cpu) }
	}
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "vigil-bench:", err)
		os.Exit(1)
	}
}

type options struct {
	binary, peer, out, fsync, sections     string
	version                                string // of peer, as it says
	requests, rounds, keys, data, sessions int
	values, consumers, large, writes       int
	growKeys, growMembers, joinMembers     int
	joinBytes                              int64
	largeTypes                             string

	waits   string
	moving  string
	replace bool
}

// peerName is what tables call the program that is compared with: "redis" or "valkey", as it names itself.
func (o *options) peerName() string {
	name, _, _ := strings.Cut(o.version, " ")
	return strings.ToLower(name)
}

// peerRelease is the name and the number of the program that is compared with, without how it was built.
func (o *options) peerRelease() string {
	words := strings.Fields(o.version)
	for i, w := range words {
		if strings.HasPrefix(w, "v=") {
			return strings.Join(words[:i+1], " ")
		}
	}
	return o.version
}

func versionOf(peer string) string {
	version, err := exec.Command(peer, "--version").Output()
	if err != nil {
		return "redis " + err.Error()
	}
	return strings.TrimSpace(string(version))
}

func (o *options) wants(section string) bool {
	for _, s := range strings.Split(o.sections, ",") {
		if s == section {
			return true
		}
	}
	return false
}

func measure(o *options) error {
	var r report
	r.begin(o)
	for _, s := range []struct {
		name string
		run  func(*options, *report) error
	}{
		{"throughput", throughput}, {"synced", syncedWrites}, {"random", randomWrites}, {"tls", encrypted}, {"unique", uniqueKeys}, {"memory", memoryAndRestart}, {"values", values}, {"sketches", sketches}, {"collector", collector}, {"documents", documents}, {"newer", newer}, {"restart", restarts},
		{"stall", snapshotStall}, {"budget", budget}, {"waits", otherClients}, {"consumers", waitingConsumers}, {"sizing", sizing}, {"looking", looking},
		{"large", largerThanMemory}, {"group", replication}, {"grow", growing}, {"join", joining},
		{"moving", moving},
	} {
		if !o.wants(s.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", s.name)
		if err := s.run(o, &r); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if o.replace {
		return r.replace(o)
	}
	return r.write(o.out)
}
