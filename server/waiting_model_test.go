package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Clients wait in random ways, others fill, remove and replace the keys, and some
// leave, time out or are unblocked: each is served when a plain list of all waiting
// calls says so, in which every call is tried at every change.

// lineModel is keys, and the calls that wait for them in order of arrival.
type lineModel struct {
	lists, zsets map[string][]string
	strings      map[string]bool
	entries      int         // of stream s, numbered from 1
	groups       map[int]int // entries that a group of s has delivered
	calls        []*waitingCall
	ready        []string // keys that changed
}

// waitingCall is one call of a client.
type waitingCall struct {
	c       *testClient
	args    []string
	keys    []string
	seconds int       // until it times out; 0: never
	end     time.Time // of seconds
	attempt func(key string) (reply string, served bool)
}

// serve tries the calls that wait for changed keys, and returns the replies of those
// that are served.
func (m *lineModel) serve() map[*waitingCall]string {
	replies := map[*waitingCall]string{}
	for len(m.ready) > 0 {
		key := m.ready[0]
		m.ready = m.ready[1:]
		for _, w := range slices.Clone(m.calls) {
			if !slices.Contains(w.keys, key) {
				continue
			}
			for _, key := range w.keys { // a transaction may have changed several
				if reply, ok := w.attempt(key); ok {
					replies[w] = reply
					m.remove(w)
					break
				}
			}
		}
	}
	return replies
}

func (m *lineModel) remove(w *waitingCall) {
	m.calls = slices.DeleteFunc(m.calls, func(o *waitingCall) bool { return o == w })
}

func (m *lineModel) changed(key string) { m.ready = append(m.ready, key) }

// take takes the first or the last of the values of a key.
func (m *lineModel) take(of map[string][]string, key string, last bool) (value string, ok bool) {
	list := of[key]
	if len(list) == 0 {
		return "", false
	}
	at := 0
	if last {
		at = len(list) - 1
	}
	value = list[at]
	if of[key] = slices.Delete(list, at, at+1); len(of[key]) == 0 {
		delete(of, key)
	}
	return value, true
}

// newCall makes a random call that may wait.
func (m *lineModel) newCall(rng *rand.Rand) *waitingCall {
	w := &waitingCall{seconds: 2 * rng.IntN(2)}
	timeout := fmt.Sprint(w.seconds)
	some := func(prefix string, n int) []string {
		keys := make([]string, 1+rng.IntN(3))
		for i := range keys {
			keys[i] = fmt.Sprint(prefix, rng.IntN(n))
		}
		return keys
	}
	switch rng.IntN(6) {
	case 0, 1:
		w.keys = some("l", 4)
		last := rng.IntN(2) == 0
		name := "BLPOP"
		if last {
			name = "BRPOP"
		}
		w.args = append(append([]string{name}, w.keys...), timeout)
		w.attempt = func(key string) (string, bool) {
			v, ok := m.take(m.lists, key, last)
			return fmt.Sprintf("[%q %q]", key, v), ok
		}
	case 2:
		from, to := fmt.Sprint("l", rng.IntN(4)), fmt.Sprint("l", rng.IntN(4))
		w.keys = []string{from}
		w.args = []string{"BLMOVE", from, to, "LEFT", "RIGHT", timeout}
		w.attempt = func(key string) (string, bool) {
			if m.strings[to] && len(m.lists[from]) > 0 {
				return "(error) WRONGTYPE Operation against a key holding the wrong kind of value", true
			}
			v, ok := m.take(m.lists, from, false)
			if ok {
				m.lists[to] = append(m.lists[to], v)
				m.changed(to)
			}
			return fmt.Sprintf("%q", v), ok
		}
	case 3:
		w.keys = some("z", 3)
		w.args = append(append([]string{"BZPOPMIN"}, w.keys...), timeout)
		w.attempt = func(key string) (string, bool) {
			v, ok := m.take(m.zsets, key, false)
			return fmt.Sprintf("[%q %q %q]", key, "m"+v, v), ok
		}
	case 4:
		group := rng.IntN(2)
		w.keys = []string{"s"}
		w.args = []string{"XREADGROUP", "GROUP", fmt.Sprint("g", group), "c", "COUNT", "1", "BLOCK", fmt.Sprint(1000 * w.seconds), "STREAMS", "s", ">"}
		w.attempt = func(string) (string, bool) {
			switch delivered, ok := m.groups[group]; {
			case !ok:
				return fmt.Sprintf("(error) NOGROUP No such key 's' or consumer group 'g%d' in XREADGROUP with GROUP option", group), true
			case delivered == m.entries:
				return "", false
			}
			m.groups[group]++
			return entry(m.groups[group]), true
		}
	case 5:
		after := m.entries + rng.IntN(3)
		id := fmt.Sprint(after)
		if after == m.entries {
			id = "$"
		}
		w.keys = []string{"s"}
		w.args = []string{"XREAD", "COUNT", "1", "BLOCK", fmt.Sprint(1000 * w.seconds), "STREAMS", "s", id}
		w.attempt = func(string) (string, bool) { return entry(after + 1), m.entries > after }
	}
	return w
}

func entry(n int) string { return fmt.Sprintf(`[["s" [["%d-0" ["f" "v"]]]]]`, n) }

// change makes a random change and returns its call. What removes groups of s has no
// other change with it.
func (m *lineModel) change(rng *rand.Rand, n int, alone bool) string {
	l, z := fmt.Sprint("l", rng.IntN(4)), fmt.Sprint("z", rng.IntN(3))
	switch rng.IntN(12) {
	default:
		if m.strings[l] {
			break
		}
		call := "RPUSH " + l
		for i := range 1 + rng.IntN(3) {
			v := fmt.Sprintf("v%d.%d", n, i)
			m.lists[l] = append(m.lists[l], v)
			call += " " + v
		}
		m.changed(l)
		return call
	case 1, 2:
		m.zsets[z] = append(m.zsets[z], fmt.Sprint(n))
		m.changed(z)
		return fmt.Sprintf("ZADD %s %d m%d", z, n, n)
	case 3, 4:
		m.entries++
		m.changed("s")
		return fmt.Sprintf("XADD s %d-0 f v", m.entries)
	case 5:
		delete(m.lists, l)
		m.strings[l] = true
		return "SET " + l + " string"
	case 6:
		switch {
		case !alone:
		case rng.IntN(2) == 0:
			m.groups = map[int]int{}
			m.changed("s")
			return "DEL s"
		default:
			delete(m.groups, 1)
			m.changed("s")
			return "XGROUP DESTROY s g1"
		}
	}
	delete(m.strings, l)
	delete(m.lists, l)
	return "DEL " + l
}

// lineRun is the model beside a server.
type lineRun struct {
	*rig
	m        *lineModel
	rng      *rand.Rand
	p        *testClient // changes keys
	free     []*testClient
	ids      map[*testClient]string
	happened map[string]int
}

func (r *lineRun) join() {
	c := r.dial()
	r.ids[c] = c.id()
	r.free = append(r.free, c)
}

// done compares the reply of a call with what the model says.
func (r *lineRun) done(w *waitingCall, how, want string) {
	r.t.Helper()
	r.happened[how]++
	if got := w.c.reply(); got != want {
		r.t.Fatalf("%v: %s: got %s, want %s", w.args, how, got, want)
	}
	r.free = append(r.free, w.c)
}

// serve compares the replies of the clients that a change serves.
func (r *lineRun) serve() {
	r.t.Helper()
	for w, reply := range r.m.serve() {
		r.done(w, "served", reply)
	}
}

// call makes a call with a client, which may wait.
func (r *lineRun) call() {
	w := r.m.newCall(r.rng)
	if slices.ContainsFunc(w.keys, func(k string) bool { return r.m.strings[k] }) {
		return // which a call refuses
	}
	w.c, r.free = r.free[0], r.free[1:]
	w.c.send(w.args...)
	for _, key := range w.keys {
		if reply, served := w.attempt(key); served {
			r.done(w, "served at once", reply)
			r.serve() // what BLMOVE pushed
			return
		}
	}
	w.end = r.clock.Now().Add(time.Duration(w.seconds) * time.Second)
	r.m.calls = append(r.m.calls, w)
}

// change makes one change or a transaction of two.
func (r *lineRun) change(n int) {
	alone := r.rng.IntN(3) > 0
	calls := []string{r.m.change(r.rng, 2*n, alone)}
	if !alone {
		calls = append(calls, r.m.change(r.rng, 2*n+1, false))
		r.p.want("MULTI", "OK")
	}
	for _, call := range calls {
		if got := r.p.do(strings.Fields(call)...); strings.HasPrefix(got, "(error)") {
			r.t.Fatalf("%s: %s", call, got)
		}
	}
	if len(calls) > 1 {
		if got := r.p.do("EXEC"); strings.Contains(got, "(error)") {
			r.t.Fatalf("EXEC of %q: %s", calls, got)
		}
	}
	r.serve()
	for g := range 2 {
		if _, ok := r.m.groups[g]; !ok {
			r.p.want(fmt.Sprintf("XGROUP CREATE s g%d $ MKSTREAM", g), "OK")
			r.m.groups[g] = r.m.entries
		}
	}
}

// step does one random thing.
func (r *lineRun) step(n int) {
	m := r.m
	switch x := r.rng.IntN(40); {
	case len(r.free) > 0 && x < 20:
		r.call()
	case len(m.calls) > 0 && x < 22:
		w := m.calls[r.rng.IntN(len(m.calls))]
		m.remove(w)
		r.happened["left"]++
		w.c.nc.Close()
		r.join()
	case len(m.calls) > 0 && x < 23:
		w := m.calls[r.rng.IntN(len(m.calls))]
		m.remove(w)
		r.p.want("CLIENT UNBLOCK "+r.ids[w.c], "(int) 1")
		r.done(w, "unblocked", "(nil array)")
	case x < 28:
		r.clock.advance(time.Second)
		for _, w := range slices.Clone(m.calls) {
			if w.seconds > 0 && !w.end.After(r.clock.Now()) {
				m.remove(w)
				r.done(w, "timed out", "(nil array)")
			}
		}
	default:
		r.change(n)
	}
}

func TestWaitingClientsAreServedAsInAPlainList(t *testing.T) {
	const seed = 1
	r := &lineRun{rig: newRig(t), rng: rand.New(rand.NewPCG(seed, seed)), ids: map[*testClient]string{}, happened: map[string]int{},
		m: &lineModel{lists: map[string][]string{}, zsets: map[string][]string{}, strings: map[string]bool{}, groups: map[int]int{}}}
	t.Logf("seed %d", seed)
	r.p = r.dial()
	r.change(0)
	for range 12 {
		r.join()
	}
	for n := range 800 {
		r.step(n + 1)
		r.blocked(len(r.m.calls))
	}
	for _, how := range []string{"served", "served at once", "left", "unblocked", "timed out"} {
		if r.happened[how] < 10 {
			t.Errorf("only %d calls were %s", r.happened[how], how)
		}
	}
	r.p.want("DBSIZE", fmt.Sprintf("(int) %d", len(r.m.lists)+len(r.m.zsets)+len(r.m.strings)+1))
}
