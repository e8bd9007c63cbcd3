package catalog

import (
	"errors"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// Catalog is all texts of a store. They belong to no database and are never evicted. A
// replay does changes of them when everything before is done, and a cut of the journal
// writes those that changed since the last one.
type Catalog struct {
	texts [format.OpMove - format.OpLibrary + 1]Texts // by operation, in which order a cut writes them
}

// Listener is told which texts of a kind have changed otherwise than by a transaction; with
// nil any may have. byName are all that there are. It keeps or changes nothing that it gets.
type Listener func(byName map[string]string, changed []string)

// Reader is what loading texts needs of Pebble.
type Reader interface {
	NewIter(o *pebble.IterOptions) (*pebble.Iterator, error)
}

// Batch is what writing texts needs of a batch of Pebble's.
type Batch interface {
	Set(key, value []byte, o *pebble.WriteOptions) error
	Delete(key []byte, o *pebble.WriteOptions) error
}

// Load reads all texts as the last cut of the journal left them. listeners are by the
// operation that changes what they want to be told of.
func Load(db Reader, listeners map[byte]Listener) (*Catalog, error) {
	c := new(Catalog)
	var err error
	for i := range c.texts {
		op := byte(format.OpLibrary + i)
		c.texts[i] = Texts{TextKind: format.TextKindOf(op), byName: map[string]string{}, changed: map[string]struct{}{}, tell: listeners[op]}
		err = errors.Join(err, c.texts[i].load(db))
	}
	return c, err
}

// Of returns the texts that an operation is about.
func (c *Catalog) Of(op byte) *Texts { return &c.texts[op-format.OpLibrary] }

// Replay does an operation that a record has. If live, the store is in use, and TellNews is
// called when the record is done.
func (c *Catalog) Replay(op byte, args *structures.Args, live bool) error {
	l := c.Of(op)
	first := len(l.byName) == 0
	name, err := l.operate(args)
	if live && l.tell != nil {
		l.news = append(l.news, name)
		l.anew = l.anew || first
	}
	return err
}

// Tell says that any text may have changed.
func (c *Catalog) Tell() {
	for i := range c.texts {
		if l := &c.texts[i]; l.tell != nil {
			l.tell(l.byName, nil)
		}
	}
}

// TellNews says which texts Replay has changed: all, if there were none before.
func (c *Catalog) TellNews() {
	for i := range c.texts {
		l := &c.texts[i]
		news, anew := l.news, l.anew
		l.news, l.anew = nil, false
		switch {
		case len(news) == 0 || l.tell == nil:
		case anew:
			l.tell(l.byName, nil)
		default:
			l.tell(l.byName, news)
		}
	}
}

// Changes are texts whose keys are to be written.
type Changes []change

type change struct {
	of   *Texts
	name string
	text *string // nil if it is gone
}

// Take returns what changed since it was called last, in the order of names.
func (c *Catalog) Take() (changes Changes) {
	for i := range c.texts {
		l := &c.texts[i]
		for _, name := range slices.Sorted(maps.Keys(l.changed)) {
			ch := change{of: l, name: name}
			if text, ok := l.byName[name]; ok {
				ch.text = &text
			}
			changes = append(changes, ch)
		}
		clear(l.changed)
	}
	return changes
}

// Keep is called if changes could not be written: Take returns them again.
func (changes Changes) Keep() {
	for _, c := range changes {
		c.of.changed[c.name] = struct{}{}
	}
}

// Write adds changes to a batch. It needs no lock.
func (changes Changes) Write(b Batch) (err error) {
	for _, c := range changes {
		key := format.AppendTextKey(nil, c.of.Prefix, c.name)
		if c.text == nil {
			err = errors.Join(err, b.Delete(key, nil))
		} else {
			err = errors.Join(err, b.Set(key, format.AppendText(nil, c.name, *c.text), nil))
		}
	}
	return err
}
