package persistence

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// Texts by name are what the store keeps beside its keys: libraries of functions, users, and
// the configuration of a group and the moves of slots that it is to make. They belong to no database and are never evicted. A change of them is an operation
// of a record, which a replay does when everything before it is done. They are few, so that
// all are in memory, and a cut of the journal writes those that changed since the last one.
//
// What is written may be ahead of the end of the cut: a replay of the operations in
// between once more leads to the same texts, because each operation sets or removes
// a text, or all, as a whole.
type texts struct {
	format.TextKind

	byName  map[string]string   // guarded by the lock of shard textShard
	changed map[string]struct{} // names whose key differs; guarded as byName
	bytes   int                 // of names and texts; guarded as byName

	tell func(byName map[string]string, changed []string) // see Options.OnUsers; may be nil
	news []string                                         // changed by the entry that a follower applies; guarded as byName
	anew bool                                             // by which they are more than none; guarded as byName
}

// textShard is the shard whose lock guards the texts.
const textShard = 0

// AddTexts adds the shard whose lock guards libraries, users, the configuration and moves.
func (m *Shards) AddTexts() { m[textShard>>6] |= 1 << (textShard & 63) }

// newTexts returns what changes of an operation are about: none of them yet.
func newTexts(op byte) texts {
	return texts{TextKind: format.TextKindOf(op), byName: map[string]string{}, changed: map[string]struct{}{}}
}

func (l *texts) set(name, text string) {
	l.forget(name)
	l.byName[name] = text
	l.bytes += len(name) + len(text)
}

func (l *texts) remove(name string) {
	l.forget(name)
	delete(l.byName, name)
}

// forget notes that a text is about to change.
func (l *texts) forget(name string) {
	l.changed[name] = struct{}{}
	if text, ok := l.byName[name]; ok {
		l.bytes -= len(name) + len(text)
	}
}

func (l *texts) clear() {
	for name := range l.byName {
		l.remove(name)
	}
}

// loadTexts reads all texts as the last cut of the journal left them.
func (s *Store) loadTexts() error {
	s.libraries, s.users, s.configuration, s.moves = newTexts(format.OpLibrary), newTexts(format.OpUser), newTexts(format.OpConfiguration), newTexts(format.OpMove)
	s.users.tell, s.configuration.tell, s.moves.tell = s.opts.OnUsers, s.opts.OnConfiguration, s.opts.OnMoves
	var err error
	for _, l := range s.allTexts() {
		err = errors.Join(err, l.load(s.db))
	}
	return err
}

// allTexts are all texts, in the order in which a cut writes them.
func (s *Store) allTexts() [4]*texts {
	return [...]*texts{&s.libraries, &s.users, &s.configuration, &s.moves}
}

func (l *texts) load(db *pebble.DB) error {
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

// textsByName returns a copy of texts.
func (s *Store) textsByName(l *texts) map[string]string {
	sh := &s.shards[textShard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return maps.Clone(l.byName)
}

func (tx *Tx) setText(l *texts, name, text string) {
	if tx.err == nil {
		tx.seal()
		l.set(name, text)
		tx.recordText(l, name, text)
	}
}

func (tx *Tx) deleteText(l *texts, name string) {
	if tx.err == nil {
		tx.seal()
		l.remove(name)
		tx.recordText(l, name)
	}
}

func (tx *Tx) recordText(l *texts, args ...string) {
	tx.rec.Op(l.Op, len(args))
	for _, a := range args {
		tx.rec.String(a)
	}
	tx.hasLast = false
	tx.apart, tx.changed = true, true
}

// operate does what a record says of texts, and returns which one it is about.
func (l *texts) operate(args *structures.Args) (name string, err error) {
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

// textsOf returns what an operation is about.
func (s *Store) textsOf(op byte) *texts {
	for _, l := range s.allTexts() {
		if l.Op == op {
			return l
		}
	}
	panic(fmt.Sprintf("persistence: operation %d is about no text", op))
}

// tellTexts says that any text may have changed.
func (s *Store) tellTexts() {
	for _, l := range s.allTexts() {
		if l.tell != nil {
			l.tell(l.byName, nil)
		}
	}
}

// tellNews says which texts an entry has changed: all, if there were none before.
func (s *Store) tellNews() {
	for _, l := range s.allTexts() {
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

// changedText is a text that changed; nil if it is gone.
type changedText struct {
	of   *texts
	name string
	text *string
}

// takeChanged returns what is to be written, in the order of names.
func (s *Store) takeChanged() []changedText {
	sh := &s.shards[textShard]
	if !s.lockSound(sh) {
		return nil // the journal is not cut
	}
	defer sh.mu.Unlock()
	var changed []changedText
	for _, l := range s.allTexts() {
		for _, name := range slices.Sorted(maps.Keys(l.changed)) {
			c := changedText{of: l, name: name}
			if text, ok := l.byName[name]; ok {
				c.text = &text
			}
			changed = append(changed, c)
		}
		clear(l.changed)
	}
	return changed
}

// keepChanged is called when what takeChanged returned could not be written.
func (s *Store) keepChanged(changed []changedText) {
	sh := &s.shards[textShard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, c := range changed {
		c.of.changed[c.name] = struct{}{}
	}
}

// writeChanged adds texts to a batch.
func writeChanged(b *pebble.Batch, changed []changedText) (err error) {
	for _, c := range changed {
		key := format.AppendTextKey(nil, c.of.Prefix, c.name)
		if c.text == nil {
			err = errors.Join(err, b.Delete(key, nil))
		} else {
			err = errors.Join(err, b.Set(key, format.AppendText(nil, c.name, *c.text), nil))
		}
	}
	return err
}
