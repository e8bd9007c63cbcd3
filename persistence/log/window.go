package log

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// How much of a segment is read at once: little first, as one frame may be all that is asked for, and twice as much
// each time.
const (
	firstBytes  = 32 << 10
	windowBytes = 1 << 20
)

// window is a part of a segment in memory, which moves forward.
type window struct {
	file  io.ReaderAt
	name  string
	limit int64  // nothing behind it is read
	off   int64  // of buf
	buf   []byte // what was read last
	ahead int64  // how much is read next
}

// bytes returns n bytes at an offset, or fewer at the limit or the end of the file. They are valid until the
// next call.
func (w *window) bytes(off int64, n int) ([]byte, error) {
	n = int(min(int64(n), w.limit-off))
	if n <= 0 {
		return nil, nil
	}
	have := w.off + int64(len(w.buf)) - off
	if off >= w.off && have >= int64(n) {
		return w.buf[off-w.off:][:n], nil
	}
	next, old := w.buf[:0], []byte(nil)
	if off >= w.off && have > 0 {
		old = w.buf[off-w.off:]
	}
	w.ahead = min(max(firstBytes, 2*w.ahead), windowBytes)
	if want := min(max(int64(n), w.ahead), w.limit-off); int64(cap(next)) < want {
		next = make([]byte, 0, want)
	}
	next = append(next, old...)
	k := len(next)
	next = next[:min(int64(cap(next)), w.limit-off)]
	got, err := w.file.ReadAt(next[k:], off+int64(k))
	w.off, w.buf = off, next[:k+got]
	if err != nil && err != io.EOF {
		return nil, readError(w.name, off+int64(k), err)
	}
	return w.buf[:min(n, len(w.buf))], nil
}

// frame reads the frame at an offset of a segment with a seed. It is not ok if it does not decode before the
// limit. Only the head is read of a frame that is in pieces.
func (w *window) frame(off int64, seed uint32, big bool) (h header, payload []byte, ok bool, err error) {
	b, err := w.bytes(off, frameHead)
	if err != nil || len(b) < frameHead {
		return h, nil, false, err
	}
	h, ok = decodeHeader(b, seed, off)
	if !ok || h.end(off, big) > w.limit || big {
		return h, nil, ok && h.end(off, big) <= w.limit, nil
	}
	b, err = w.bytes(off, frameHead+int(h.length))
	if err != nil || len(b) < frameHead+int(h.length) {
		return h, nil, false, err
	}
	payload = b[frameHead:]
	return h, payload, crc32.Checksum(payload, castagnoli) == h.sum, nil
}

// end returns where a frame at an offset ends.
func (h header) end(off int64, big bool) int64 {
	end := off + frameHead + int64(h.length)
	if big {
		end += sumsBytes(int64(h.length))
	}
	return end
}

// search calls f with the heads of frames that are found at any offset from one on, whether what follows them can
// be read or not.
func (w *window) search(from int64, seed uint32, f func(at int64, h header)) error {
	for {
		b, err := w.bytes(from, windowBytes)
		if err != nil || len(b) < frameHead {
			return err
		}
		for i := 0; i+frameHead <= len(b); i++ {
			// What decodeHeader refuses first is asked for here: nearly all offsets go no further.
			synced := binary.LittleEndian.Uint32(b[i+frameSynced:])
			if synced < HeadBytes || int64(synced) > from {
				from++
				continue
			}
			if h, ok := decodeHeader(b[i:], seed, from); ok {
				f(from, h)
			}
			from++
		}
	}
}
