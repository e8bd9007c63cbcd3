package persistence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/schedule"
)

// The operations of the model on hashes, Bloom filters and schedules.

// editTrial is Edit of the trial's key. ok is false if the key is absent, and stays so,
// or holds a value of another kind.
func editTrial[T structures.Value](o *trial, kind kindOf, create func() T) (v T, ch *structures.Change, ok bool) {
	o.Helper()
	v, ch, ok, err := Edit(o.tx, []byte(o.key), create)
	if o.wrongType("Edit", err, kind) {
		return v, nil, false
	}
	if want := o.exists || create != nil; ok != want {
		o.Fatalf("Edit %.20s: got %v, want %v", o.key, ok, want)
	}
	o.old.kind = kind
	return v, ch, ok
}

func (o *trial) newHash() *hash.Hash { return hash.New(o.tx.HashKeys()) }

func (o *trial) setField() bool {
	h, ch, ok := editTrial(o, structures.KindHash, o.newHash)
	if !ok {
		return false
	}
	o.storeField(h, ch, o.field(), randomBytes(o.r))
	return true
}

// field is one of the few that most operations choose from.
func (o *trial) field() string {
	if o.r.IntN(4) == 0 {
		return fmt.Sprintf("f%d", o.r.IntN(150))
	}
	return fmt.Sprintf("f%d", o.r.IntN(8))
}

// storeField sets a field, and sometimes leaves its expiry as it is.
func (o *trial) storeField(h *hash.Hash, ch *structures.Change, name string, value []byte) {
	o.Helper()
	was, had := o.old.fields[name]
	f, set := modelField{value: string(value)}, h.Set
	if o.r.IntN(3) == 0 {
		f.expire, set = was.expire, h.SetKeepTTL
	}
	if got := set(ch, []byte(name), value); got == had {
		o.Fatalf("Set %.20s %s: got %v, want %v", o.key, name, got, !had)
	}
	o.putField(name, f)
}

func (o *trial) putField(name string, f modelField) {
	o.old.fields = maps.Clone(o.old.fields)
	if o.old.fields == nil {
		o.old.fields = map[string]modelField{}
	}
	o.old.fields[name] = f
	o.put(o.old)
}

// fillHash sets so many fields that the hash has pages, often more than one.
func (o *trial) fillHash() bool {
	h, ch, ok := editTrial(o, structures.KindHash, o.newHash)
	if !ok {
		return false
	}
	size := 1 + o.r.IntN(300)
	for i := range 150 {
		o.storeField(h, ch, fmt.Sprintf("f%d", i), bytes.Repeat([]byte{byte(i)}, size))
	}
	return true
}

func (o *trial) deleteField() bool {
	h, ch, ok := editTrial[*hash.Hash](o, structures.KindHash, nil)
	if !ok {
		return false
	}
	name := o.field()
	_, want := o.old.fields[name]
	if got := h.Delete(ch, []byte(name)); got != want {
		o.Fatalf("Delete %.20s %s: got %v, want %v", o.key, name, got, want)
	}
	if !want {
		return false
	}
	o.old.fields = maps.Clone(o.old.fields)
	delete(o.old.fields, name)
	if o.put(o.old); len(o.old.fields) == 0 {
		delete(o.m.dbs[o.db], o.key)
	}
	return true
}

func (o *trial) expireField() bool {
	h, ch, ok := editTrial[*hash.Hash](o, structures.KindHash, nil)
	if !ok {
		return false
	}
	name, ms := o.field(), o.m.now+1+int64(o.r.IntN(15))
	f, want := o.old.fields[name]
	if got := h.ExpireAt(ch, []byte(name), ms); got != want {
		o.Fatalf("ExpireAt %.20s %s: got %v, want %v", o.key, name, got, want)
	}
	if f.expire = ms; want {
		o.putField(name, f)
	}
	return want
}

func (o *trial) persistField() bool {
	h, ch, ok := editTrial[*hash.Hash](o, structures.KindHash, nil)
	if !ok {
		return false
	}
	name := o.field()
	for range o.r.IntN(30) {
		if o.old.fields[name].expire == 0 {
			name = o.field()
		}
	}
	f := o.old.fields[name]
	want := f.expire != 0
	if got := h.Persist(ch, []byte(name)); got != want {
		o.Fatalf("Persist %.20s %s: got %v, want %v", o.key, name, got, want)
	}
	if f.expire = 0; want {
		o.putField(name, f)
	}
	return want
}

// addItem adds an item to a filter, a small one that grows or one with pages.
func (o *trial) addItem() bool {
	f, ch, ok := editTrial(o, structures.KindBloom, bloom.New)
	if !ok {
		return false
	}
	if !o.exists {
		shape := bloom.Shape{Error: 1e-6, Capacity: 4, Expansion: 2}
		if o.r.IntN(2) == 0 {
			shape.Capacity = 3000
		}
		if err := f.Reserve(ch, shape, math.MaxUint64); err != nil {
			o.Fatalf("Reserve %.20s: %v", o.key, err)
		}
	}
	item := fmt.Sprintf("i%d", o.r.IntN(100))
	added, err := f.Add(ch, []byte(item), math.MaxUint64)
	if err != nil || added && o.old.items[item] {
		o.Fatalf("Add %.20s %s: got %v, %v, was added before: %v", o.key, item, added, err, o.old.items[item])
	}
	o.old.items = maps.Clone(o.old.items)
	if o.old.items == nil {
		o.old.items = map[string]bool{}
	}
	o.old.items[item] = true
	if added { // else the filter took it for another, which it may
		o.old.card++
	}
	o.put(o.old)
	return added
}

// dumpValue is what Dump encodes a value as.
func dumpValue(v structures.Value) string {
	head := v.AppendHead(nil)
	dst := append(binary.AppendUvarint(nil, uint64(len(head))), head...)
	v.Pages(true, func(id uint64, page []byte) {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, id), uint64(len(page)))
		dst = append(dst, page...)
	})
	return string(dst)
}

func (o *trial) createPlan() bool {
	v, ch, ok := editTrial(o, structures.KindSchedule, func() *schedule.Schedule { return schedule.New(o.tx.HashKeys().Fields) })
	if !ok {
		return false
	}
	policies, cfg := scheduler.Policies(), schedule.DefaultConfig()
	cfg.Policy, cfg.Seed = policies[o.r.IntN(len(policies))].Name, o.r.Uint64()
	cfg.Probes, cfg.Explore = 1+o.r.IntN(3), .1
	if err := v.Create(ch, cfg, o.m.now); (err != nil) != o.exists {
		o.Fatalf("Create %.20s: error %v, exists %v", o.key, err, o.exists)
	}
	if o.exists {
		return false
	}
	o.old.plan = dumpValue(v)
	o.put(o.old)
	for range 1 + o.r.IntN(100) { // some have more than a page
		o.addNode()
	}
	return true
}

// plan does an operation to a schedule and to another one, which is the model's:
// it is made anew from what the model keeps, as a restart would make it.
func (o *trial) plan(name string, do func(v *schedule.Schedule, ch *structures.Change) string) (result string) {
	o.Helper()
	v, ch, ok := editTrial[*schedule.Schedule](o, structures.KindSchedule, nil)
	if !ok {
		return ""
	}
	twin, err := decodeDump(&o.tx.s.heads, structures.KindSchedule, []byte(o.m.dbs[o.db][o.key].plan))
	if err != nil {
		o.Fatalf("model of %.20s: %v", o.key, err)
	}
	want := do(twin.(*schedule.Schedule), nil)
	if result = do(v, ch); result != want {
		o.Fatalf("%s %.20s: got %q, want %q", name, o.key, result, want)
	}
	o.old.plan = dumpValue(twin)
	o.put(o.old)
	return result
}

// node is one of the nodes that schedules may have.
func (o *trial) node() []byte { return fmt.Appendf(nil, "node-%d", o.r.IntN(100)) }

func (o *trial) addNode() bool {
	node, p := o.node(), scheduler.DefaultParams()
	p.Rate, p.Decay, p.Arrival = o.r.Float64(), .1+o.r.Float64(), o.r.Float64()
	return o.plan("Add", func(v *schedule.Schedule, ch *structures.Change) string {
		created, err := v.Add(ch, node, p, o.m.now)
		return fmt.Sprint(created, err)
	}) != ""
}

func (o *trial) removeNode() bool {
	node := o.node()
	return o.plan("Remove", func(v *schedule.Schedule, ch *structures.Change) string {
		return fmt.Sprint(v.Remove(ch, node))
	}) == "true"
}

func (o *trial) next() bool {
	lease := int64(o.r.IntN(30))
	return o.plan("Next", func(v *schedule.Schedule, ch *structures.Change) string {
		picks, err := v.Next(ch, 0, o.m.now, lease, schedule.NamesOnly)
		return fmt.Sprint(picks, err)
	}) != ""
}

// observe takes a node and tells what was found there, or that nobody looked.
func (o *trial) observe() bool {
	items, fail := float64(o.r.IntN(4)), o.r.IntN(4) == 0
	return o.plan("Observe", func(v *schedule.Schedule, ch *structures.Change) string {
		picks, err := v.Next(ch, 0, o.m.now, 100, schedule.NamesOnly)
		if err != nil || len(picks) == 0 {
			return ""
		}
		node := []byte(picks[0].Node)
		if fail {
			return fmt.Sprint(v.Fail(ch, node, o.m.now))
		}
		return fmt.Sprint(v.Observe(ch, node, items, o.m.now))
	}) == "<nil>"
}
