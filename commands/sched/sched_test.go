package sched

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdb"
	"github.com/vigildb/vigil/structures/schedule"
)

func TestScheduleErrorsHaveWords(t *testing.T) {
	// A domain error without words would reach the client as an internal one.
	r := commandtest.New(t, Group())
	r.Call("SCHED.CREATE", "s", "SEED", "1")
	for _, call := range []string{
		"SCHED.NODE s x", "SCHED.OBSERVE s x 1", "SCHED.ADD s a COST 0", "SCHED.ADD s a RATE 1e16",
		"SCHED.ADD s a MAXAGE 9223372036854775807", "SCHED.ADD s " + strings.Repeat("x", 8193),
		"SCHED.CREATE t ESTIMATOR window K 0", "SCHED.CREATE t ESTIMATOR window K 1e300",
		"SCHED.CREATE t LEASE 1099511627777", "SCHED.CREATE t CLOCK WALL 1099511627777",
		"SCHED.CREATE t EXPLORE nan", "SCHED.NEXT s COUNT 9223372036854775807",
	} {
		if got := r.Call(strings.Fields(call)...); got[0] != '-' || got == "-"+string(commands.ErrInternal)+"\r\n" {
			t.Errorf("%.60s: got %q, want an error in words", call, got)
		}
	}
}

func TestUnknownPoliciesAndEstimatorsAreAnsweredWithTheKnown(t *testing.T) {
	r := commandtest.New(t, Group())
	var policies, estimators []string
	for _, p := range scheduler.Policies() {
		policies = append(policies, p.Name)
	}
	for _, e := range scheduler.Estimators() {
		estimators = append(estimators, e.Name)
	}
	r.Want("-ERR unknown policy 'best', available: "+strings.Join(policies, ", ")+"\r\n", "SCHED.CREATE", "s", "POLICY", "best")
	r.Want("-ERR unknown estimator 'best', available: "+strings.Join(estimators, ", ")+"\r\n", "SCHED.CREATE", "s", "ESTIMATOR", "best")
}

func TestFailedScheduleCommandsRecordNothing(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("SCHED.CREATE", "s", "SEED", "1")
	r.Call("SCHED.ADD", "s", "a", "b")
	r.Call("SCHED.NEXT", "s", "COUNT", "2")
	before := r.Journal()
	for _, call := range []string{
		"SCHED.CREATE s", "SCHED.ADD s c d COST 0", "SCHED.OBSERVE s c 1 d 1", "SCHED.OBSERVE s a 1 a 1", "SCHED.OBSERVE s a 1 COST -2",
		"SCHED.LIMIT s g GAP -1", "SCHED.HOLD s g -1", "SCHED.ADD s c DEADLINE 5 d DEADLINE -1", "SCHED.ADD s c GROUP g d AGE -1", "SCHED.ALTER s POLICY memoryless BUDGET 5",
		"SCHED.ALTER s PROBES 2 POLICY none", "SCHED.DUE s STEPS 3", "SCHED.GROUP s g", "SCHED.GROUPS s 0",
		"SCHED.ADD s c PRIORITY 5", "SCHED.FAIL s c d", "SCHED.FAIL s a RETRY 0", "SCHED.PAUSE s 5 c", "SCHED.PAUSE s -1 a", "SCHED.RESUME s a", "SCHED.TAKE s 5 a c", "SCHED.SIGNAL s c", "SCHED.SIGNAL s a AGO -1", "SCHED.FAIL s b b", "SCHED.NEXT s COUNT 0", "SCHED.PEEK s", "SCHED.INFO s", "SCHED.REM s c",
	} {
		r.Call(strings.Fields(call)...)
	}
	if got := r.Journal(); got != before {
		t.Errorf("refused commands: journal grew by %d bytes", got-before)
	}
}

func TestScheduleWithoutSeedDrawsOne(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("SCHED.CREATE", "s")
	if info := r.Call("SCHED.INFO", "s"); strings.Contains(info, "seed\r\n:0\r\n") {
		t.Errorf("schedule without SEED: got seed 0 in %q", info)
	}
}

func TestScheduleSurvivesReload(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("SCHED.CREATE", "s", "POLICY", "adaptive", "PROBES", "4", "SEED", "9")
	for i := range 300 {
		r.Call("SCHED.ADD", "s", fmt.Sprint("node", i))
	}
	for i := range 100 {
		r.Ctx.Now += 10
		for _, f := range strings.Fields(r.Call("SCHED.NEXT", "s")) {
			if strings.HasPrefix(f, "node") && i%3 > 0 {
				r.Call("SCHED.OBSERVE", "s", f, fmt.Sprint(len(f)+i%5))
			}
		}
	}
	peek, info := r.Call("SCHED.PEEK", "s", "WITHSTATS"), r.Call("SCHED.INFO", "s")
	if err := r.Store.Passes().Reload(); err != nil {
		t.Fatal(err)
	}
	r.Want(peek, "SCHED.PEEK", "s", "WITHSTATS")
	r.Want(info, "SCHED.INFO", "s")
}

func BenchmarkSchedNext(b *testing.B) {
	for _, n := range []int{1000, 100000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			r := commandtest.New(b, Group())
			r.Call("SCHED.CREATE", "s", "ESTIMATOR", "fixed", "SEED", "1", "LEASE", "0")
			for i := range n {
				r.Call("SCHED.ADD", "s", fmt.Sprint("node", i), "RATE", fmt.Sprint(1+i%97))
			}
			call := commandtest.Argv("SCHED.NEXT", "s")
			b.ReportAllocs()
			for b.Loop() {
				r.Do(call)
			}
		})
	}
}

// twins are two rigs that are given the same calls and must give the same
// replies. One of them is disturbed.
type twins struct {
	*commandtest.Rig
	other *commandtest.Rig
}

func (w *twins) call(args ...string) string {
	w.T.Helper()
	want, got := w.Rig.Call(args...), w.other.Call(args...)
	if got != want {
		w.T.Fatalf("%q: the disturbed schedule answers %q, want %q", args, got, want)
	}
	return want
}

// play makes random calls on schedule s, and calls disturb in between.
func (w *twins) playSchedule(rng *rand.Rand, calls int, disturb func()) {
	var out []string
	for range calls {
		step := int64(rng.IntN(200))
		w.Rig.Ctx.Now += step
		w.other.Ctx.Now += step
		name := fmt.Sprint("node-", rng.IntN(150))
		switch k := rng.IntN(20); {
		case k < 5:
			w.call("SCHED.ADD", "s", name, "RATE", fmt.Sprint(rng.Float64()), "WEIGHT", fmt.Sprint(1+rng.IntN(3)),
				"DECAY", fmt.Sprint(.01+rng.Float64()), "ARRIVAL", fmt.Sprint(rng.Float64()))
		case k < 6:
			w.call("SCHED.REM", "s", name)
		case k < 12:
			for _, word := range strings.Fields(w.call("SCHED.NEXT", "s", "COUNT", fmt.Sprint(1+rng.IntN(3)), "LEASE", fmt.Sprint(rng.IntN(4)*500))) {
				if strings.HasPrefix(word, "node-") {
					out = append(out, word)
				}
			}
		case k < 13:
			w.call("SCHED.PEEK", "s", "COUNT", "4", "WITHSTATS")
		case k < 19 && len(out) > 0:
			i := rng.IntN(len(out))
			if k < 18 {
				w.call("SCHED.OBSERVE", "s", out[i], fmt.Sprint(rng.IntN(4)))
			} else {
				w.call("SCHED.FAIL", "s", out[i])
			}
			out = append(out[:i], out[i+1:]...)
		default:
			disturb()
		}
	}
}

// Materialised and read back, or dumped and restored, a schedule of any policy
// goes on as if nothing had happened.
func TestSchedulesGoOnAfterReloadAndRestore(t *testing.T) {
	for seed, spec := range scheduler.Policies() {
		for _, clock := range [][]string{{"CLOCK", "STEP"}, {"CLOCK", "WALL", "70"}} {
			w := twins{schedRig(t), schedRig(t)}
			w.call(append([]string{"SCHED.CREATE", "s", "POLICY", spec.Name, "SEED", "3", "PROBES", "2", "EXPLORE", "0.1"}, clock...)...)
			rng := rand.New(rand.NewPCG(uint64(seed), 31))
			w.playSchedule(rng, 800, func() {
				if rng.IntN(2) == 0 {
					if err := w.other.Store.Passes().Reload(); err != nil {
						t.Fatal(err)
					}
					return
				}
				w.other.Want("+OK\r\n", "RESTORE", "s", "0", w.other.Payload("s"), "REPLACE")
			})
			w.call("SCHED.INFO", "s")
			if a, b := w.Rig.Payload("s"), w.other.Payload("s"); a != b {
				t.Errorf("%s %v, seed %d: the payloads differ", spec.Name, clock, seed)
			}
		}
	}
}

// encoded is what the store has of a schedule.
func encoded(r *commandtest.Rig, key string) []byte {
	var set persistence.Shards
	set.AddAll()
	r.Ctx.Tx.Lock(&set, r.Ctx.Now)
	defer r.Ctx.Tx.Unlock()
	r.Ctx.Tx.Select(0)
	_, encoded, _ := r.Ctx.Tx.Transfers().Dump(nil, []byte(key))
	r.Ctx.Tx.Commit()
	return encoded
}

// A payload with a good checksum may hold anything: it is refused, or makes a
// schedule that works.
func TestHostilePayloadsOfSchedulesAreRefusedOrWork(t *testing.T) {
	const refused = "-ERR Bad data format\r\n"
	for _, spec := range scheduler.Policies() {
		r := schedRig(t)
		r.Call("SCHED.CREATE", "s", "SEED", "1", "POLICY", spec.Name)
		r.Call("SCHED.ADD", "s", "a", "RATE", "1", "DECAY", "0.5", "ARRIVAL", "1", "b", "RATE", "1", "DECAY", "0.5", "ARRIVAL", "1")
		r.Call("SCHED.NEXT", "s")
		r.Call("SCHED.OBSERVE", "s", "a", "1")
		r.Call("SCHED.NEXT", "s")
		encoded := encoded(r, "s")
		r.Want("+OK\r\n", "RESTORE", "t", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, encoded)))
		rng := rand.New(rand.NewPCG(1, 41))
		worked := 0
		for range 700 {
			bad := bytes.Clone(encoded)
			for range 1 + rng.IntN(3) {
				bad[rng.IntN(len(bad))] = byte(rng.IntN(256))
			}
			if rng.IntN(10) == 0 {
				bad = bad[:rng.IntN(len(bad))]
			}
			got := r.Call("RESTORE", "t", "0", string(rdb.AppendOwn(nil, structures.KindSchedule, bad)), "REPLACE")
			if got == refused {
				continue
			}
			if got != "+OK\r\n" {
				t.Fatalf("%s: %q: got %q", spec.Name, bad, got)
			}
			worked++
			for _, call := range []string{"SCHED.NEXT t COUNT 3 WITHSTATS", "SCHED.OBSERVE t a 1", "SCHED.OBSERVE t b 1e15", "SCHED.PEEK t", "SCHED.INFO t", "SCHED.ADD t c DECAY 1"} {
				if got := r.Call(strings.Fields(call)...); strings.Contains(got, "nan") || strings.HasPrefix(got, "-"+string(commands.ErrInternal)) {
					t.Errorf("%s: %q: %s answers %q", spec.Name, bad, call, got)
				}
			}
		}
		if worked == 0 {
			t.Errorf("%s: no payload was taken", spec.Name)
		}
	}
}

func TestChangesOfSchedulesArePublished(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Classes = commands.EventAll | commands.EventNew
	for _, x := range []struct {
		call   string
		events []string
	}{
		{"SCHED.CREATE s SEED 1", []string{"new s", "sched.create s"}},
		{"SCHED.ADD s a b", []string{"sched.add s"}},
		{"SCHED.PEEK s", nil},
		{"SCHED.NEXT s COUNT 2", []string{"sched.next s"}},
		{"SCHED.OBSERVE s a 1", []string{"sched.observe s"}},
		{"SCHED.OBSERVE s a 1", nil}, // its lease has ended
		{"SCHED.OBSERVE s a 1 x 1", nil},
		{"SCHED.FAIL s a b", []string{"sched.fail s"}},
		{"SCHED.REM s a x", []string{"sched.rem s"}},
		{"SCHED.REM s a", nil},
	} {
		r.Events = nil
		r.Call(strings.Fields(x.call)...)
		r.WantEvents(x.events...)
	}
}

func TestParametersOfSchedulesAreDocumentedAsNumbers(t *testing.T) {
	for _, cmd := range Group().Commands {
		for _, a := range commands.ParseSyntax(&cmd) {
			switch a.Token {
			case "RATE", "WEIGHT", "DECAY", "ARRIVAL", "COST", "EXPLORE":
				if a.Type != commands.ArgDouble {
					t.Errorf("%s: %s is a %s, want a double", cmd.Name, a.Token, a.Type)
				}
			case "PROBES", "SEED", "MAXAGE", "STEPS", "COUNT", "LEASE":
				if a.Type != commands.ArgInteger {
					t.Errorf("%s: %s is a %s, want an integer", cmd.Name, a.Token, a.Type)
				}
			}
		}
	}
}

// The fields that WITH knows are those of SCHED.NODE, and no others.
func TestFieldsOfNODESAreThoseOfNODE(t *testing.T) {
	s := schedule.New(structures.HashKey{})
	if err := s.Create(nil, schedule.DefaultConfig(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(nil, []byte("a"), scheduler.DefaultParams(), 1); err != nil {
		t.Fatal(err)
	}
	fields, err := s.Node([]byte("a"), 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range fields[1:] {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, nodeFields()) {
		t.Errorf("SCHED.NODE has %v, WITH knows %v", names, nodeFields())
	}
}
