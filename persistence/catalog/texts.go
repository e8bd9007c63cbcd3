package catalog

import (
	"errors"
	"iter"
	"maps"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// Texts are those of one kind, in words that the store does not read.
type Texts struct {
	format.TextKind

	byName  map[string]string
	changed map[string]struct{} // names whose key differs
	bytes   int                 // of names and texts

	tell Listener // may be nil
	news []string // changed by Replay
	anew bool     // by which they are more than none
}

// Len is how many texts there are.
func (l *Texts) Len() int { return len(l.byName) }

// Bytes is the length of all names and texts.
func (l *Texts) Bytes() int { return l.bytes }

// Size is the length of a name and its text, 0 if there is none.
func (l *Texts) Size(name string) int {
	text, ok := l.byName[name]
	if !ok {
		return 0
	}
	return len(name) + len(text)
}

// Get returns a text, and whether there is one of that name.
func (l *Texts) Get(name string) (text string, ok bool) {
	text, ok = l.byName[name]
	return text, ok
}

// Names are those of all texts, in no order. Nothing may change before they end.
func (l *Texts) Names() iter.Seq[string] { return maps.Keys(l.byName) }

// Copy returns all texts by name.
func (l *Texts) Copy() map[string]string { return maps.Clone(l.byName) }

// Set keeps a text in place of the one of that name, and records it.
func (l *Texts) Set(rec *structures.Change, name, text string) {
	l.set(name, text)
	l.record(rec, name, text)
}

// Remove removes a text, if there is one of that name, and records it.
func (l *Texts) Remove(rec *structures.Change, name string) {
	l.remove(name)
	l.record(rec, name)
}

// Clear removes all texts of a kind that allows it, and records it.
func (l *Texts) Clear(rec *structures.Change) {
	l.clear()
	l.record(rec)
}

func (l *Texts) record(rec *structures.Change, args ...string) {
	rec.Op(l.Op, len(args))
	for _, a := range args {
		rec.String(a)
	}
}

func (l *Texts) set(name, text string) {
	l.forget(name)
	l.byName[name] = text
	l.bytes += len(name) + len(text)
}

func (l *Texts) remove(name string) {
	l.forget(name)
	delete(l.byName, name)
}

// forget notes that a text is about to change.
func (l *Texts) forget(name string) {
	l.changed[name] = struct{}{}
	if text, ok := l.byName[name]; ok {
		l.bytes -= len(name) + len(text)
	}
}

func (l *Texts) clear() {
	for name := range l.byName {
		l.remove(name)
	}
}

func (l *Texts) load(db Reader) error {
	it, err := db.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendGroup(nil, l.Prefix), UpperBound: format.AppendGroupEnd(nil, l.Prefix)})
	if err != nil {
		return err
	}
	for it.First(); it.Valid(); it.Next() {
		name, text, err := l.Decode(it.Key(), it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		l.set(name, text)
	}
	clear(l.changed)
	return errors.Join(it.Error(), it.Close())
}

// operate does what a record says of texts, and returns which one it is about.
func (l *Texts) operate(args *structures.Args) (name string, err error) {
	c, err := l.DecodeChange(args)
	switch {
	case err != nil:
		return "", err
	case c.All:
		l.clear()
	case c.Text == nil:
		l.remove(c.Name)
	default:
		l.set(c.Name, *c.Text)
	}
	return c.Name, nil
}
