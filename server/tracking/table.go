package tracking

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
)

const (
	// tableShards is the number of parts of the table, each with its own lock.
	tableShards = 64
	// meanReaders is the most clients a key that are remembered on average.
	meanReaders = 16
)

// Effort is the number of keys that the table loses at most in one round when its limit was
// lowered.
const Effort = 20_000

// Tracker is a client that has turned tracking on. The table keeps it for as long as a
// key that it has read does not change, so it does not keep the session of a client that
// has left.
type Tracker struct {
	client   atomic.Pointer[Client] // nil: the client has left
	redirect atomic.Uint64          // id of the client that gets the invalidations; 0: itself

	prefixes map[string]bool // guarded by Table.mu
	bytes    int             // of prefixes; used by the owner only
}

// readers are the clients that have read a key: nearly always a single one.
type readers struct {
	first *Tracker
	more  map[*Tracker]struct{}
}

// all lists the readers.
func (r readers) all() []*Tracker {
	list := make([]*Tracker, 0, 1+len(r.more))
	if r.first != nil {
		list = append(list, r.first)
	}
	return slices.AppendSeq(list, maps.Keys(r.more))
}

// add adds a reader, and reports the change of their number: those that have left are
// removed whenever there are twice as many.
func (r *readers) add(t *Tracker) (change int) {
	if r.first == t {
		return 0
	}
	if r.first == nil {
		r.first = t
		return 1
	}
	if _, known := r.more[t]; known {
		return 0
	}
	if r.more == nil {
		r.more = map[*Tracker]struct{}{}
	}
	if n := len(r.more); n >= 8 && n&(n-1) == 0 {
		maps.DeleteFunc(r.more, func(t *Tracker, _ struct{}) bool { return t.client.Load() == nil })
		change = len(r.more) - n
	}
	r.more[t] = struct{}{}
	return change + 1
}

// tableShard is a part of the table. Its mutex is a leaf.
type tableShard struct {
	mu   sync.Mutex
	keys map[string]readers // guarded by mu
}

// Table is the table of keys that clients have read, and the prefixes that they asked
// for.
type Table struct {
	others  Clients
	clients atomic.Int32 // with tracking on; changed under mu
	keys    atomic.Int64 // in shards
	items   atomic.Int64 // readers of these
	most    atomic.Int64 // keys; 0: no limit
	asked   atomic.Int32 // prefixes
	next    atomic.Uint32
	seed    maphash.Seed
	shards  [tableShards]tableShard

	mu       sync.RWMutex
	trackers map[*Tracker]struct{}            // of clients; guarded by mu
	prefixes map[string]map[*Tracker]struct{} // guarded by mu
	lengths  []int                            // of prefixes, in order; guarded by mu
}

// Open is called once, before the table is used.
func (t *Table) Open(others Clients) {
	t.others, t.seed = others, maphash.MakeSeed()
}

// Any reports whether a client has tracking on.
func (t *Table) Any() bool { return t.clients.Load() > 0 }

// SetLimit changes how many keys are remembered; 0 is no limit.
func (t *Table) SetLimit(keys int64) { t.most.Store(keys) }

// Counts is how much there is of everything.
type Counts struct {
	Clients, Keys, Prefixes int64
	Items                   int64 // keys, each once for every client that has read it
}

// Counts returns the sizes of the table.
func (t *Table) Counts() Counts {
	return Counts{int64(t.clients.Load()), t.keys.Load(), int64(t.asked.Load()), t.items.Load()}
}

func (t *Table) shard(key []byte) *tableShard {
	return &t.shards[maphash.Bytes(t.seed, key)%tableShards]
}

// remember notes that a client has read a key.
func (t *Table) remember(key []byte, by *Tracker) {
	sh := t.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	r, known := sh.keys[string(key)]
	change := r.add(by)
	if change == 0 {
		return
	}
	t.items.Add(int64(change))
	if known {
		sh.keys[string(key)] = r
		return
	}
	if sh.keys == nil {
		sh.keys = map[string]readers{}
	}
	sh.keys[string(key)] = r
	t.keys.Add(1)
}

// has reports whether a key that a client has read is remembered.
func (t *Table) has(key []byte, by *Tracker) bool {
	sh := t.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	r := sh.keys[string(key)]
	_, more := r.more[by]
	return more || r.first == by
}

// forget removes a key and returns the clients that have read it.
func (t *Table) forget(key []byte) (r readers, known bool) {
	sh := t.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if r, known = sh.keys[string(key)]; known {
		delete(sh.keys, string(key))
		t.count(-1, r)
	}
	return r, known
}

// count adds n keys with such readers each; n may be negative.
func (t *Table) count(n int64, r readers) {
	t.keys.Add(n)
	items := int64(len(r.more))
	if r.first != nil {
		items++
	}
	t.items.Add(n * items)
}

// full reports whether the table is over its limit.
func (t *Table) full() bool {
	most := t.most.Load()
	return most > 0 && (t.keys.Load() > most || t.items.Load()/meanReaders > most)
}

// drop removes a random key: which one a map yields first.
func (t *Table) drop() (key string, r readers, ok bool) {
	for range tableShards {
		sh := &t.shards[t.next.Add(1)%tableShards]
		if key, r, ok = sh.pop(); ok {
			t.count(-1, r)
			return key, r, true
		}
	}
	return "", readers{}, false
}

// pop removes a key of the shard.
func (sh *tableShard) pop() (key string, r readers, ok bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for key, r = range sh.keys {
		delete(sh.keys, key)
		return key, r, true
	}
	return "", readers{}, false
}

// clear removes all keys.
func (t *Table) clear() {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		for _, r := range sh.keys {
			t.count(-1, r)
		}
		sh.keys = nil
		sh.mu.Unlock()
	}
}

// join counts a client that turns tracking on, and adds prefixes that it asks for.
func (t *Table) join(by *Tracker, first bool, prefixes [][]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first {
		t.clients.Add(1)
		if t.trackers == nil {
			t.trackers = map[*Tracker]struct{}{}
		}
		t.trackers[by] = struct{}{}
	}
	for _, p := range prefixes {
		if by.prefixes[string(p)] {
			continue
		}
		name := string(p)
		if by.prefixes == nil {
			by.prefixes = map[string]bool{}
		}
		by.prefixes[name] = true
		by.bytes += len(name) + prefixBytes
		if t.prefixes == nil {
			t.prefixes = map[string]map[*Tracker]struct{}{}
		}
		if t.prefixes[name] == nil {
			t.prefixes[name] = map[*Tracker]struct{}{}
		}
		t.prefixes[name][by] = struct{}{}
	}
	t.measureLocked()
}

// leave ends the tracking of a client. The table is freed with the last one.
func (t *Table) leave(by *Tracker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range by.prefixes {
		if delete(t.prefixes[name], by); len(t.prefixes[name]) == 0 {
			delete(t.prefixes, name)
		}
	}
	by.prefixes, by.bytes = nil, 0
	delete(t.trackers, by)
	t.measureLocked()
	if t.clients.Add(-1) == 0 {
		t.clear()
	}
}

// measureLocked updates what follows from prefixes.
func (t *Table) measureLocked() {
	t.asked.Store(int32(len(t.prefixes)))
	t.lengths = t.lengths[:0]
	for name := range t.prefixes {
		t.lengths = append(t.lengths, len(name))
	}
	slices.Sort(t.lengths)
	t.lengths = slices.Compact(t.lengths)
}

// prefixesOf lists the prefixes of a client in order.
func (t *Table) prefixesOf(by *Tracker) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(by.prefixes))
}

// wanted reports whether a client asked for a prefix of the key.
func (t *Table) wanted(key []byte) bool {
	if t.asked.Load() == 0 {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, n := range t.lengths {
		if n > len(key) {
			break
		}
		if t.prefixes[string(key[:n])] != nil {
			return true
		}
	}
	return false
}

// all lists the clients that have tracking on.
func (t *Table) all() []*Tracker {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.trackers))
}

// audience is what the clients of one prefix are told.
type audience struct {
	keys    [][]byte
	clients []*Tracker
}

// audiences groups keys by the prefixes that clients asked for.
func (t *Table) audiences(keys [][]byte) []audience {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var list []audience
	at := map[string]int{}
	for _, key := range keys {
		for _, n := range t.lengths {
			if n > len(key) {
				break
			}
			clients := t.prefixes[string(key[:n])]
			if clients == nil {
				continue
			}
			i, known := at[string(key[:n])]
			if !known {
				i = len(list)
				at[string(key[:n])] = i
				list = append(list, audience{clients: slices.Collect(maps.Keys(clients))})
			}
			list[i].keys = append(list[i].keys, key)
		}
	}
	return list
}

// active reports whether the client has tracking on, and not for prefixes.
func (t *Tracker) active() (c Client, ok bool) {
	c = t.of()
	return c, c != nil && c.Has(commands.ClientTracking) && !c.Has(commands.ClientTrackingBcast)
}

// of is the client, nil if it has left.
func (t *Tracker) of() Client {
	if c := t.client.Load(); c != nil {
		return *c
	}
	return nil
}
