package slots

import (
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// candidate is an object that may become a record at the end.
type candidate struct {
	t    *keyspace.Table
	o    *keyspace.Object
	hash uint64
	at   uint64 // index in t.objects
	// limit is what its value may take as a record.
	limit int
}

// Object returns the object of a live slot, which is made of its record if that is
// one of a value that is no string. nil: it is a short string.
func (p *Placer) Object(t *keyspace.Table, i int, hash uint64) *keyspace.Object {
	meta := t.Meta(i)
	if !t.IsCompact(meta) {
		o := t.Object(meta)
		if o != nil && o.Pager != nil {
			p.Use(o)
		}
		return o
	}
	o, at := p.keyspace.Lift(t, i)
	p.CompactLater(t, o, hash, at, keyspace.MaxCompact)
	return o
}

// CompactLater queues an object for Compact, if it may become a
// record then.
func (p *Placer) CompactLater(t *keyspace.Table, o *keyspace.Object, hash, at uint64, limit int) {
	if o.Candidate {
		return
	}
	c, ok := o.Value.(structures.Compact)
	if ok && (limit == keyspace.MaxCompact || c.IsCompact(limit) || !o.Recent && c.IsCompact(keyspace.MaxRecent/2)) {
		o.Candidate = true
		p.candidates = append(p.candidates, candidate{t, o, hash, at, limit})
	}
}

// Compact makes records of the small ones of the objects that were used.
// Values that were handed out are not valid afterwards.
func (p *Placer) Compact() {
	if len(p.paged) > 0 {
		p.settlePages()
	}
	for k := range p.candidates {
		l := &p.candidates[k]
		l.o.Candidate = false
		if l.t.Has(l.at, l.o) {
			if !p.keyspace.CompactObject(l.t, l.t.Find(l.hash, l.o.Key), l.o, l.limit) && !l.o.Recent &&
				l.o.Value.(structures.Compact).IsCompact(keyspace.MaxRecent) {
				p.keyspace.KeepRecent(l.t, l.o, l.hash, l.at)
			}
		} else if !l.o.Lifted && l.o.Value.Size() <= keyspace.MaxSpare {
			p.keyspace.KeepCompact(l.o) // deleted: a queue is made and emptied all the time
		}
	}
	clear(p.candidates)
	p.candidates = p.candidates[:0]
}
