package waits_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/groups"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/waits"
)

const (
	elements = 100_000 / slowness
	bytes    = 16 << 20 / slowness

	// bound is what another client may wait at this size: 100 ms, and five times
	// as much on a machine that does other things too; see busyness.
	bound = 5 * 100 * time.Millisecond
)

// serve opens a server and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	srv, err := server.Open(context.Background(), server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1) // the one answer of Serve
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(context.Background()), <-served); !errors.Is(err, server.ErrClosed) {
			t.Errorf("Serve: got %v, want %v", err, server.ErrClosed)
		}
	})
	return l.Addr().String()
}

func table(t *testing.T) *commands.Table {
	t.Helper()
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestEveryCommandHasACaseOrAReason(t *testing.T) {
	table, cases := table(t), map[string]bool{}
	for _, k := range waits.Cases() {
		cases[k.Command] = true
	}
	known := map[string]bool{}
	for _, c := range table.All() {
		known[c.Name] = true
		switch reason := waits.Sizeless[c.Name]; {
		case !cases[c.Name] && reason == "":
			t.Errorf("%s: want a case in cases_*.go, or in Sizeless (cases.go) the reason why it needs none", c.Name)
		case cases[c.Name] && reason != "":
			t.Errorf("%s: there is a case, and in Sizeless a reason for none: %s", c.Name, reason)
		}
	}
	for name := range cases {
		if !known[name] {
			t.Errorf("%s has a case and is no command", name)
		}
	}
	for name := range waits.Sizeless {
		if !known[name] {
			t.Errorf("%s has a reason for no case and is no command", name)
		}
	}
}

// spin takes a few ms of a processor that does nothing else, and returns how long it took.
func spin() time.Duration {
	start := time.Now()
	sha256.Sum256(make([]byte, 1<<20))
	return time.Since(start)
}

// busyness is by how much work takes longer now than when spin took best: a factor of at least 1.
func busyness(best time.Duration) float64 {
	const spins = 100
	start := time.Now()
	for range spins {
		spin()
	}
	return max(1, float64(time.Since(start))/float64(spins*best))
}

// A machine that does other things shows waits that are none of ours: what is over
// the bound is measured again, with as much patience as a program needs there that
// does the same each time. A case that is too slow is so each time.
func TestNoCommandHoldsOtherClientsUp(t *testing.T) {
	const rounds = 4
	best := spin()
	for range 50 {
		best = min(best, spin())
	}
	addr := serve(t)
	for _, k := range waits.Cases() {
		n := elements
		if k.Bytes {
			n = bytes
		}
		var worst, patience time.Duration
		for range rounds {
			r, err := k.Measure(addr, n)
			if err != nil {
				t.Fatal(err)
			}
			worst, patience = max(r.Anyone, r.SameKey), bound
			if worst > bound {
				patience = time.Duration(float64(bound) * busyness(best))
			}
			if worst <= patience {
				break
			}
		}
		if worst > patience {
			t.Errorf("%s, %s: another client waited %v, want %v at the most", k.Command, k.What, worst, patience)
		}
	}
}
