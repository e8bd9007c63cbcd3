package bloom

import (
	"encoding/binary"

	"github.com/vigildb/vigil/structures/paged"
)

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
	layers = layers[:n]
	*f = Filter{
		layers: layers[:0], items: binary.LittleEndian.Uint64(b),
		options: binary.LittleEndian.Uint32(b[12:]), growth: binary.LittleEndian.Uint32(b[16:]),
	}
	rest := b[headerLen+n*layerLen:]
	for i := range layers {
		was := layers[i]
		l, _ := parseBloomLayer(b[headerLen+i*layerLen:], anyBits)
		if len(was.pages) == 1 && !was.pages[0].shared && was.pages[0].here() && was.pages[0].bytes() == l.pageBytes(0) {
			l.pages = was.pages
			l.pages[0].State = paged.State{}
			f.held += l.pageBytes(0)
		}
		l.place = i
		f.layers = append(f.layers, l)
		f.bytes += l.bytes
		putWordBytes(f.open(&f.layers[i], 0).words(), 0, rest[:l.bytes])
		rest = rest[l.bytes:]
	}
}
