package main

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func newTestCluster(t *testing.T, policy string, members int) *cluster {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := &cluster{binary: server, policy: policy, dir: t.TempDir(), members: members, r: rand.New(rand.NewPCG(seed, 0))}
	t.Cleanup(c.killAll)
	return c
}

func TestKillsInAClusterLoseNothing(t *testing.T) {
	for policy, members := range map[string]int{"everysec": 3, "always": 2} {
		t.Run(policy, func(t *testing.T) {
			c := newTestCluster(t, policy, members)
			if err := c.run(2); err != nil {
				t.Fatal(err)
			}
			if c.kills < 2 {
				t.Errorf("%d servers were killed", c.kills)
			}
		})
	}
}

func TestMastersHaveOneReplicaOrTwo(t *testing.T) {
	for _, replicas := range []int{0, 3} {
		if err := runClusters("none", 1, replicas, []string{"always"}, 1); !strings.Contains(errorText(err), "1 or 2 replicas") {
			t.Errorf("%d replicas: got %v", replicas, err)
		}
	}
}

// A key that is gone, in a cluster whose servers are well, ends the run with an error.
func TestLostKeyOfAClusterIsFound(t *testing.T) {
	c := newTestCluster(t, "no", 3)
	if err := c.form(); err != nil {
		t.Fatal(err)
	}
	found, thief := make(chan error), newSlotWriter(c, 0)
	go func() { found <- c.load(1 << 30) }()
	for {
		select {
		case err := <-found:
			if err == nil || !strings.Contains(err.Error(), "counter:0:0 is") {
				t.Errorf("got %v", err)
			}
			return
		default:
			thief.call("counter:0:0", "DEL", "counter:0:0")
		}
	}
}

func TestValuesOfKeysAreJudged(t *testing.T) {
	k := &slotKey{name: "k", asked: 5, acked: 3}
	for value, want := range map[string]string{"3": "", "4": "", "5": "", "2": "k is 2", "6": "k is 6", "(nil)": "k is (nil)", "x": "k is x"} {
		if got := errorText(k.judge(value)); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
	if err := new(slotKey).judge("(nil)"); err != nil {
		t.Errorf("a key that was never written: %v", err)
	}
}
