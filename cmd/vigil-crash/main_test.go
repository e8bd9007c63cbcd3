package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// server is the program under test, built once.
var server string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "vigil-crash")
	if err != nil {
		panic(err)
	}
	server = filepath.Join(dir, "vigil-server")
	if out, err := exec.Command("go", "build", "-o", server, "../vigil-server").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func TestSomeKillsBreakNoPromise(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	if err := run(server, 6, 3, []string{"always", "everysec", "no"}, seed); err != nil {
		t.Error(err)
	}
}

// Leaders of a group that end by either way are followed by others, and nothing that they acknowledged is missing.
func TestEndsOfLeadersLoseNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for how, name := range endings {
		t.Run(name, func(t *testing.T) {
			g := &group{binary: server, policy: "everysec", dir: t.TempDir(), ends: ending(how), acks: make(chan ack, 1)}
			gaps, err := g.run(2, rand.New(rand.NewPCG(seed, 0)))
			if err != nil || len(gaps) != 2 {
				t.Errorf("%d ends: %v", len(gaps), err)
			}
		})
	}
}

// TestWhatIsMissingIsFound asks a server that has lost the last transaction, half
// of one, and an element of the queue.
func TestWhatIsMissingIsFound(t *testing.T) {
	p, err := start(server, "always", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	c, err := p.dial()
	if err != nil {
		t.Fatal(err)
	}
	ended := func() *history {
		h := newHistory()
		for range 3 {
			h.model.send(c)
		}
		h.sent, h.done, h.endedAt = 3, make([]time.Time, 3), time.Now()
		h.model.n = 0
		var last string
		c.w.Flush()
		for range 3 * transactionReplies {
			if last, err = c.reply(); err != nil {
				t.Fatal(err)
			}
		}
		if strings.HasPrefix(last, "-") {
			t.Fatal(last)
		}
		return h
	}
	for damage, want := range map[string]string{
		"":             "",
		"SET n 2":      "lost 1 acknowledged",
		"HSET h f3 x":  "field f3",
		"DEL s1":       "s1 is",
		"JSON.DEL j":   "member f",
		"RPUSH l more": "the list is",
		"SREM set m7":  "SMEMBERS set is",
		"ZADD z 1 m2":  "ZRANGE z",
		"XDEL x 2-1":   "XRANGE x",
		"XACK x g 1-1": "XPENDING x",
		"HDEL e calls": "HGET e calls",
		"SET elast 1":  "GET elast",
		"SET lone 1":   "lone is 1",
		"RPUSH q 1 3":  "the queue has 3 behind 1",
	} {
		if _, err := c.do("FLUSHALL"); err != nil {
			t.Fatal(err)
		}
		h := ended()
		if damage != "" {
			if got, err := c.do(strings.Fields(damage)...); err != nil || strings.HasPrefix(got, "-") {
				t.Fatalf("%s: %s, %v", damage, got, err)
			}
		}
		_, _, _, err := h.check(c)
		if !strings.Contains(errorText(err), want) || (err == nil) != (want == "") {
			t.Errorf("after %q: %v, want %q", damage, err, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestErrorIsFoundAtAnyPositionOfAnArray(t *testing.T) {
	for reply, want := range map[string]string{
		"*2\r\n+a\r\n$2\r\n-b\r\n":           "a -b",
		"*3\r\n+a\r\n-ERR x\r\n+b\r\n":       "-ERR x",
		"*2\r\n*2\r\n:1\r\n-ERR y\r\n:2\r\n": "-ERR y",
		"*2\r\n-ERR x\r\n-ERR y\r\n":         "-ERR x",
		"*2\r\n*1\r\n$2\r\n-a\r\n*0\r\n":     "-a ",
		"*1\r\n$-1\r\n":                      "(nil)",
	} {
		c := &client{r: bufio.NewReader(strings.NewReader(reply))}
		if got, err := c.reply(); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", reply, got, err, want)
		}
	}
}

func TestOrderlyExitThatWasNoneIsFound(t *testing.T) {
	for script, want := range map[string]string{"exit 3": "exit status 3", "kill -9 $$": "killed", "exit 0": ""} {
		p := &process{cmd: exec.Command("sh", "-c", script)}
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := p.exited(); !strings.Contains(errorText(err), want) || (err == nil) != (want == "") {
			t.Errorf("%s: got %v, want %q", script, err, want)
		}
	}
}
