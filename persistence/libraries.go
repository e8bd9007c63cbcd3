package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/structures"
)

// Libraries are sources by name, which the store keeps beside its keys: they belong to no
// database and are never evicted. A change of them is an operation of a record, which a
// replay does when everything before it is done. They are few, so that all are in memory,
// and a cut of the journal writes those that changed since the last one:
//
//	'l' | group (2) | name  ->  crc32c of name and source (4) | source
//
// What is written may be ahead of the end of the cut: a replay of the operations in
// between once more leads to the same libraries, because each operation sets or removes
// a library, or all, as a whole.
type libraries struct {
	sources map[string]string   // guarded by the lock of shard libraryShard
	changed map[string]struct{} // names whose key differs; guarded as sources
}

// libraryShard is the shard whose lock guards the libraries.
const libraryShard = 0

// AddLibraries adds the shard whose lock guards the libraries.
func (m *Shards) AddLibraries() { m[libraryShard>>6] |= 1 << (libraryShard & 63) }

func (l *libraries) set(name, source string) {
	l.sources[name] = source
	l.changed[name] = struct{}{}
}

func (l *libraries) remove(name string) {
	delete(l.sources, name)
	l.changed[name] = struct{}{}
}

func (l *libraries) clear() {
	for name := range l.sources {
		l.remove(name)
	}
}

func appendLibraryKey(dst []byte, name string) []byte {
	return append(appendGroup(dst, prefixLibrary), name...)
}

func appendLibrary(dst []byte, name, source string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, librarySum(name, source))
	return append(dst, source...)
}

func librarySum(name, source string) uint32 {
	return crc32.Update(crc32.Checksum([]byte(name), castagnoli), castagnoli, []byte(source))
}

func decodeLibrary(key, value []byte) (name, source string, err error) {
	name = string(key[groupKeyFixed:])
	if len(value) < 4 || binary.LittleEndian.Uint32(value) != librarySum(name, string(value[4:])) {
		return "", "", fmt.Errorf("checksum of library %.100q: %w", name, ErrCorrupt)
	}
	return name, string(value[4:]), nil
}

// loadLibraries reads the libraries as the last cut of the journal left them.
func (s *Store) loadLibraries() error {
	l := &s.libraries
	l.sources, l.changed = map[string]string{}, map[string]struct{}{}
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendGroup(nil, prefixLibrary), UpperBound: appendGroupEnd(nil, prefixLibrary)})
	if err != nil {
		return err
	}
	for it.First(); it.Valid(); it.Next() {
		name, source, err := decodeLibrary(it.Key(), it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		l.sources[name] = source
	}
	return errors.Join(it.Error(), it.Close())
}

// Libraries returns the sources of all libraries by name.
func (s *Store) Libraries() map[string]string {
	sh := &s.shards[libraryShard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return maps.Clone(s.libraries.sources)
}

// SetLibrary keeps the source of a library in place of the one of that name. The lock
// of AddLibraries is held.
func (tx *Tx) SetLibrary(name, source string) {
	if tx.err != nil {
		return
	}
	tx.seal()
	tx.s.libraries.set(name, source)
	tx.recordLibrary(name, source)
}

// DeleteLibrary removes a library. The lock of AddLibraries is held.
func (tx *Tx) DeleteLibrary(name string) {
	if tx.err != nil {
		return
	}
	tx.seal()
	tx.s.libraries.remove(name)
	tx.recordLibrary(name)
}

// DeleteLibraries removes all libraries. The lock of AddLibraries is held.
func (tx *Tx) DeleteLibraries() {
	if tx.err != nil || len(tx.s.libraries.sources) == 0 {
		return
	}
	tx.seal()
	tx.s.libraries.clear()
	tx.recordLibrary()
}

func (tx *Tx) recordLibrary(args ...string) {
	tx.rec.Op(opLibrary, len(args))
	for _, a := range args {
		tx.rec.String(a)
	}
	tx.hasLast = false
	tx.apart, tx.changed = true, true
}

// operate does what a record says of libraries.
func (l *libraries) operate(args *structures.Args) error {
	switch args.Left() {
	case 0:
		l.clear()
	case 1:
		l.remove(string(args.Bytes()))
	default:
		l.set(string(args.Bytes()), string(args.Bytes()))
	}
	return args.Done()
}

// changedLibrary is the source of a library that changed; nil if it is gone.
type changedLibrary struct {
	name   string
	source *string
}

// takeChanged returns what is to be written, in the order of names.
func (s *Store) takeChanged() []changedLibrary {
	sh, l := &s.shards[libraryShard], &s.libraries
	sh.mu.Lock()
	defer sh.mu.Unlock()
	var changed []changedLibrary
	for _, name := range slices.Sorted(maps.Keys(l.changed)) {
		c := changedLibrary{name: name}
		if source, ok := l.sources[name]; ok {
			c.source = &source
		}
		changed = append(changed, c)
	}
	clear(l.changed)
	return changed
}

// keepChanged is called when what takeChanged returned could not be written.
func (s *Store) keepChanged(changed []changedLibrary) {
	sh := &s.shards[libraryShard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, c := range changed {
		s.libraries.changed[c.name] = struct{}{}
	}
}

// writeChanged adds libraries to a batch.
func writeChanged(b *pebble.Batch, changed []changedLibrary) (err error) {
	for _, c := range changed {
		key := appendLibraryKey(nil, c.name)
		if c.source == nil {
			err = errors.Join(err, b.Delete(key, nil))
		} else {
			err = errors.Join(err, b.Set(key, appendLibrary(nil, c.name, *c.source), nil))
		}
	}
	return err
}
