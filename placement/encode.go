package placement

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
)

// An encoded map, integers little-endian, u for uvarint, z for zigzag varint:
//
//	"VPLC"  format  strategy  hash  seed   stretch points slots copies levels
//	4       1       1         1     8      u       u      u     u      u
//
//	scale  slots   each: length name            capacity  length domain
//	z      u             u      (free if 0)     8         u
//
//	length state   crc-32c of all before
//	u              4
//
// Format 2 has spread, scatter and bound (u each) behind the levels, and with a bound
// the objects behind the state: see appendHeld. A map without any of these has
// format 1.
//
// stretch is in units of 2^-16, a capacity the bits of the float64 that the
// user stated. These numbers are on disk and never change; each map has one
// encoding.
const (
	magic        = "VPLC"
	formatFirst  = 1
	formatCopies = 2 // with spread, scatter or bound
	headLength   = len(magic) + 3 + 8
	maxScale     = 128 // capacities of MinDecimal to MaxDecimal need 21+30
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// AppendBinary appends the encoded map to dst. The error is always nil.
func (m *Map) AppendBinary(dst []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, magic...)
	dst = append(dst, m.format(), m.spec.Number, HashVersion)
	dst = binary.LittleEndian.AppendUint64(dst, m.opts.Seed)
	dst = binary.AppendUvarint(dst, uint64(m.opts.Stretch*stretchUnit))
	for _, v := range []int{m.opts.Points, m.opts.Slots, m.opts.Copies, m.opts.Levels} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	if m.format() == formatCopies {
		dst = binary.AppendUvarint(dst, uint64(m.opts.Spread))
		dst = binary.AppendUvarint(dst, uint64(m.opts.Scatter))
		dst = binary.AppendUvarint(dst, m.boundMillionths())
	}
	dst = binary.AppendVarint(dst, int64(m.scale))
	dst = binary.AppendUvarint(dst, uint64(len(m.slots)))
	for _, s := range m.slots {
		dst = appendText(dst, s.name)
		if s.name != "" {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.decimal))
			dst = appendText(dst, s.domain)
		}
	}
	dst = appendText(dst, m.strategy.AppendState(nil))
	if m.held != nil {
		dst = m.appendHeld(dst)
	}
	return appendSum(dst, start), nil
}

// format is that of the encoded map.
func (m *Map) format() byte {
	if m.opts.Spread > 0 || m.opts.Scatter > 0 || m.opts.Bound > 0 {
		return formatCopies
	}
	return formatFirst
}

// appendSum appends the checksum of what follows start.
func appendSum(dst []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli()))
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// Decode returns the map that AppendBinary encoded, the only encoding of it.
// ErrCorrupt for anything else. It never panics, and holds at most the tables
// that options may ask for, and for each byte those of a unit.
func Decode(b []byte) (*Map, error) {
	if len(b) < headLength+4 || string(b[:len(magic)]) != magic {
		return nil, ErrCorrupt
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli()) != sum {
		return nil, ErrCorrupt
	}
	r := reader{rest: body[headLength:]}
	m, err := NewMap(r.options(body))
	if err != nil || r.bad {
		return nil, ErrCorrupt
	}
	p := r.plan()
	state := r.text(len(body))
	if r.bad || m.held == nil && len(r.rest) > 0 || m.restore(p, state) != nil {
		return nil, ErrCorrupt
	}
	if m.held != nil {
		m.restoreHeld(&r)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, ErrCorrupt
	}
	// Equal bytes again say that nothing was out of range, out of order or
	// longer than needed.
	if again, _ := m.AppendBinary(nil); !bytes.Equal(again, b) {
		return nil, ErrCorrupt
	}
	return m, nil
}

// restore takes over decoded units and history.
func (m *Map) restore(p plan, state []byte) error {
	var changes []Change
	names := make(map[string]bool, len(p.slots))
	for i := range p.slots {
		s := &p.slots[i]
		if s.name == "" {
			continue
		}
		if names[s.name] || i >= m.spec.MaxUnits {
			return ErrCorrupt
		}
		names[s.name] = true
		c, err := quantise(s.decimal, p.scale)
		if err != nil {
			return err
		}
		s.capacity = c
		if m.spec.Weighted {
			changes = append(changes, Change{i, c})
			continue
		}
		if len(changes) > 0 && c != p.slots[changes[0].Unit].capacity {
			return ErrUniform
		}
		changes = append(changes, Change{i, 1})
	}
	if n := len(p.slots); n > 0 && p.slots[n-1].name == "" {
		return ErrCorrupt
	}
	next, err := changedTo(m.strategy, p, changes)
	if err != nil {
		return err
	}
	m.strategy = next
	m.adopt(p)
	return m.strategy.DecodeState(state)
}

// Clone returns an independent copy.
func (m *Map) Clone() *Map {
	c := &Map{opts: m.opts, spec: m.spec, strategy: m.strategy.Clone(), names: map[string]int{}, held: m.held.clone()}
	c.adopt(plan{slots: append([]slot(nil), m.slots...), scale: m.scale})
	return c
}

// reader takes values from bytes and remembers the first failure.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > limit {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) text(limit int) []byte {
	n := int(r.uvarint(uint64(limit)))
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

// options reads what stands before the scale. An unknown strategy or hash
// leaves an unknown name.
func (r *reader) options(body []byte) Options {
	o := Options{Strategy: "?", Seed: binary.LittleEndian.Uint64(body[headLength-8:])}
	for _, s := range Strategies() {
		if s.Number == body[len(magic)+1] {
			o.Strategy = s.Name
		}
	}
	format := body[len(magic)]
	if format != formatFirst && format != formatCopies || body[len(magic)+2] != HashVersion {
		r.bad = true
	}
	o.Stretch = float64(r.uvarint(MaxStretch*stretchUnit)) / stretchUnit
	o.Points = int(r.uvarint(MaxPoints))
	o.Slots = int(r.uvarint(MaxSlots))
	o.Copies = int(r.uvarint(MaxCopies))
	o.Levels = int(r.uvarint(MaxLevels))
	if format == formatCopies {
		o.Spread = int(r.uvarint(MaxSpread))
		o.Scatter = int(r.uvarint(MaxScatter))
		o.Bound = float64(r.uvarint(MaxBound*boundUnit)) / boundUnit
	}
	return o
}

// plan reads scale and units.
func (r *reader) plan() plan {
	s, n := binary.Varint(r.rest)
	if n <= 0 || s < -maxScale || s > maxScale {
		r.bad, r.rest = true, nil
		return plan{}
	}
	r.rest = r.rest[n:]
	p := plan{scale: int(s)}
	for range r.uvarint(MaxUnits) {
		var u slot
		if u.name = string(r.text(MaxName)); u.name != "" && len(r.rest) >= 8 {
			u.decimal = math.Float64frombits(binary.LittleEndian.Uint64(r.rest))
			r.rest = r.rest[8:]
			u.domain = string(r.text(MaxName))
		}
		if r.bad {
			return plan{}
		}
		p.slots = append(p.slots, u)
	}
	return p
}
