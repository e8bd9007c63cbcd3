package rdb

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/zset"
)

// Lengths that stand for a score in place of the length of its decimal form.
const (
	scoreNaN      = 253
	scoreInfinite = 254
	scoreLeast    = 255 // minus infinity
)

// zset writes
//
//	5 | members | for each, the greatest first: member | score (8, little endian)
func (o *out) zset(s *zset.Set) {
	o.length(uint64(s.Len()))
	s.Reverse(s.Len()-1, s.Len(), func(member []byte, score float64) bool {
		o.string(member)
		o.b = binary.LittleEndian.AppendUint64(o.b, math.Float64bits(score))
		o.step()
		return true
	})
}

// builtScores is up to how many members of a source are gathered before they become a
// sorted set; more are added one by one, and the set may have pages elsewhere.
const builtScores = 8 << 10

// zset reads a sorted set in any of its forms.
func (d *decoder) zset(t byte) structures.Value {
	var m members
	switch t {
	case typeZSet, typeZSetBinary:
		n := d.length()
		for ; n > 0 && d.err == nil && (d.grown == nil || len(m.entries) < builtScores); n-- {
			if member, score := d.scored(t); d.err == nil {
				d.err = m.put(member, score)
			}
		}
		if n > 0 && d.err == nil {
			return d.zsetRest(t, &m, n)
		}
		if d.src != nil {
			m.unsign()
		}
	default:
		walk := walker(walkListpack)
		if t == typeZSetZiplist {
			walk = walkZiplist
		}
		b := d.string(&d.room)
		if d.err == nil {
			d.err = walk(b, m.add)
		}
		if d.err == nil && m.half {
			d.fail("member without score")
		}
	}
	if d.err != nil {
		return nil
	}
	s, err := zset.Build(d.options.HashKeys, m.entries)
	if err != nil {
		d.err = err
		return nil
	}
	return s
}

// scored reads a member and its score.
func (d *decoder) scored(t byte) (member []byte, score float64) {
	member = d.string(&d.room)
	if t == typeZSetBinary {
		return member, math.Float64frombits(d.fixed(8))
	}
	return member, d.decimalScore()
}

// zsetRest reads the last n members of a sorted set, whose first ones are m.
func (d *decoder) zsetRest(t byte, m *members, n uint64) structures.Value {
	s, err := zset.Build(d.options.HashKeys, m.entries)
	if err != nil {
		d.err = err
		return nil
	}
	*m = members{}
	d.grew(s, builtScores)
	for ; n > 0 && d.err == nil; n-- {
		member, score := d.scored(t)
		if d.err == nil && math.IsNaN(score) {
			d.fail("score that is no number")
		}
		if d.err != nil {
			break
		}
		if _, outcome := s.Add(nil, member, score, 0); outcome != zset.Added {
			d.fail("member %.20q given twice", member)
		}
		d.grew(s, 1+len(member)/growBatch)
	}
	return s
}

// decimalScore reads a score in the form of old versions.
func (d *decoder) decimalScore() float64 {
	switch n := d.byte(); n {
	case scoreNaN:
		return math.NaN()
	case scoreInfinite:
		return math.Inf(1)
	case scoreLeast:
		return math.Inf(-1)
	default:
		score, ok := parseScore(d.take(uint64(n)))
		if !ok {
			d.fail("score of %d bytes", n)
		}
		return score
	}
}

func parseScore(b []byte) (score float64, ok bool) {
	if bytes.IndexByte(b, '_') >= 0 {
		return 0, false
	}
	score, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 64)
	return score, err == nil
}

// members gathers the entries of a sorted set.
type members struct {
	entries []zset.Entry
	member  []byte // of the entry whose score comes next, if half is set
	half    bool
	text    []byte // the members: each is a part of it
}

// add takes the next string of a packed sorted set: a member or its score.
func (m *members) add(elem []byte) error {
	if !m.half {
		m.member, m.half = append(m.member[:0], elem...), true
		return nil
	}
	m.half = false
	score, ok := parseScore(elem)
	if !ok {
		return damaged("score %.20q", elem)
	}
	return m.put(m.member, score)
}

// Redis packs the sorted sets of a file that have so few members as short as this.
const packedMembers, packedMember = 128, 64

// unsign makes -0 of a small set 0, as Redis does when it packs the set.
func (m *members) unsign() {
	if len(m.entries) > packedMembers || slices.ContainsFunc(m.entries, func(e zset.Entry) bool { return len(e.Member) > packedMember }) {
		return
	}
	for i := range m.entries {
		if m.entries[i].Score == 0 {
			m.entries[i].Score = 0 // that had a sign
		}
	}
}

func (m *members) put(member []byte, score float64) error {
	if math.IsNaN(score) {
		return damaged("score that is no number")
	}
	if cap(m.text)-len(m.text) < len(member) {
		m.text = make([]byte, 0, max(len(member), min(2*cap(m.text), 64<<10), 64))
	}
	at := len(m.text)
	m.text = structures.Append(m.text, member)
	m.entries = append(m.entries, zset.Entry{Member: m.text[at:len(m.text):len(m.text)], Score: score})
	return nil
}
