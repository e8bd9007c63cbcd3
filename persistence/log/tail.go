package log

import (
	"errors"
	"fmt"
	"io"
)

// tail finds the end of the last segment, and what is behind it.
type tail struct {
	window
	seed uint32
	big  bool

	end    int64  // behind the last frame that can be read before one that cannot
	known  int64  // what is below is on the device, say the frames before the end
	heads  bool   // there are heads of frames from end on
	claims uint32 // the most that any of these says is synced
	claim  int64  // where that one is
	reason string // why what is at end cannot be read, if that is known
}

// find reads the segment. The error is the disk's.
func (t *tail) find() error {
	t.end = HeadBytes
	for {
		h, _, ok, err := t.frame(t.end, t.seed, t.big)
		if err == nil && ok && t.big {
			ok, err = t.readPieces(h)
		}
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		t.end, t.known = h.end(t.end, t.big), max(t.known, int64(h.synced))
		if t.big {
			return nil
		}
	}
	return t.search(t.end, t.seed, func(at int64, h header) {
		t.heads = true
		if h.synced > t.claims {
			t.claims, t.claim = h.synced, at
		}
	})
}

// readPieces reports that all pieces of the frame at the end can be read.
func (t *tail) readPieces(h header) (ok bool, err error) {
	b, err := openBody(t.file, t.name, t.end, h)
	if err == nil {
		_, err = io.Copy(io.Discard, b)
	}
	var d *Damage
	if errors.As(err, &d) {
		t.reason = d.Reason
		return false, nil
	}
	return err == nil, err
}

// judge returns a Damage if more than what can be read was on the device: so many bytes according to the caller,
// or as many as a frame behind the end says. Else what follows was being written when the machine stopped.
func (t *tail) judge(synced int64) error {
	reason := "what follows cannot be read"
	if t.reason != "" {
		reason = t.reason
	}
	switch {
	case t.end < synced:
		return &Damage{File: t.name, Offset: t.end, Reason: fmt.Sprintf("%s, though %d bytes had reached the device", reason, synced)}
	case t.end < int64(t.claims):
		return &Damage{File: t.name, Offset: t.end,
			Reason: fmt.Sprintf("%s, though %d bytes had reached the device, says a frame at offset %d", reason, t.claims, t.claim)}
	}
	return nil
}

// continues reports that the segment may be gone on with, behind its end.
//
// What is written there covers what was there, but only up to its own end, and after a power failure only in
// part. A frame that is read later begins in what was written from now on, or in what is there now. In the first
// case it is a frame of ours, or fails its checksum. In the second its head is one that search has found. So
// the segment may be gone on with if search has found none; then what is behind the end is zeroes, or of an
// earlier segment that the file was, or the end of a frame whose beginning is not there. Otherwise a frame that
// was cut off might appear again behind one that ends just before it.
func (t *tail) continues() bool { return !t.big && !t.heads }
