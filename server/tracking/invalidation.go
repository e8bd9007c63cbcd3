package tracking

import (
	"github.com/vigildb/vigil/commands"
)

// invalidation is a message that keys have changed, encoded at most once for each
// protocol; without keys it is about all of them.
type invalidation struct {
	keys    [][]byte
	encoded [2][]byte
}

// invalidationChannel is the channel on which a RESP2 client gets invalidations.
const invalidationChannel = "__redis__:invalidate"

func (m *invalidation) bytes(proto int) []byte {
	b := &m.encoded[proto-2]
	if *b != nil {
		return *b
	}
	r := commands.NewReply(nil, proto)
	if proto == 3 {
		r.Push(2)
		r.BulkString("invalidate")
	} else {
		r.Array(3)
		r.BulkString("message")
		r.BulkString(invalidationChannel)
	}
	if m.keys == nil {
		r.Null()
	} else {
		r.Array(len(m.keys))
		for _, key := range m.keys {
			r.Bulk(key)
		}
	}
	*b = r.Encoded()
	return *b
}

// invalidate sends a message to a tracking client or to the one it redirects to. What the
// client of the running call is told goes after its reply. No call runs if by is nil.
func (t *Table) invalidate(tr *Tracker, c Client, m *invalidation, by *State) {
	to, redirect := c, tr.redirect.Load()
	if redirect != 0 {
		if to = t.others.Find(redirect); to == nil || to.Has(commands.ClientCloseSoon) {
			c.Set(commands.ClientTrackingBroken)
			if c.Proto() == 3 {
				r := commands.NewReply(nil, 3)
				r.Push(2)
				r.BulkString("tracking-redir-broken")
				r.Int(int64(redirect))
				by.tell(c, r.Encoded())
			}
			return
		}
	}
	switch proto := to.Proto(); {
	case proto == 3, redirect != 0 && to.Has(commands.ClientPubSub):
		by.tell(to, m.bytes(proto))
	}
}

// invalidateKey tells the clients that have read a key.
func (t *Table) invalidateKey(key []byte, by *State) {
	if r, known := t.forget(key); known {
		t.tellReaders(r, key, by)
	}
}

// tellReaders sends the invalidation of a key to its readers.
func (t *Table) tellReaders(r readers, key []byte, by *State) {
	m := invalidation{keys: [][]byte{key}}
	for _, tr := range r.all() {
		if c, ok := tr.active(); ok && !by.spares(c) {
			t.invalidate(tr, c, &m, by)
		}
	}
}

// broadcast tells the clients that asked for prefixes about changed keys.
func (t *Table) broadcast(keys [][]byte, by *State) {
	for _, a := range t.audiences(keys) {
		m := invalidation{keys: a.keys}
		for _, tr := range a.clients {
			if c := tr.of(); c != nil && !by.spares(c) {
				t.invalidate(tr, c, &m, by)
			}
		}
	}
}

// Removed tells clients about a key that the store has removed itself.
func (t *Table) Removed(key []byte) {
	if t.Any() {
		t.invalidateKey(key, nil)
		if t.wanted(key) {
			t.broadcast([][]byte{key}, nil)
		}
	}
}

// RemovedAll tells every tracking client that all keys have changed, by no call.
func (t *Table) RemovedAll() { t.invalidateAll(nil) }

func (t *Table) invalidateAll(by *State) {
	if !t.Any() {
		return
	}
	t.clear()
	var m invalidation
	for _, tr := range t.all() {
		if c := tr.of(); c != nil && c.Has(commands.ClientTracking) {
			t.invalidate(tr, c, &m, by)
		}
	}
}

// Trim brings the table under its limit, in rounds of so many keys: the clients are told to
// forget keys that the server forgets.
func (t *Table) Trim(effort int) { t.trim(effort, nil) }

func (t *Table) trim(effort int, by *State) {
	for ; effort > 0 && t.full(); effort-- {
		if !t.lose(by) {
			return
		}
	}
}

// Lose forgets one key, and reports whether there was one.
func (t *Table) Lose() bool { return t.lose(nil) }

func (t *Table) lose(by *State) bool {
	key, r, ok := t.drop()
	if ok {
		t.tellReaders(r, []byte(key), by)
	}
	return ok
}
