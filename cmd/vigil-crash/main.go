// Command vigil-crash kills a server under load, at any moment, and checks after
// each restart what it finds against the history.
//
//	vigil-crash -server bin/vigil-server [-rounds 1000] [-policies always,everysec,no]
//
// A round starts the server on what the round before has left, checks that, writes
// with several clients and ends the process. Three quarters of them kill it: while it
// starts, runs, makes a snapshot, writes values to their keys, or stops. The others
// send SIGTERM and wait: it has to exit with 0, and all that was acknowledged has to
// be there, with every policy. One client writes numbered
// transactions whose effects are known, so that the state shows how many of them
// are there, and none in part. Others write without transactions, and move
// elements through a list on which a client waits. The exit status is 1 if a
// guarantee was broken; the server of that round is left as it is.
//
//	vigil-crash -server bin/vigil-server -group 100
//
// kills the leader of three servers that hold the same data, again and again, while clients
// count upwards: no acknowledged number may ever be missing. It prints how long clients
// waited for the next acknowledged write. With -orderly it sends SIGTERM in place of that, with -failover SENTINEL FAILOVER, and
// with -whole it kills all three servers at once.
//
//	vigil-crash -server bin/vigil-server -cluster 100
//
// kills servers of a cluster of three groups of three, up to one of each group at a time, while slots go from group to
// group, replicas take over and clients count upwards (cluster.go). With -replicas 1 the groups are pairs.
//
//	vigil-crash -server bin/vigil-server -group 100 -old PROGRAM
//
// begins with servers of an older program, starts those that were killed as the older or the
// newer one, and upgrades the group after half of the kills (upgrade.go).
//
//	vigil-crash -server bin/vigil-server -group 20 -libraries "name=command"
//
// writes instead with programs that use client libraries with their support for
// Sentinel, one a line, each with a group of its own. libraries.go tells what they do.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"
)

func main() {
	binary := flag.String("server", "bin/vigil-server", "the `program` to kill")
	rounds := flag.Int("rounds", 1000, "rounds for each policy")
	parallel := flag.Int("parallel", 4, "servers at once")
	policies := flag.String("policies", "always,everysec,no", "values of appendfsync")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of all random choices but the scheduler's")
	kills := flag.Int("group", 0, "kill the leader of a group of three servers so often for each policy, in place of rounds")
	gently := flag.Bool("orderly", false, "with -group, end leaders by SIGTERM")
	handing := flag.Bool("failover", false, "with -group, make leaders hand over by SENTINEL FAILOVER, and end none")
	whole := flag.Bool("whole", false, "with -group, kill all three servers at once")
	clusterKills := flag.Int("cluster", 0, "kill so many servers of a cluster of three groups for each policy, in place of rounds")
	replicas := flag.Int("replicas", 2, "1 or 2 of them has each master of the cluster")
	old := flag.String("old", "", "an older `program`, which takes turns with the server in a group until half of the kills")
	libraries := flag.String("libraries", "", "name=command of `programs` that write to the group, one a line")
	view := flag.String("view", "sentinel", "what these programs see of the group: sentinel or cluster")
	flag.Parse()
	each := strings.Split(*policies, ",")
	crash := func() error {
		switch {
		case *libraries != "":
			all, err := parseLibraries(*libraries)
			if err != nil {
				return err
			}
			return runLibraries(*binary, *view, max(1, *kills), each, all, *seed)
		case *clusterKills > 0:
			return runClusters(*binary, *clusterKills, *replicas, each, *seed)
		case *kills > 0:
			how := byKill
			switch {
			case *gently:
				how = orderly
			case *handing:
				how = byFailover
			case *whole:
				how = byKillOfAll
			}
			return runGroups(*binary, *old, *kills, how, each, *seed)
		}
		return run(*binary, *rounds, *parallel, each, *seed)
	}
	if err := crash(); err != nil {
		fmt.Fprintln(os.Stderr, "vigil-crash:", err)
		os.Exit(1)
	}
}

// ending is how a process ended.
type ending int

const (
	byKill ending = iota
	orderly
	byFailover  // of leaders of groups only: they go on as followers
	byKillOfAll // servers of a group at once
)

var endings = []string{byKill: "kill -9", orderly: "SIGTERM", byFailover: "SENTINEL FAILOVER", byKillOfAll: "kill -9 of all three servers at once"}

// tally is what the rounds of a policy came to, by the end of the process.
type tally struct {
	mu   sync.Mutex
	ends [2]losses // guarded by mu
}

// losses are those found by checks of what a process has left.
type losses struct {
	rounds     int
	acked      int           // writes that were acknowledged
	lost       int           // of these
	oldest     time.Duration // between the oldest lost one's reply and the end
	violations []string
}

func (l *losses) String() string {
	age := "-"
	if l.lost > 0 {
		age = l.oldest.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%d | %d | %d | %s | %d |", l.rounds, l.acked, l.lost, age, len(l.violations))
}

func run(binary string, rounds, parallel int, policies []string, seed uint64) error {
	fmt.Printf("seed %d\n\n", seed)
	fmt.Println("| fault | appendfsync | rounds | acknowledged | lost | oldest loss | violations |")
	fmt.Println("|---|---|--:|--:|--:|--:|--:|")
	broken := 0
	for p, policy := range policies {
		t := &tally{}
		var workers sync.WaitGroup
		for i := range parallel {
			n := (rounds + i) / parallel
			r := rand.New(rand.NewPCG(seed, uint64(p*parallel+i)))
			workers.Go(func() { work(binary, policy, n, r, t) })
		}
		workers.Wait()
		for how := range t.ends {
			l := &t.ends[how]
			fmt.Printf("| %s | %s | %s\n", endings[how], policy, l)
			for _, v := range l.violations {
				fmt.Fprintln(os.Stderr, v)
			}
			broken += len(l.violations)
		}
	}
	if broken > 0 {
		return fmt.Errorf("%d violations", broken)
	}
	return nil
}

// freshRounds is after how many rounds a worker begins with an empty directory.
const freshRounds = 50

// work does rounds one after the other, in a directory of its own.
func work(binary, policy string, rounds int, r *rand.Rand, t *tally) {
	for done := 0; done < rounds; {
		dir, err := os.MkdirTemp("", "vigil-crash")
		if err != nil {
			t.violate(byKill, "make a directory: %v", err)
			return
		}
		h := newHistory()
		for i := 0; i < freshRounds && done < rounds; i++ {
			if err := round(binary, policy, dir, h, r, t); err != nil {
				t.violate(h.ended, "%s: %v", dir, err)
				return
			}
			done++
		}
		os.RemoveAll(dir)
	}
}

func (t *tally) violate(how ending, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.ends[how]
	l.violations = append(l.violations, fmt.Sprintf(format, args...))
}

// round starts the server, checks what is there, writes and ends it.
func round(binary, policy, dir string, h *history, r *rand.Rand, t *tally) error {
	p, err := start(binary, policy, dir)
	if err != nil {
		return err
	}
	if r.IntN(20) == 0 { // while it starts; the next round checks
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		p.kill()
		t.count(byKill, 0, 0, 0)
		return nil
	}
	c, err := p.dial()
	if err != nil {
		p.kill()
		return fmt.Errorf("the server does not respond: %w\n%s", err, p.log())
	}
	acked, lost, oldest, err := h.check(c)
	if err != nil {
		p.kill()
		return err
	}
	t.count(h.ended, acked, lost, oldest)
	millis := 50 + r.IntN(300)
	if r.IntN(5) == 0 {
		millis = 1000 + r.IntN(1000) // so that everysec has synced
	}
	end := time.NewTimer(time.Duration(millis) * time.Millisecond)
	load := h.begin(p, c, r)
	<-end.C
	h.ended = byKill
	switch r.IntN(8) {
	case 0: // while it stops
		p.stop()
		time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
	case 1, 2:
		h.ended = orderly
		p.stop()
		err = p.exited()
	}
	p.kill()
	h.endedAt = time.Now()
	load.Wait()
	return errors.Join(h.err, err)
}

func (t *tally) count(how ending, acked, lost int, oldest time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.ends[how]
	l.rounds++
	l.acked += acked
	l.lost += lost
	l.oldest = max(l.oldest, oldest)
}
