package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/resharding"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/types"
)

// below is the level before the one with a form.
func below(f types.Form) uint64 { return f.Level - 1 }

// needs is the reply to a call that needs the level of a form in a group of the level below.
func needs(f types.Form) string {
	return fmt.Sprintf("(error) ERR The group has level %d, and this needs level %d: VIGIL.CLUSTER UPGRADE at the leader raises it, once all members have a version that knows it",
		below(f), f.Level)
}

// laterKinds are calls that make a value {x}k of each type that came with a level.
var laterKinds = map[structures.Kind][]string{
	structures.KindCuckoo:   {"CF.RESERVE {x}k 100", "CF.ADD {x}k a", "CF.ADDNX {x}k a", "CF.INSERT {x}k ITEMS a", "CF.INSERTNX {x}k ITEMS a"},
	structures.KindCountMin: {"CMS.INITBYDIM {x}k 10 2", "CMS.INITBYPROB {x}k 0.1 0.1"},
	structures.KindTopK:     {"TOPK.RESERVE {x}k 3"},
	structures.KindTDigest:  {"TDIGEST.CREATE {x}k", "TDIGEST.MERGE {x}k 1 {x}src"},
	structures.KindJSON:     {"JSON.SET {x}k $ 1", "JSON.MSET {x}k $ 1 {x}l $ 2", "JSON.MERGE {x}k $ 1"},
}

// laterForm is what a type has come to say.
type laterForm struct {
	before []string // make {x}s, as the level before has it
	later  []string // make it a value in the later form
	calls  []string // need that form, of {x}s or of a new {x}k
	on     string   // so does this, of {x}later, which is in that form; "" is none
	still  string   // does not
}

// laterForms are those of the types that have one, by kind; nil: their heads are written in the form that the level has.
var laterForms = map[structures.Kind]*laterForm{
	structures.KindSchedule: {
		before: []string{"SCHED.CREATE {x}s POLICY index SEED 1 LEASE 100000", "SCHED.ADD {x}s a RATE 3 b RATE 1", "SCHED.NEXT {x}s"},
		later:  []string{"SCHED.PAUSE {x}s 1000000 a"}, on: "SCHED.RESUME {x}later a", still: "SCHED.FAIL {x}s a",
		calls: []string{"SCHED.SIGNAL {x}s a b", "SCHED.SIGNAL {x}s nosuch a PRECISION 0.5", "SCHED.PAUSE {x}s 1000 a", "SCHED.TAKE {x}s 1000 b", "SCHED.FAIL {x}s a RETRY 9",
			"SCHED.ADD {x}s c RATE 1 d PRECISION 0.5", "SCHED.ADD {x}s c RECALL 0.5", "SCHED.ALTER {x}s PROBES 2", "SCHED.ALTER {x}s QUIET 9", "SCHED.CREATE {x}k POLICY index QUIET 9",
			"SCHED.CREATE {x}k GROUPBY HOST", "SCHED.CREATE {x}k BUDGET 9", "SCHED.ADD {x}s c GROUP g", "SCHED.ADD {x}s c DEADLINE 5", "SCHED.ADD {x}s c AGE 5",
			"SCHED.LIMIT {x}s g GAP 5", "SCHED.HOLD {x}s g 5", "SCHED.ALTER {x}s POLICY sqrtage", "SCHED.ALTER {x}s BUDGET 4", "SCHED.OBSERVE {x}s a 1 COST 2"},
	},
	structures.KindSet: {
		before: []string{"SADD {x}s a 1"}, later: []string{"SEXPIRE {x}s 1000 MEMBERS 1 a"}, still: "SADD {x}s c",
		calls: []string{"SEXPIRE {x}s 1000 MEMBERS 1 a", "SPEXPIRE {x}s 100000 MEMBERS 1 1", "SEXPIREAT {x}s 33177117420 MEMBERS 1 a",
			"SPEXPIREAT {x}s 33177117420000 MEMBERS 1 a"},
	},
	structures.KindStream: {
		before: []string{"XADD {x}s 1-1 f v", "XGROUP CREATE {x}s g 0", "XREADGROUP GROUP g c STREAMS {x}s >"},
		later:  []string{"XCFGSET {x}s IDMP-MAXSIZE 8"}, still: "XADD {x}s * f v",
		calls: []string{"XADD {x}s IDMP p b * f v", "XADD {x}s IDMPAUTO p * f w", "XCFGSET {x}s IDMP-MAXSIZE 9", "XNACK {x}s g FAIL IDS 1 1-1"},
	},
	structures.KindPlace: {
		before: []string{"PLACE.CREATE {x}s SEED 1", "PLACE.SET {x}s a 1"},
		later:  []string{"DEL {x}s", "PLACE.CREATE {x}s SEED 1 BOUND 0.5", "PLACE.SET {x}s a 1"}, on: "PLACE.ASSIGN {x}later o", still: "PLACE.SET {x}s b 2",
		calls: []string{"PLACE.CREATE {x}k SEED 1 BOUND 0.5", "PLACE.CREATE {x}k SEED 1 COPIES 2 SPREAD 2", "PLACE.CREATE {x}k SEED 1 STRATEGY copysets COPIES 2 SCATTER 4"},
	},
	structures.KindBloom: nil,
}

// refused checks that calls get an error and change nothing, alone, in MULTI and in scripts.
func (r *rig) refused(want string, calls []string) {
	r.t.Helper()
	c := r.dial()
	for _, call := range calls {
		before, digest := r.srv.store.Stats().LSN, c.do("DEBUG", "DIGEST")
		c.want(call, want)
		if got := c.inMulti(call); !strings.Contains(got, want) {
			r.t.Errorf("%s in MULTI: %s", call, got)
		}
		script := "return redis.call('" + strings.Join(strings.Fields(call), "','") + "')"
		if got := c.do("EVAL", script, "0"); !strings.HasPrefix(got, want) {
			r.t.Errorf("%s in a script: %s", call, got)
		}
		if after := r.srv.store.Stats().LSN; after != before || c.do("DEBUG", "DIGEST") != digest {
			r.t.Errorf("%s was refused: record %d after %d, and the digest is another: %v", call, after, before, c.do("DEBUG", "DIGEST") != digest)
		}
	}
}

// works checks that calls have no error, each after what prepares it.
func (r *rig) works(calls []string, prepare func(c *testClient)) {
	r.t.Helper()
	c := r.dial()
	for _, call := range calls {
		prepare(c)
		if got := c.do(strings.Fields(call)...); strings.HasPrefix(got, "(error)") {
			r.t.Errorf("%s at the level that has it: %s", call, got)
		}
	}
}

// A group of the level before a type came has no values of it, whatever client brings them, and all calls work once the level is
// raised. The table of types says which they are.
func TestTypesWaitForTheirLevel(t *testing.T) {
	for _, row := range types.All() {
		came := row.Forms[0]
		if came.Level == persistence.LevelUntold {
			continue
		}
		calls := laterKinds[row.Kind]
		if len(calls) == 0 {
			t.Errorf("%s: laterKinds has no call that makes one", row.Name)
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			r, g := newGroupRig(t)
			c := r.dial()
			prepare := func(c *testClient) {
				c.do("DEL", "{x}k")
				if row.Kind == structures.KindTDigest {
					c.do("TDIGEST.CREATE", "{x}src")
				}
			}
			prepare(c)
			c.do(strings.Fields(calls[0])...)
			c.want("RENAME {x}k {x}old", "OK") // as a group may have that used it before it was bound to a level
			frame := moved(t, r.srv, "{x}old", 0)
			g.m.SetLevel(below(came))
			r.refused(needs(came), append(calls, "COPY {x}old {x}k"))
			if got := c.do("EVAL", "return redis.call('RESTORE', '{x}k', 0, redis.call('DUMP', '{x}old'))", "0"); !strings.Contains(got, "needs level") {
				t.Errorf("RESTORE: %s", got)
			}
			target := newShardsRig(t)
			target.g.own.Store(new(slots.Set))
			target.g.m.SetLevel(below(came))
			if err := target.srv.resharding.Keys.Take(frame, func() bool { return true }); !errors.As(err, new(persistence.NeedsLevelError)) {
				t.Errorf("a key of another group: %v", err)
			}
			target.dial().want("DBSIZE", "(int) 0")
			c.want("EXISTS {x}k", "(int) 0")
			c.want("RENAME {x}old {x}src", "OK") // all members have it
			g.m.SetLevel(came.Level)
			r.works(append(calls, "COPY {x}src {x}k"), prepare)
		})
	}
}

// moved returns the frame by which a key of a database moves to another group.
func moved(t *testing.T, srv *Server, key string, db int) []byte {
	t.Helper()
	tx := srv.store.NewTx()
	var set persistence.Shards
	set.Add(tx.Expect([]byte(key)))
	tx.Lock(&set, 0)
	defer tx.Unlock()
	tx.Select(db)
	frame, err := resharding.AppendKey(resharding.AppendDatabase(nil, db), tx, []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// What a type has come to do needs the level of that, and what it could do before does not.
func TestLaterFormsWaitForTheirLevel(t *testing.T) {
	for _, row := range types.All() {
		newest := row.Forms[len(row.Forms)-1]
		form, ok := laterForms[row.Kind]
		if later := len(row.Forms) > 1; later != ok {
			t.Errorf("%s: forms %v, and calls that need the later one are known: %v", row.Name, row.Forms, ok)
		}
		if form == nil {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			r, g := newGroupRig(t)
			prepare := func(c *testClient) {
				c.do("DEL", "{x}s", "{x}k")
				for _, call := range form.before {
					if got := c.do(strings.Fields(call)...); strings.HasPrefix(got, "(error)") {
						t.Fatalf("%s: %s", call, got)
					}
				}
			}
			c := r.dial()
			prepare(c)
			for _, call := range form.later {
				if got := c.do(strings.Fields(call)...); strings.HasPrefix(got, "(error)") {
					t.Fatalf("%s: %s", call, got)
				}
			}
			c.want("RENAME {x}s {x}later", "OK")
			g.m.SetLevel(below(newest))
			prepare(c) // which the level allows
			refused := append(form.calls, "COPY {x}later {x}k")
			if form.on != "" {
				refused = append(refused, form.on)
			}
			r.refused(needs(newest), refused)
			if got := c.do(strings.Fields(form.still)...); strings.HasPrefix(got, "(error)") {
				t.Errorf("%s: %s", form.still, got)
			}
			g.m.SetLevel(newest.Level)
			r.works(form.calls, prepare)
		})
	}
}
