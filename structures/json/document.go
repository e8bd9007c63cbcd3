package json

import (
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Document is a JSON document: one value, the root. It is nil in a new one, which must be given a
// root before anything else.
type Document struct {
	// root is the value, if that is not larger than nearBytes, or a reference to its chain.
	root   []byte
	chains map[uint64]*chain
	pages  []*run   // of all chains, in the order of their numbers; some are gone
	gone   int      // of pages
	last   uint64   // the greatest number of a chain or of a page that was given out
	free   []uint64 // numbers of pages that the disk has and that are gone
	chars  int      // bytes of runs
	keys   *structures.HashKeys
	// orphans: a chain has no home yet, or another one than before.
	orphans bool
	way     place   // memory of the place that was located last
	marks   []marks // of the containers in which members were found last
	pager   structures.Pager

	evicted int    // pages on disk only
	distant int64  // their bytes
	changed int    // bytes of pages that changed since Clean
	hand    uint64 // page at which Evict goes on
	part    uint64 // page at which Flush goes on
}

// New returns a document without a root.
func New(keys *structures.HashKeys) *Document { return &Document{keys: keys} }

// chain is a string, an array or an object that is larger than nearBytes: its members lie in runs,
// each of which is a page.
type chain struct {
	id    uint64
	typ   Type
	count int  // members; bytes of a string
	size  int  // bytes of all runs
	home  *run // which refers to it; nil: it is the root
	runs  []*run

	// Members are often looked for one after the other: the run that was found last, and how many
	// members are before it; negative if that is not known.
	near, before int

	// all has the names of an object that was asked for names which it does not have, misses so often.
	all    structures.Filter
	room   int // names for which all was made
	misses int
}

// run is some members of a chain, one after the other. It has at least one, and more than one only
// up to about nearBytes.
type run struct {
	id   uint64
	b    []byte // nil if the page is evicted
	n    int    // members; bytes of a string
	size int    // of b
	// filter has the names of an object's members; nil: it is made when one is looked for.
	filter structures.Filter
	inner  []*chain // that members refer to
	of     *chain   // for those that were decoded

	dirty, stored, evicted, recent, gone bool
	shared                               bool // a fork has the same bytes
}

const (
	documentSize = 200 // what a document, a chain and a run take besides their bytes
	chainSize    = 120
	runSize      = 136
	// smallChain is the size below which the members of a chain go back to where it is referred
	// to, and thinRun that below which a run takes the members of a neighbour.
	smallChain = nearBytes / 4
	thinRun    = nearBytes / 4
)

// Root returns the value of the document.
func (d *Document) Root() Value { return Value{d, d.root} }

// Kind is KindJSON.
func (d *Document) Kind() structures.Kind { return structures.KindJSON }

// Empty reports whether the document has no root.
func (d *Document) Empty() bool { return d.root == nil }

// Size estimates the memory held.
func (d *Document) Size() int {
	return documentSize + cap(d.root) + d.chars + len(d.chains)*chainSize + (len(d.pages)-d.gone)*runSize
}

// Bytes is about the length of the document's encoding, in memory or not.
func (d *Document) Bytes() int { return len(d.root) + d.chars + int(d.distant) }

// Failed reports that a page could not be read for the command under way, which changes nothing
// then.
func (d *Document) Failed() bool { return d.evicted > 0 && d.pager != nil && d.pager.Failed() }

// IsCompact reports whether the document has no chains and is short.
func (d *Document) IsCompact(limit int) bool { return len(d.chains) == 0 && len(d.root) <= limit }

// AppendCompact appends a document without chains.
func (d *Document) AppendCompact(dst []byte) []byte { return append(dst, d.root...) }

// LoadCompact makes d the document that AppendCompact appended.
func (d *Document) LoadCompact(b []byte) {
	if d.chains == nil && d.free == nil {
		d.root = append(d.root[:0], b...)
		d.marks = d.marks[:0]
		return
	}
	*d = Document{root: append(d.root[:0], b...), keys: d.keys}
}

// newChain returns a chain without members.
func (d *Document) newChain(t Type) *chain {
	if d.chains == nil {
		d.chains = map[uint64]*chain{}
	}
	d.last++
	c := &chain{id: d.last, typ: t, before: -1}
	d.chains[c.id] = c
	d.orphans = true
	return c
}

// addRun puts a run of members into a chain, before its run i.
func (d *Document) addRun(c *chain, i int, b []byte, n int) *run {
	d.last++
	r := &run{id: d.last, n: n, recent: true}
	d.pages = append(d.pages, r)
	c.runs = slices.Insert(c.runs, i, r)
	c.count += n
	if i <= c.near && len(c.runs) > 1 {
		c.near++
		c.grow(n)
	}
	d.setRun(c, r, b)
	return r
}

// setRun gives a run other bytes, or says that they changed.
func (d *Document) setRun(c *chain, r *run, b []byte) {
	d.chars += cap(b) - cap(r.b)
	c.size += len(b) - r.size
	if r.dirty {
		d.changed -= r.size
	}
	d.changed += len(b)
	r.b, r.size, r.dirty = b, len(b), true
}

// dropRun removes run i of a chain with its members.
func (d *Document) dropRun(c *chain, i int) {
	r := c.runs[i]
	c.runs = slices.Delete(c.runs, i, i+1)
	c.count -= r.n
	if i < c.near {
		c.near--
		c.grow(-r.n)
	}
	d.forget(c, r)
	d.dropInner(r)
}

// forget takes a run out of the accounts.
func (d *Document) forget(c *chain, r *run) {
	d.chars -= cap(r.b)
	c.size -= r.size
	if r.dirty {
		d.changed -= r.size
	}
	if r.evicted {
		d.evicted--
		d.distant -= int64(r.size)
	}
	if r.stored {
		d.free = append(d.free, r.id)
	}
	r.gone, r.b = true, nil
	if d.gone++; d.gone > len(d.pages)/2 {
		d.pages = slices.DeleteFunc(d.pages, func(r *run) bool { return r.gone })
		d.gone = 0
	}
}

// dropChain removes a chain with its members, and the chains that hang in it. Pages that are evicted
// are not read for it.
func (d *Document) dropChain(c *chain) {
	delete(d.chains, c.id)
	d.setHome(c, nil)
	for _, r := range c.runs {
		d.forget(c, r)
		d.dropInner(r)
	}
	c.runs = nil
	d.restart()
}

// restart begins the numbers anew when there are no chains: a document that has become small is as
// one that always was.
func (d *Document) restart() {
	if len(d.chains) == 0 {
		d.chains, d.pages, d.gone, d.last, d.way, d.marks = nil, nil, 0, 0, nil, d.marks[:0]
	}
}

// dropInner removes the chains that hang in a run.
func (d *Document) dropInner(r *run) {
	for len(r.inner) > 0 {
		d.dropChain(r.inner[len(r.inner)-1])
	}
}

// setHome says in which run the reference to a chain is; nil: it is the root.
func (d *Document) setHome(c *chain, r *run) {
	if c.home == r {
		return
	}
	if was := c.home; was != nil {
		i := slices.Index(was.inner, c)
		was.inner = slices.Delete(was.inner, i, i+1)
	}
	if c.home = r; r != nil {
		r.inner = append(r.inner, c)
	}
}

// grow says that a run before the one that was found last has n members more.
func (c *chain) grow(n int) {
	if c.before >= 0 {
		c.before += n
	}
}

// find returns the run of a chain that has member i, and how many are before it there.
func (c *chain) find(i int) (run, left int) {
	before := c.before
	if run = c.near; run >= len(c.runs) || before < 0 {
		run, before = 0, 0
	}
	for ; run > 0 && i < before; run-- {
		before -= c.runs[run-1].n
	}
	for ; run < len(c.runs) && i >= before+c.runs[run].n; run++ {
		before += c.runs[run].n
	}
	if run < len(c.runs) {
		c.near, c.before = run, before
	}
	return run, i - before
}
