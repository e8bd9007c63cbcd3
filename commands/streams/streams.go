package streams

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

// Group lists the commands of the family.
func Group() commands.Group {
	rows := append(addRows(), rangeRows()...)
	rows = append(rows, readRows()...)
	rows = append(rows, editRows()...)
	rows = append(rows, groupRows()...)
	rows = append(rows, pendingRows()...)
	rows = append(rows, claimRows()...)
	rows = append(rows, releaseRows()...)
	rows = append(rows, namingRows()...)
	return commands.Group{Name: "stream", Commands: append(rows, infoRows()...)}
}

// edit finds a stream to change; ok is false if the key does not exist.
func edit(c *commands.Ctx, key []byte) (s *stream.Stream, ch *structures.Change, ok bool, err error) {
	return persistence.Edit[*stream.Stream](c.Tx, key, nil)
}

// editRead is edit for a command that Redis counts among those that read, though it
// changes the group. A key that is missing is published as a miss.
func editRead(c *commands.Ctx, key []byte) (s *stream.Stream, ch *structures.Change, ok bool, err error) {
	s, ch, ok, err = edit(c, key)
	c.Looked(key, ok, err)
	return s, ch, ok, err
}

// view finds a stream for a command that reads. A key that is missing is published
// as a miss.
func view(c *commands.Ctx, key []byte) (s *stream.Stream, ok bool, err error) {
	return commands.View[*stream.Stream](c, key)
}

// fewPages is how many pages of entries are at most written under the locks.
const fewPages = 4

// fewEntries is how many entries are.
const fewEntries = 256

// entries is what a reply has of a stream: up to count entries of a range.
type entries struct {
	key      []byte
	s        *stream.Stream
	lent     *stream.Range // in place of s, if they are many
	from, to stream.ID
	count    int
	back     bool
}

// many reports whether writing them may take long.
func (e *entries) many() bool {
	return e.count > fewEntries && e.s.Spanned(e.from, e.to) > fewPages
}

// lend takes what is to be written out of the stream: the rest needs no lock.
func (e *entries) lend() {
	e.lent, e.s = e.s.Lend(e.from, e.to, e.count, e.back), nil
	e.key = append([]byte(nil), e.key...)
}

// write writes an array of the entries.
func (e *entries) write(r *commands.Reply) {
	n := 0
	visit := func(entry *stream.Entry) bool {
		replyEntry(r, entry)
		n++
		return n != e.count
	}
	r.ArrayLater(func() int {
		switch {
		case e.lent != nil:
			e.lent.Each(visit)
		case e.back:
			e.s.Backward(e.from, e.to, visit)
		default:
			e.s.Each(e.from, e.to, visit)
		}
		return n
	})
}
