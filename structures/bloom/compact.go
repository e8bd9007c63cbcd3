package bloom

import "encoding/binary"

// IsCompact reports whether the filter has few bits.
func (f *Filter) IsCompact(limit int) bool {
	return f.inline() && headerLen+len(f.layers)*layerLen+int(f.bytes) <= limit
}

// AppendCompact appends a filter of few bits as its head.
func (f *Filter) AppendCompact(dst []byte) []byte { return f.AppendHead(dst) }

// LoadCompact makes f the filter that AppendCompact appended.
func (f *Filter) LoadCompact(b []byte) {
	n := int(binary.LittleEndian.Uint32(b[8:]))
	layers := f.layers[:0]
	if n > cap(layers) {
		layers = make([]layer, n)
	}
	*f = Filter{
		layers: layers[:n], items: binary.LittleEndian.Uint64(b),
		options: binary.LittleEndian.Uint32(b[12:]), growth: binary.LittleEndian.Uint32(b[16:]),
	}
	rest := b[headerLen+n*layerLen:]
	for i := range f.layers {
		l := &f.layers[i]
		was := *l
		*l, _ = parseBloomLayer(b[headerLen+i*layerLen:], anyBits)
		if len(was.pages) == 1 && was.shared == nil && was.exists(0) && len(was.pages[0].BitSet().Words()) == l.pageBytes(0)/8 {
			l.pages, l.changed = was.pages, was.changed
		}
		l.write(0, rest[:l.bytes])
		clear(l.changed)
		f.bytes += l.bytes
		f.held += l.pageBytes(0)
		rest = rest[l.bytes:]
	}
}
