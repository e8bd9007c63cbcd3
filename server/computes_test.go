package server

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/blocking"
)

// planned makes a schedule and returns its client.
func planned(r *rig) *testClient {
	c := r.dial()
	c.want("SCHED.CREATE s POLICY memoryless ESTIMATOR fixed SEED 1", "OK")
	c.want("SCHED.ADD s a RATE 0.5 b RATE 0.25", "(int) 2")
	return c
}

// forever is a computation that ends only when it is cancelled: some minutes.
var forever = strings.Fields("SCHED.SIMULATE s STEPS 700000000 POLICY memoryless")

// computing waits until so many computations run or wait for a worker.
func (r *rig) computing(want int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d computations run or wait", want), func() bool {
		running, waiting := r.srv.computes.Count()
		return running+waiting == want
	})
}

func TestComputationHoldsNobodyUp(t *testing.T) {
	r := newRig(t)
	c := planned(r)
	slow := r.dial()
	slow.send(forever...)
	r.blocked(1)
	// The key it works on can be read, changed and deleted meanwhile.
	c.want("SCHED.ADD s c RATE 0.25", "(int) 1")
	c.want("DEL s", "(int) 1")
	r.computing(1)
}

func TestLeavingEndsAComputation(t *testing.T) {
	r := newRig(t)
	c := planned(r)
	slow := r.dial()
	slow.send(forever...)
	r.computing(1)
	slow.nc.Close()
	r.computing(0)
	r.connected(1)
	// One that still waits for a worker ends as well.
	var clients []*testClient
	for range runtime.GOMAXPROCS(0) + 2 {
		slow := r.dial()
		slow.send(forever...)
		clients = append(clients, slow)
	}
	r.computing(len(clients))
	c.want("CLIENT KILL TYPE normal SKIPME yes", "(int) "+fmt.Sprint(len(clients)))
	r.computing(0)
	r.blocked(0)
}

func TestUnblockEndsAComputation(t *testing.T) {
	r := newRig(t)
	c := planned(r)
	slow := r.dial()
	id := slow.id()
	for _, how := range []string{"TIMEOUT", "ERROR"} {
		slow.send(forever...)
		r.blocked(1)
		c.want("CLIENT UNBLOCK "+id+" "+how, "(int) 1")
		slow.next("(error) UNBLOCKED client unblocked via CLIENT UNBLOCK")
		r.computing(0)
	}
	slow.want("PING", "PONG")
}

func TestCallsBehindAComputationWaitForIt(t *testing.T) {
	r := newRig(t)
	c := planned(r)
	c.raw(encode("SCHED.COST", "s") + encode("SET", "k", "v") + encode("GET", "k"))
	if got := c.reply(); !strings.Contains(got, `"formula"`) {
		t.Errorf("SCHED.COST s: got %s", got)
	}
	c.next("OK")
	c.next(`"v"`)
}

func TestTooManyComputationsAreRefused(t *testing.T) {
	r := newRig(t)
	c := planned(r)
	workers := max(1, runtime.GOMAXPROCS(0)/2)
	for i := range workers + blocking.Most {
		slow := r.dial()
		slow.send(forever...)
		r.blocked(i + 1)
	}
	r.until("the line is full", func() bool {
		_, waiting := r.srv.computes.Count()
		return waiting == blocking.Most
	})
	c.want("SCHED.COST s", "(error) ERR too many computations are waiting, try again later")
	c.want("PING", "PONG")
}

func TestCloseEndsComputations(t *testing.T) {
	r := newRig(t)
	planned(r)
	addr := r.loopback()
	for _, slow := range []*testClient{r.dial(), r.dialTCP(addr), r.dialTCP(addr)} {
		slow.send(forever...)
	}
	r.computing(3)
	// The rig closes the server, which waits for its workers.
}

func TestComputationsCountInTheStatistics(t *testing.T) {
	r := newRig(t)
	c := planned(r)
	c.do("SCHED.COST", "s")
	c.want("SCHED.SIMULATE s STEPS 10 POLICY lspe", "(error) ERR policy 'lspe' does not suit the nodes: it needs a DECAY greater than 0")
	info := c.do("INFO", "commandstats")
	for _, want := range []string{"cmdstat_sched.cost:calls=1,", "cmdstat_sched.simulate:calls=1,"} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO commandstats has no %s: %s", want, info)
		}
	}
	if !strings.Contains(info, "failed_calls=1") {
		t.Errorf("the failed simulation is not counted: %s", info)
	}
}

func TestComputationsAreInTheSlowLogOnce(t *testing.T) {
	r := newRig(t)
	c := planned(r)
	c.want("CONFIG SET slowlog-log-slower-than 0", "OK")
	c.want("SLOWLOG RESET", "OK")
	c.do("SCHED.SIMULATE", "s", "STEPS", "1000", "POLICY", "memoryless")
	if got := c.do("SLOWLOG", "GET", "-1"); strings.Count(got, "SCHED.SIMULATE") != 1 {
		t.Errorf("slow log: got %s, want the simulation once", got)
	}
}
