package sim

import "slices"

// model is what the server should do: commands one after the other in the order in
// which the simulation sent them, since each has run before the next is sent. It
// keeps the state after each record, for a crash goes back to one of them.
type model struct {
	now     int64
	states  []*state      // [0] is what the server found when it was opened
	newest  map[place]int // the state in which a key was changed last
	always  bool          // appendfsync is always
	sure    int           // no crash goes back to an earlier state
	told    int           // the newest state that clients were told of, to which the death of the process does not go back
	waiters []*waiter     // in order of arrival
}

// waiter is a BLPOP that found nothing.
type waiter struct {
	call  *call
	db    int
	keys  []string
	until int64 // unix ms, 0 for never
}

func newModel(s *state, now int64) *model {
	return &model{now: now, states: []*state{s}, newest: map[place]int{}}
}

func (m *model) last() *state { return m.states[len(m.states)-1] }

// begin starts a record.
func (m *model) begin(db int) *run {
	return &run{state: m.last().clone(), db: db, now: m.now}
}

// commit ends a record and notes how far the journal must be durable before the
// reply may be sent: up to the last change that the reply shows.
func (m *model) commit(r *run, c *call) {
	c.always = m.always
	if len(r.changed) > 0 {
		m.states = append(m.states, r.state)
		for _, p := range r.changed {
			m.newest[p] = len(m.states) - 1
		}
		c.tells = len(m.states) - 1
	}
	for _, p := range r.met {
		c.tells = max(c.tells, m.newest[p])
	}
}

// call runs a call of a client.
func (m *model) call(c *call) {
	r := m.begin(c.db)
	switch {
	case c.atomic:
		var replies []string
		for _, args := range c.commands {
			replies = append(replies, r.do(args))
		}
		c.want = list(replies)
	case c.blocks():
		args := c.commands[0]
		c.want = r.pop(args[1 : len(args)-1])
		if c.want == absent {
			w := &waiter{call: c, db: c.db, keys: args[1 : len(args)-1]}
			if ms := millis(args[len(args)-1]); ms > 0 {
				w.until = m.now + ms
			}
			m.waiters = append(m.waiters, w)
			return
		}
	default:
		c.want = r.do(c.commands[0])
	}
	c.endDB, c.known = r.db, true
	m.commit(r, c)
	m.serve(r.changed)
}

// pop takes the first element of the first list that has one.
func (r *run) pop(keys []string) string {
	for _, key := range keys {
		if e := r.listCommand([]string{"LPOP", key}); e != absent {
			return list([]string{bulk(key), e})
		}
	}
	return absent
}

// serve runs the calls that wait for what was changed, each with a record of its own.
func (m *model) serve(changed []place) {
	var seen []place
	for _, p := range changed {
		if slices.Contains(seen, p) {
			continue
		}
		seen = append(seen, p)
		for _, w := range slices.Clone(m.waiters) {
			if w.db != p.db || !slices.Contains(w.keys, p.key) {
				continue
			}
			r := m.begin(p.db)
			reply := r.pop([]string{p.key})
			if reply == absent {
				break
			}
			m.end(w, reply)
			m.commit(r, w.call)
		}
	}
}

// end ends a wait.
func (m *model) end(w *waiter, reply string) {
	w.call.want, w.call.known, w.call.endDB = reply, true, w.db
	m.waiters = slices.DeleteFunc(m.waiters, func(x *waiter) bool { return x == w })
}

// waits reports whether a call of a client waits for an element.
func (m *model) waits(c *client) bool {
	return slices.ContainsFunc(m.waiters, func(w *waiter) bool { return w.call.client == c })
}

// leave forgets what a client waited for.
func (m *model) leave(c *client) {
	m.waiters = slices.DeleteFunc(m.waiters, func(w *waiter) bool { return w.call.client == c })
}

// move sets the time; waits that are over end.
func (m *model) move(now int64) {
	m.now = now
	for _, w := range slices.Clone(m.waiters) {
		if w.until != 0 && w.until <= now {
			m.end(w, absent)
		}
	}
}

// promise notes that the state with this number, and all before, outlive a crash.
func (m *model) promise(n int) { m.sure = max(m.sure, n) }

// recovered is the number of the newest state that the server may have gone back
// to with what it holds now, -1 if there is none.
func (m *model) recovered(found *state) int {
	for i := len(m.states) - 1; i >= m.sure; i-- {
		if m.states[i].at(m.now).equal(found) {
			return i
		}
	}
	return -1
}
