package blocking

import "sync"

// Runner is a client whose command has changed a key, or whoever acts for the store. It
// holds the locks of that key and of what the calls that wait for it need.
type Runner interface {
	// Writable reports whether calls may still change something.
	Writable() bool
	// Exists reports whether the key is there now.
	Exists(k Key) bool
	// Rerun runs a call that waits for the key again. Its mutex is held. If there is
	// something for it, it is ended by Served.
	Rerun(k Key, c *Call) Outcome
	// Abandon leaves nothing of a call whose Rerun was Broken. Its mutex is not held any
	// more, as those wait for that who hold other shards.
	Abandon()
}

// Outcome is what came of a call that was run again.
type Outcome uint8

const (
	Waits  Outcome = iota // there was nothing for it
	Served                // its wait has ended
	Broken                // it panicked
)

// Serve runs the calls that wait for a key again, in order of arrival. When there is
// nothing for one of them, its rivals are passed over, as there is nothing for them
// either; if the key is gone, only those that also wait for its removal are run. What
// these calls do to the key is of no use to those that were passed over. The locks of
// the command that changed the key are held, so that no call begins to wait for it
// meanwhile.
func (q *Calls) Serve(k Key, r Runner) {
	line := q.line(k)
	for c := line.next(); c != nil && r.Writable(); c = line.next() {
		if !r.Exists(k) && !c.removed || !q.serveOne(k, c, r) {
			line.pass()
		}
	}
}

// serveOne runs one blocked call again. If it finds nothing it stays in line, and
// served is false. It is true if the wait has ended otherwise. A panic leaves nothing of
// the call: those of other keys, which had to be unlocked for that, may come before
// the next one in line.
func (q *Calls) serveOne(k Key, c *Call, r Runner) (served bool) {
	out := q.rerun(k, c, r)
	if out == Broken {
		r.Abandon()
	}
	return out != Waits
}

func (q *Calls) rerun(k Key, c *Call, r Runner) Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Done() {
		return Served
	}
	out := r.Rerun(k, c)
	if out == Broken {
		q.finish(c)
	}
	return out
}

// Served ends the wait of a call that a Runner runs again. The reply depends on the journal
// up to position.
func (q *Calls) Served(c *Call, reply []byte, position uint64) {
	q.finish(c)
	c.answer(reply, position)
}

// removals are keys that the store has removed by itself while clients waited for them.
type removals struct {
	mu   sync.Mutex
	keys []Key // guarded by mu
}

// Removed notes that the store has removed a key by itself, as it expired or was evicted.
// The lock of its shard is held.
func (q *Calls) Removed(db int, key []byte) {
	if !q.Wanted(db, key) {
		return
	}
	q.gone.mu.Lock()
	defer q.gone.mu.Unlock()
	q.gone.keys = append(q.gone.keys, Key{db, string(key)})
}

// ServeRemoved runs the calls again that wait for keys which the store has removed.
func (q *Calls) ServeRemoved() {
	q.gone.mu.Lock()
	gone := q.gone.keys
	q.gone.keys = nil
	q.gone.mu.Unlock()
	for _, k := range gone {
		q.host.Attend(k)
	}
}
