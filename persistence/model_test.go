package persistence

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/testscale"
)

// model is what a store should hold: a plain map for each database. A value is
// never changed but replaced, so that a clone needs no deep copy.
type model struct {
	dbs     []map[string]modelValue
	texts   map[byte]map[string]string // by the operation that changes them
	now     int64
	swept   int64          // time up to which fields that are over are gone
	effects map[string]int // how often each operation changed something; shared by clones
}

type modelValue struct {
	kind   kindOf
	s      string
	list   []string
	fields map[string]modelField
	items  map[string]bool // of a Bloom filter
	// members are those of a set.
	members map[string]bool
	scores  map[string]float64 // of a sorted set
	card    uint64
	doc     []string // members of a JSON document, as text
	plan    string   // a schedule, a cuckoo filter or a sketch, as dumpValue encodes it
	log     string   // a stream, as describeStream shows it
	expire  int64
}

type modelField struct {
	value  string
	expire int64
}

const (
	modelDBs = 3
	// modelKeys is so few that what one operation made the next ones meet.
	modelKeys = 20
)

func newModel() *model {
	m := &model{texts: map[byte]map[string]string{}, now: 1000, effects: map[string]int{}}
	for op := byte(format.OpLibrary); op <= format.OpMove; op++ {
		m.texts[op] = map[string]string{}
	}
	for range modelDBs {
		m.dbs = append(m.dbs, map[string]modelValue{})
	}
	return m
}

func (m *model) clone() *model {
	c := *m
	c.dbs, c.texts = nil, map[byte]map[string]string{}
	for op, texts := range m.texts {
		c.texts[op] = maps.Clone(texts)
	}
	for _, db := range m.dbs {
		c.dbs = append(c.dbs, maps.Clone(db))
	}
	return &c
}

// expire drops the keys that are over.
func (m *model) expire() {
	for _, db := range m.dbs {
		maps.DeleteFunc(db, func(_ string, v modelValue) bool { return v.expire != 0 && v.expire <= m.now })
	}
}

// sweep drops the fields that are over, in the store too, where a hash keeps them
// until it is told the time.
func (m *model) sweep(t testing.TB, tx *Tx) {
	t.Helper()
	if m.swept == m.now {
		return
	}
	m.swept = m.now
	for i, db := range m.dbs {
		tx.Select(i)
		for _, key := range slices.Sorted(maps.Keys(db)) {
			old := db[key]
			left := maps.Clone(old.fields)
			maps.DeleteFunc(left, func(_ string, f modelField) bool { return f.expire != 0 && f.expire <= m.now })
			if len(left) == len(old.fields) {
				continue
			}
			h, ch, ok, err := Edit[*hash.Hash](tx, []byte(key), nil)
			if err != nil {
				t.Fatalf("Edit %.20s: %v", key, err)
			}
			if ok { // else the cycle came first
				h.ExpireFields(ch, m.now, len(old.fields), nil)
			}
			m.effects["expire fields"]++
			old.fields = left
			if db[key] = old; len(left) == 0 {
				delete(db, key)
			}
		}
	}
}

// modelKey is the n-th key. Some are long.
func modelKey(n int) string {
	if n%10 == 0 {
		return fmt.Sprintf("k%d%0*d", n, 5000, 0)
	}
	return fmt.Sprintf("k%d", n)
}

// trial is a random operation on a key.
type trial struct {
	testing.TB
	m      *model
	r      *rand.Rand
	tx     *Tx
	db     int
	key    string
	old    modelValue
	exists bool
}

// put makes v the value of the key.
func (o *trial) put(v modelValue) { o.m.dbs[o.db][o.key], o.exists = v, true }

// operations do something to the transaction and to the model, and report whether
// that changed anything.
var operations = []struct {
	name   string
	weight int
	wanted func(modelValue) bool // values that it is most often tried on; nil: any, or none
	do     func(*trial) bool
}{
	{"flush all", 1, nil, (*trial).flushAll},
	{"flush", 1, nil, (*trial).flush},
	{"swap", 2, nil, (*trial).swap},
	{"set library", 2, nil, setText(Libraries)},
	{"delete library", 4, nil, deleteText(Libraries)},
	{"delete libraries", 1, nil, (*trial).deleteLibraries},
	{"set user", 1, nil, setText(Users)},
	{"delete user", 3, nil, deleteText(Users)},
	{"set directive", 1, nil, setText(Directives)},
	{"delete directive", 3, nil, deleteText(Directives)},
	{"set move", 1, nil, setText(Moves)},
	{"delete move", 3, nil, deleteText(Moves)},
	{"set", 4, nil, (*trial).set},
	{"patch", 5, holds(structures.KindString), (*trial).patch},
	{"delete", 4, exists, (*trial).delete},
	{"set expiry", 4, exists, (*trial).setExpiry},
	{"persist", 8, isTimed, (*trial).persist},
	{"rename", 4, exists, (*trial).rename},
	{"copy", 4, exists, (*trial).copy},
	{"move", 5, exists, (*trial).move},
	{"push", 4, holds(structures.KindList), (*trial).push},
	{"pop", 8, holds(structures.KindList), (*trial).pop},
	{"pop many", 5, holds(structures.KindList), (*trial).popMany},
	{"set element", 5, holds(structures.KindList), (*trial).setElement},
	{"insert element", 5, holds(structures.KindList), (*trial).insertElement},
	{"remove element", 5, holds(structures.KindList), (*trial).removeElement},
	{"rotate", 5, holds(structures.KindList), (*trial).rotate},
	{"trim", 6, holds(structures.KindList), (*trial).trim},
	{"set field", 6, holds(structures.KindHash), (*trial).setField},
	{"fill hash", 2, holds(structures.KindHash), (*trial).fillHash},
	{"delete field", 8, holds(structures.KindHash), (*trial).deleteField},
	{"set expiry of field", 24, holds(structures.KindHash), (*trial).expireField},
	{"persist field", 24, hasTimedField, (*trial).persistField},
	{"add member", 6, holds(structures.KindSet), (*trial).addMember},
	{"fill set", 3, holds(structures.KindSet), (*trial).fillSet},
	{"remove member", 16, holds(structures.KindSet), (*trial).removeMember},
	{"pop members", 6, holds(structures.KindSet), (*trial).popMembers},
	{"add score", 6, holds(structures.KindZSet), (*trial).addScore},
	{"fill sorted set", 3, holds(structures.KindZSet), (*trial).fillZSet},
	{"remove score", 32, holds(structures.KindZSet), (*trial).removeScore},
	{"remove most members", 6, holds(structures.KindZSet), (*trial).removeMost},
	{"add entries", 5, holds(structures.KindStream), (*trial).addEntries},
	{"name entries", 4, holds(structures.KindStream), (*trial).nameEntries},
	{"release entries", 2, holds(structures.KindStream), (*trial).releaseEntries},
	{"remove entries", 6, holds(structures.KindStream), (*trial).removeEntries},
	{"deliver", 8, holds(structures.KindStream), (*trial).deliver},
	{"acknowledge", 5, holds(structures.KindStream), (*trial).acknowledge},
	{"add to filter", 5, holds(structures.KindBloom), (*trial).addItem},
	{"insert into cuckoo filter", 5, holds(structures.KindCuckoo), (*trial).insertCuckoo},
	{"delete from cuckoo filter", 14, holds(structures.KindCuckoo), (*trial).deleteCuckoo},
	{"count in sketch", 5, holds(structures.KindCountMin), (*trial).countInSketch},
	{"add to top list", 5, holds(structures.KindTopK), (*trial).addToTop},
	{"add to digest", 5, holds(structures.KindTDigest), (*trial).addToDigest},
	{"put member", 5, holds(structures.KindJSON), (*trial).putMember},
	{"remove from document", 8, holds(structures.KindJSON), (*trial).removeFromDocument},
	{"create schedule", 2, nil, (*trial).createPlan},
	{"add node", 8, holds(structures.KindSchedule), (*trial).addNode},
	{"remove node", 12, holds(structures.KindSchedule), (*trial).removeNode},
	{"next", 8, holds(structures.KindSchedule), (*trial).next},
	{"observe", 10, holds(structures.KindSchedule), (*trial).observe},
}

func holds(kind kindOf) func(modelValue) bool {
	return func(v modelValue) bool { return v.kind == kind }
}

func exists(v modelValue) bool { return v.kind != structures.KindNone }

func isTimed(v modelValue) bool { return v.expire != 0 }

func hasTimedField(v modelValue) bool {
	for _, f := range v.fields {
		if f.expire != 0 {
			return true
		}
	}
	return false
}

// step does one random operation to the model and to the transaction.
func (m *model) step(t testing.TB, r *rand.Rand, tx *Tx) {
	t.Helper()
	m.sweep(t, tx)
	total := 0
	for _, op := range operations {
		total += op.weight
	}
	n, i := r.IntN(total), 0
	for n >= operations[i].weight {
		n -= operations[i].weight
		i++
	}
	op, o := &operations[i], &trial{TB: t, m: m, r: r, tx: tx}
	for tries := r.IntN(30); ; tries-- {
		o.db, o.key = r.IntN(modelDBs), modelKey(r.IntN(modelKeys))
		o.old, o.exists = m.dbs[o.db][o.key]
		if tries <= 0 || op.wanted == nil || op.wanted(o.old) {
			break
		}
	}
	tx.Select(o.db)
	if op.do(o) {
		m.effects[op.name]++
	}
}

func randomBytes(r *rand.Rand) []byte {
	n := r.IntN(300)
	if r.IntN(20) == 0 {
		n = r.IntN(200000)
	}
	return bytes.Repeat([]byte{byte('a' + r.IntN(26))}, n)
}

// minEffects is how often each operation has to change something.
const minEffects = 35

// TestStoreIsTheModel does random transactions to a store and to maps, with
// materialisation, eviction to disk, reloads, restarts and transactions that are given up between them.
func TestStoreIsTheModel(t *testing.T) {
	indexPages(t)
	effects := map[string]int{}
	for seed := range testscale.Rounds(uint64(30)) {
		runModel(t, seed, effects)
	}
	t.Logf("effects: %v", effects)
	names := []string{"expire fields", "read a page"}
	for _, op := range operations {
		names = append(names, op.name)
	}
	for _, name := range names {
		if n := effects[name]; n < minEffects/(testscale.By*testscale.By) { // fewer rounds scatter more
			t.Errorf("%s took effect %d times, want %d", name, n, minEffects/(testscale.By*testscale.By))
		}
	}
}

func runModel(t *testing.T, seed uint64, effects map[string]int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	fs := vfs.NewMem()
	m := newModel()
	m.effects = effects
	var clock atomic.Int64 // m.now for the background
	open := func() *Store {
		s := openMemory(t, Options{FS: fs, Databases: modelDBs, Seed: seed, IdleAfter: -1, RecentBytes: []int{1, 4 << 10, 0}[seed%3],
			LargeBytes: pagedLarge(seed), MaxMemory: pagedLimit(seed), Now: clock.Load})
		stageParts(s)
		return s
	}
	s := open()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed) // and the shards may be locked
			return
		}
		closeStore(t, s)
	}()
	for range 300 {
		m.now += int64(r.IntN(3))
		clock.Store(m.now)
		m.expire()
		all(s, m.now, func(tx *Tx) {
			for range 1 + r.IntN(8) {
				m.step(t, r, tx)
			}
		})
		checkAccounts(t, s)
		switch r.IntN(30) {
		case 0, 1, 2:
			materialise(t, s)
		case 3, 4, 5:
			evictEverything(s)
		case 26, 27, 28:
			s.eviction.Set(1, eviction.Spill, 5)
			s.eviction.MakeRoom()
			s.eviction.Set(pagedLimit(seed), eviction.Spill, 5)
		case 6:
			if err := s.passes.Reload(); err != nil {
				t.Fatalf("reload: %v", err)
			}
		case 7, 8:
			closeStore(t, s)
			s = open()
		case 9:
			s.ExpireCycle(m.now, 1e6)
		case 10:
			m.check(t, s)
		case 11, 12:
			giveUp(t, s, m, r)
			m.check(t, s)
		}
	}
	m.check(t, s)
	effects["read a page"] += int(s.Stats().PageReads)
}
