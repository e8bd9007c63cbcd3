package source

// blockBytes is how long the pieces are that the backlog is made of.
const blockBytes = 64 << 10

// backlog is the last part of the stream.
type backlog struct {
	first  int64    // offset of the first byte in blocks
	end    int64    // offset behind the last one
	blocks [][]byte // each but the last one is full
}

// restart forgets everything: the stream goes on at an offset.
func (b *backlog) restart(at int64) { b.first, b.end, b.blocks = at, at, nil }

// add appends bytes.
func (b *backlog) add(p []byte) {
	b.end += int64(len(p))
	for len(p) > 0 {
		last := len(b.blocks) - 1
		if last < 0 || len(b.blocks[last]) == blockBytes {
			b.blocks = append(b.blocks, make([]byte, 0, blockBytes))
			last++
		}
		n := min(len(p), blockBytes-len(b.blocks[last]))
		b.blocks[last] = append(b.blocks[last], p[:n]...)
		p = p[n:]
	}
}

// trim drops blocks that are wholly before an offset.
func (b *backlog) trim(keep int64) {
	n := 0
	for n < len(b.blocks)-1 && b.first+int64(len(b.blocks[n])) <= keep {
		b.first += int64(len(b.blocks[n]))
		n++
	}
	if n > 0 {
		clear(b.blocks[:n])
		b.blocks = b.blocks[n:]
	}
}

// has reports whether the bytes from an offset on are there.
func (b *backlog) has(at int64) bool { return at >= b.first && at <= b.end }

// read appends up to n bytes from an offset on, which it has.
func (b *backlog) read(dst []byte, at int64, n int) []byte {
	skip := at - b.first
	for i := int(skip / blockBytes); i < len(b.blocks) && n > 0; i++ {
		block := b.blocks[i][skip-int64(i)*blockBytes:]
		block = block[:min(n, len(block))]
		dst = append(dst, block...)
		n -= len(block)
		skip = int64(i+1) * blockBytes
	}
	return dst
}
