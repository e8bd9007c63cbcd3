package commands

import (
	"fmt"
	"strings"
	"testing"
)

func TestScheduleErrorsHaveWords(t *testing.T) {
	// A domain error without words would reach the client as an internal one.
	r := newRig(t, schedGroup())
	r.call("SCHED.CREATE", "s", "SEED", "1")
	for _, call := range []string{
		"SCHED.NODE s x", "SCHED.OBSERVE s x 1", "SCHED.ADD s a COST 0", "SCHED.ADD s a RATE 1e16",
		"SCHED.ADD s a MAXAGE 9223372036854775807", "SCHED.ADD s " + strings.Repeat("x", 8193),
		"SCHED.CREATE t ESTIMATOR window K 0", "SCHED.CREATE t ESTIMATOR window K 1e300",
		"SCHED.CREATE t LEASE 1099511627777", "SCHED.CREATE t CLOCK WALL 1099511627777",
		"SCHED.CREATE t EXPLORE nan", "SCHED.NEXT s COUNT 9223372036854775807",
	} {
		if got := r.call(strings.Fields(call)...); got[0] != '-' || got == "-"+string(ErrInternal)+"\r\n" {
			t.Errorf("%.60s: got %q, want an error in words", call, got)
		}
	}
}

func TestFailedScheduleCommandsRecordNothing(t *testing.T) {
	r := newRig(t, schedGroup())
	r.call("SCHED.CREATE", "s", "SEED", "1")
	r.call("SCHED.ADD", "s", "a", "b")
	r.call("SCHED.NEXT", "s", "COUNT", "2")
	before := r.journal()
	for _, call := range []string{
		"SCHED.CREATE s", "SCHED.ADD s c d COST 0", "SCHED.OBSERVE s a 1 c 1", "SCHED.OBSERVE s a 1 a 1",
		"SCHED.FAIL s a c", "SCHED.FAIL s b b", "SCHED.NEXT s COUNT 0", "SCHED.PEEK s", "SCHED.INFO s", "SCHED.REM s c",
	} {
		r.call(strings.Fields(call)...)
	}
	if got := r.journal(); got != before {
		t.Errorf("refused commands: journal grew by %d bytes", got-before)
	}
}

func TestScheduleWithoutSeedDrawsOne(t *testing.T) {
	r := newRig(t, schedGroup())
	r.call("SCHED.CREATE", "s")
	if info := r.call("SCHED.INFO", "s"); strings.Contains(info, "seed\r\n:0\r\n") {
		t.Errorf("schedule without SEED: got seed 0 in %q", info)
	}
}

func TestScheduleSurvivesReload(t *testing.T) {
	r := newRig(t, schedGroup())
	r.call("SCHED.CREATE", "s", "POLICY", "adaptive", "PROBES", "4", "SEED", "9")
	for i := range 300 {
		r.call("SCHED.ADD", "s", fmt.Sprint("node", i))
	}
	for i := range 100 {
		r.ctx.Now += 10
		for _, f := range strings.Fields(r.call("SCHED.NEXT", "s")) {
			if strings.HasPrefix(f, "node") && i%3 > 0 {
				r.call("SCHED.OBSERVE", "s", f, fmt.Sprint(len(f)+i%5))
			}
		}
	}
	peek, info := r.call("SCHED.PEEK", "s", "WITHSTATS"), r.call("SCHED.INFO", "s")
	if err := r.store.Reload(); err != nil {
		t.Fatal(err)
	}
	r.want(peek, "SCHED.PEEK", "s", "WITHSTATS")
	r.want(info, "SCHED.INFO", "s")
}

func BenchmarkSchedNext(b *testing.B) {
	for _, n := range []int{1000, 100000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			r := newRig(b, schedGroup())
			r.call("SCHED.CREATE", "s", "ESTIMATOR", "fixed", "SEED", "1", "LEASE", "0")
			for i := range n {
				r.call("SCHED.ADD", "s", fmt.Sprint("node", i), "RATE", fmt.Sprint(1+i%97))
			}
			call := argv("SCHED.NEXT", "s")
			b.ReportAllocs()
			for b.Loop() {
				r.do(call)
			}
		})
	}
}
