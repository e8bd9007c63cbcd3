package rdb

import "encoding/binary"

// A shrinker writes strings in LZF. It remembers where three bytes stood last, so a copy is found at their first byte, and is
// taken however long it is: the form is for files that are written once, as fast as disks are.
type shrinker struct {
	last   [1 << shrinkBits]uint32 // by the hash of three bytes: where they stood, counted over all strings
	before uint32                  // bytes of the strings before this one: what stands below it in last is of them
	packed []byte
}

const (
	shrinkBits = 12 // the table takes 16 KiB, half of what a processor has next to it
	minShrunk  = 21 // bytes of a string that may become shorter, as Redis has it
	maxShrunk  = 1 << 30
	// minSaved is how much shorter a string must become: a second length comes before it.
	minSaved = 5
	// missBits says how bytes are passed over that nothing like them precedes: one more for each 64 of them.
	missBits = 6
)

// shrink returns src in LZF, which is valid until the next call, or false if that is not worth it.
func (s *shrinker) shrink(src []byte) (packed []byte, ok bool) {
	n, ok := s.run(src, nil)
	return s.packed[:n], ok
}

// length returns how long src is in LZF, or false if that is not worth it.
func (s *shrinker) length(src []byte) (n int, ok bool) {
	return s.run(src, func(b []byte) []byte { return b[:0] })
}

// write gives src in LZF to a function, part by part: as many bytes as length has said.
func (s *shrinker) write(src []byte, to func([]byte) []byte) {
	s.run(src, to)
	s.packed = to(s.packed)
}

// run puts src into packed in LZF, and returns how long that is, or false if it is not worth it. full takes packed when
// it is full, and returns what is left of it; nil: it grows.
func (s *shrinker) run(src []byte, full func([]byte) []byte) (n int, ok bool) {
	if len(src) < minShrunk || len(src) > maxShrunk {
		return 0, false
	}
	if s.before > 1<<32-2-maxShrunk {
		clear(s.last[:])
		s.before = 0
	}
	s.before++ // 0 is nowhere
	dst, most, from, gone := s.packed[:0], len(src)-minSaved, 0, 0
	for i, misses := 0, 0; i+4 <= len(src); {
		back, same := s.find(src, i)
		if same == 0 {
			misses++
			i += 1 + misses>>missBits
			if gone+len(dst)+i-from > most {
				break // it is too long already
			}
			continue
		}
		dst = appendCopy(appendLiterals(dst, src[from:i]), back, same)
		i, misses = i+same, 0
		from = i
		if full != nil && len(dst) >= sourceWindow {
			gone += len(dst)
			dst = full(dst)
		}
	}
	dst = appendLiterals(dst, src[from:])
	s.packed, s.before = dst, s.before+uint32(len(src))
	return gone + len(dst), gone+len(dst) <= most
}

// find looks for the bytes at i where they stood last: n of them, back bytes before. n is 0 if they are new.
func (s *shrinker) find(src []byte, i int) (back, n int) {
	three := binary.LittleEndian.Uint32(src[i:]) << 8
	at := &s.last[three*2654435761>>(32-shrinkBits)]
	was := int(*at) - int(s.before)
	*at = s.before + uint32(i)
	if was < 0 || i-was > lzfWindow || src[was] != src[i] || src[was+1] != src[i+1] || src[was+2] != src[i+2] {
		return 0, 0
	}
	for n = 3; n < lzfCopy && i+n < len(src) && src[was+n] == src[i+n]; n++ {
	}
	return i - was, n
}

// appendLiterals appends bytes as they are.
func appendLiterals(dst, src []byte) []byte {
	for len(src) > 0 {
		n := min(len(src), lzfLiteral)
		dst = append(append(dst, byte(n-1)), src[:n]...)
		src = src[n:]
	}
	return dst
}

// appendCopy appends that n bytes already stand some bytes back.
func appendCopy(dst []byte, back, n int) []byte {
	back--
	if n < 9 {
		return append(dst, byte((n-2)<<5|back>>8), byte(back))
	}
	return append(dst, byte(7<<5|back>>8), byte(n-9), byte(back))
}
