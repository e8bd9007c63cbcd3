package zset

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Entry is a member and its score, for Build.
type Entry struct {
	Member []byte
	Score  float64
}

// Sort puts entries into the order of a sorted set.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		if c := cmp.Compare(orderOf(scoreBits(a.Score)), orderOf(scoreBits(b.Score))); c != 0 {
			return c
		}
		return bytes.Compare(a.Member, b.Member)
	})
}

// Build makes a set of entries at once, which is several times as quick as adding one
// after the other. It sorts the entries; the bytes are copied. A member that is there
// twice gives ErrCorrupt.
func Build(keys *structures.HashKeys, entries []Entry) (*Set, error) {
	s := New(keys)
	if len(entries) == 0 {
		return s, nil
	}
	Sort(entries)
	const filled = leafBytes * 15 / 16
	var line []*leaf
	for len(entries) > 0 {
		size, n := entrySize(entries[0].Member), 1
		for n < len(entries) && size+entrySize(entries[n].Member) <= filled {
			size += entrySize(entries[n].Member)
			n++
		}
		line = append(line, pack(uint32(len(line)), size, entries[:n]))
		entries = entries[n:]
	}
	if err := s.enlist(line); err != nil {
		return nil, err
	}
	return s, s.build(line)
}

// pack makes a leaf of entries that take size bytes.
func pack(num uint32, size int, entries []Entry) *leaf {
	l := &leaf{num: num, buf: make([]byte, size), slots: make([]slot, len(entries))}
	at := 0
	for i, e := range entries {
		writeEntry(l.buf[at:], scoreBits(e.Score), e.Member)
		l.slots[i] = slot(at) << 16
		at += entrySize(e.Member)
	}
	return l
}
