package json

import (
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Fork returns a copy, see [structures.Forkable]: the bytes of a page are common to both until one of them changes what is in it. To
// append to a page changes nothing that the other one has.
func (d *Document) Fork() (structures.Value, bool) {
	if d.evicted > 0 {
		return nil, false
	}
	f := New(d.keys)
	f.root, f.last = slices.Clone(d.root), d.last
	runs := make([]run, 0, len(d.pages)-d.gone)
	for _, r := range d.pages {
		if r.gone {
			continue
		}
		r.shared = true
		runs = append(runs, run{id: r.id, b: slices.Clip(r.b), n: r.n, size: r.size, dirty: true, recent: true, shared: true})
		f.pages = append(f.pages, &runs[len(runs)-1])
		f.chars += r.size
	}
	f.changed = f.chars
	if len(d.chains) > 0 {
		f.chains = make(map[uint64]*chain, len(d.chains))
	}
	for id, c := range d.chains {
		to := &chain{id: id, typ: c.typ, count: c.count, size: c.size, before: -1, runs: make([]*run, len(c.runs))}
		for i, r := range c.runs {
			to.runs[i] = f.page(r.id)
		}
		f.chains[id] = to
	}
	for id, c := range d.chains {
		if c.home != nil {
			f.setHome(f.chains[id], f.page(c.home.id))
		}
	}
	return f, true
}

// own returns the bytes of a level, which no fork has then: they may be changed.
func (l *level) own(b []byte) []byte {
	if r := l.in(); r != nil && r.shared {
		r.shared = false
		return slices.Clone(b)
	}
	return b
}
